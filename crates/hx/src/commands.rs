//! One module for each verb, and what they share.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
mod files;
pub(crate) mod fmt;
pub(crate) mod layout;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod test;

use hx_base::{Db as _, Diagnostic, FileKind, SourceFile};
use hx_driver::{DeviceChoice, Machine, MachineError, Setup, open_machine};
use hx_host::HostError;
use hx_worker::WorkerCommand;
use hx_workspace::{Database, Manifest};

use crate::Exit;
use crate::cli::{CandidateArgs, TargetArgs};
use crate::output::Output;

/// The files that paths mean, in their order, and the project of the first that has one.
struct Loaded {
    db: Database,
    files: Vec<SourceFile>,
    manifest: Option<Manifest>,
    /// Something that the paths mean could not be read, and was told.
    incomplete: bool,
}

/// Loads files. What cannot be opened is told and keeps nothing else from its answer, unless nothing is left.
fn load(paths: &[String], output: &Output) -> Result<Loaded, Exit> {
    let mut loaded = Loaded { db: Database::default(), files: Vec::new(), manifest: None, incomplete: false };
    for path in paths {
        match loaded.db.open(path) {
            Ok(opened) => {
                for file in opened.files {
                    if !loaded.files.contains(&file) {
                        loaded.files.push(file);
                    }
                }
                if loaded.manifest.is_none() {
                    loaded.manifest = opened.manifest;
                }
                for error in opened.unreadable {
                    output.placeless_parts(error.code(), &error.to_string(), &[], &[]);
                    loaded.incomplete = true;
                }
            }
            Err(error) => {
                let std = std_files(&loaded.db, path);
                if std.is_empty() {
                    output.placeless_parts(error.code(), &error.to_string(), &[], &[]);
                    loaded.incomplete = true;
                }
                let fresh: Vec<_> = std.into_iter().filter(|f| !loaded.files.contains(f)).collect();
                loaded.files.extend(fresh);
            }
        }
    }
    if loaded.incomplete && loaded.files.is_empty() {
        return Err(Exit::Bad);
    }
    let found = loaded.manifest.as_ref().map(|m| m.diagnostics.as_slice()).unwrap_or_default();
    output.diagnostics(&loaded.db, found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(Exit::Bad);
    }
    Ok(loaded)
}

impl Loaded {
    /// The exit code of a command that could not read everything: not that of a good end.
    fn exit(&self, exit: Exit) -> Exit {
        if self.incomplete && matches!(exit, Exit::Good | Exit::NoTest) { Exit::Bad } else { exit }
    }

    /// Which candidate of every kernel is built.
    fn choose(&mut self, args: CandidateArgs) {
        let workspace = self.db.workspace();
        workspace.choose(&mut self.db, args.candidate);
    }
}

/// The standard library is a folder of the binary: `std` is all of it, `std/matmul.hx` a file of it.
fn std_files(db: &Database, path: &str) -> Vec<SourceFile> {
    let path = path.trim_end_matches('/');
    let meant =
        |file: &SourceFile| file.kind(db) == FileKind::Std && (path == "std" || file.path(db) == path);
    db.workspace().files(db).iter().copied().filter(meant).collect()
}

/// The project that the current folder is in, with what is wrong with its `hx.toml` told.
fn project_here(db: &mut Database, output: &Output) -> Result<Option<Manifest>, Exit> {
    let manifest = db.project(".");
    let found = manifest.as_ref().map(|m| m.diagnostics.as_slice()).unwrap_or_default();
    output.diagnostics(db, found);
    if found.iter().any(Diagnostic::is_error) { Err(Exit::Bad) } else { Ok(manifest) }
}

/// The settings of a command.
fn setup(
    device: Option<DeviceChoice>,
    target: &TargetArgs,
    manifest: Option<&Manifest>,
    output: &Output,
) -> Result<Setup, Exit> {
    let executable = std::env::current_exe().unwrap_or_else(|_| "hx".into());
    let worker = WorkerCommand::new(executable).arg("worker");
    hx_driver::setup(device, target.target, target.nvrtc.clone(), manifest, worker).map_err(|text| {
        output.usage(&text);
        Exit::Usage
    })
}

/// Sets what host tensors may take, if a flag or the project says it.
fn limit_memory(flag: Option<u64>, manifest: Option<&Manifest>) {
    if let Some(bytes) = flag.or(manifest.and_then(|m| m.memory)) {
        hx_host::memory::set_limit(bytes);
    }
}

/// A kernel has no default instance, as this compile-time parameter has no default.
fn open_parameter(kernel: &str, parameter: &str) -> String {
    format!("`{kernel}` needs a value for `{parameter}`: `--set {parameter}=...`")
}

/// The machine of a command; which one it is is told.
fn machine(setup: &Setup, output: &Output) -> Result<Machine, Exit> {
    announce(open_machine(setup), output)
}

fn announce(opened: Result<Machine, MachineError>, output: &Output) -> Result<Machine, Exit> {
    match opened {
        Ok(machine) => {
            output.remark(&machine.describe());
            Ok(machine)
        }
        Err(error) => {
            output.placeless(&error.0);
            Err(exit_of(&error.0))
        }
    }
}

/// The exit code of an error without a place.
fn exit_of(error: &HostError) -> Exit {
    if hx_driver::is_environmental(error.code) { Exit::Environment } else { Exit::Bad }
}

/// Tells what was learned of the machine along the way.
fn machine_warnings(machine: &Machine, output: &Output) {
    for warning in machine.warnings() {
        output.placeless_parts(&hx_base::codes::CACHE_UNWRITABLE, &warning, &[], &[]);
    }
}
