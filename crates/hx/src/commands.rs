//! Each verb has a module here; this file has the helpers that they share.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
mod files;
pub(crate) mod fmt;
pub(crate) mod layout;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod notebook;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod step;
pub(crate) mod test;
pub(crate) mod tune;
mod tuned;

use hx_base::{Db as _, Diagnostic, FileKind, SourceFile};
use hx_host::HostError;
use hx_inspect::{DeviceChoice, Setup};
use hx_launch::{Machine, MachineError, open_machine, open_machines};
use hx_worker::WorkerCommand;
use hx_workspace::{Database, Manifest};

use crate::Exit;
use crate::cli::{CandidateArgs, ChoosingArgs, TargetArgs};
use crate::output::Output;

/// The files that the command's paths name, in order, and the project of the first path that has one.
struct Loaded {
    db: Database,
    files: Vec<SourceFile>,
    manifest: Option<Manifest>,
    /// Some named file could not be read; the error has been reported.
    incomplete: bool,
}

/// Loads files, and reports each file that cannot be opened.
///
/// # Errors
/// `Exit::Bad` if files cannot be opened and none is left, or if the project's `hx.toml` has errors. The cause has been reported.
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
    /// Returns the exit code of a command: `exit`, but `Bad` instead of `Good` or `NoTest` if some named file could not be
    /// read.
    fn exit(&self, exit: Exit) -> Exit {
        if self.incomplete && matches!(exit, Exit::Good | Exit::NoTest) { Exit::Bad } else { exit }
    }

    /// Takes candidate number `args.candidate` of every kernel from now on; 0 is the cheapest.
    fn choose(&mut self, args: CandidateArgs) {
        let workspace = self.db.workspace();
        workspace.choose(&mut self.db, args.candidate);
    }
}

/// Returns files of the standard library, which the binary contains: all for `std`, one for `std/matmul.hx`, none for any other
/// path.
fn std_files(db: &Database, path: &str) -> Vec<SourceFile> {
    let path = path.trim_end_matches('/');
    let meant =
        |file: &SourceFile| file.kind(db) == FileKind::Std && (path == "std" || file.path(db) == path);
    db.workspace().files(db).iter().copied().filter(meant).collect()
}

/// Returns the project that contains the current folder; `None` if there is none.
///
/// # Errors
/// `Exit::Bad` if its `hx.toml` has errors, which have been reported.
fn project_here(db: &mut Database, output: &Output) -> Result<Option<Manifest>, Exit> {
    let manifest = db.project(".");
    let found = manifest.as_ref().map(|m| m.diagnostics.as_slice()).unwrap_or_default();
    output.diagnostics(db, found);
    if found.iter().any(Diagnostic::is_error) { Err(Exit::Bad) } else { Ok(manifest) }
}

/// Combines the flags, the project's `hx.toml` and the environment into a device, a target, a compiler and a cache. The worker
/// process is this binary with the verb `worker`.
///
/// # Errors
/// `Exit::Usage` if HX_DEVICE or HX_TARGET cannot be parsed, or the costs cannot be read; the reason has been reported.
fn setup(
    device: Option<DeviceChoice>,
    target: &TargetArgs,
    manifest: Option<&Manifest>,
    output: &Output,
) -> Result<Setup, Exit> {
    let executable = std::env::current_exe().unwrap_or_else(|_| "hx".into());
    let worker = WorkerCommand::new(executable).arg("worker");
    let costs = target.costs.as_deref();
    hx_inspect::setup(device, target.target, target.nvrtc.clone(), costs, manifest, worker).map_err(|text| {
        output.usage(&text);
        Exit::Usage
    })
}

/// As [`setup()`], with the choice of members that a flag asks for.
fn setup_choosing(
    choosing: ChoosingArgs,
    device: (Option<DeviceChoice>, &TargetArgs),
    manifest: Option<&Manifest>,
    output: &Output,
) -> Result<Setup, Exit> {
    let found = setup(device.0, device.1, manifest, output)?;
    Ok(Setup { choosing: choosing.tune.unwrap_or(found.choosing), ..found })
}

/// Returns the device of a command: the simulator if `flag` was given, the name of a flag that only the simulator supports;
/// otherwise `device`.
///
/// # Errors
/// `Exit::Usage` if such a flag was given together with a GPU.
fn simulated(
    device: Option<DeviceChoice>,
    flag: Option<&str>,
    output: &Output,
) -> Result<Option<DeviceChoice>, Exit> {
    match (flag, device) {
        (Some(flag), Some(DeviceChoice::Cuda(_) | DeviceChoice::AllCuda)) => {
            output.usage(&format!("`{flag}` needs the simulator, found `--device cuda`: leave `--device` out, or pass `--device sim`"));
            Err(Exit::Usage)
        }
        (Some(_), _) => Ok(Some(DeviceChoice::Sim)),
        (None, device) => Ok(device),
    }
}

/// Sets the memory limit of host values, if a flag or the project states one.
fn limit_memory(flag: Option<u64>, manifest: Option<&Manifest>) {
    if let Some(bytes) = flag.or(manifest.and_then(|m| m.memory)) {
        hx_host::memory::set_limit(bytes);
    }
}

/// Returns the message for a kernel without a default instance, because this compile-time parameter has no default.
fn open_parameter(kernel: &str, parameter: &str) -> String {
    format!("`{kernel}` needs a value for `{parameter}`: `--set {parameter}=...`")
}

/// Opens the machine of a command that uses a single device, and prints the device to stderr.
///
/// # Errors
/// The exit code, after the reason was reported: `Usage` for `cuda:all`, otherwise that of [`exit_of`].
fn machine(setup: &Setup, output: &Output) -> Result<Machine, Exit> {
    one_device(setup, output)?;
    announce(open_machine(setup), output)
}

/// Refuses `--device cuda:all` for a command that runs on one device.
///
/// # Errors
/// `Exit::Usage`; the reason has been reported.
fn one_device(setup: &Setup, output: &Output) -> Result<(), Exit> {
    if setup.device == DeviceChoice::AllCuda {
        output.usage(
            "`cuda:all` spreads the work of `hx test` and `hx tune`; this command runs on one device, as with `cuda` or `cuda:N`",
        );
        return Err(Exit::Usage);
    }
    Ok(())
}

/// Opens the machines of a command that can spread its work over several GPUs, and prints each device to stderr.
///
/// # Errors
/// The exit code of [`exit_of`] if a machine cannot be opened; the reason has been reported.
fn machines(setup: &Setup, output: &Output) -> Result<Vec<Machine>, Exit> {
    match open_machines(setup) {
        Ok(machines) => {
            machines.iter().for_each(|machine| output.remark(&machine.describe()));
            Ok(machines)
        }
        Err(error) => {
            output.placeless(&error.0);
            Err(exit_of(&error.0))
        }
    }
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

/// Returns `Environment` if the machine caused the error (no GPU, no compiler), `Bad` if the user's files did.
fn exit_of(error: &HostError) -> Exit {
    if hx_launch::is_environmental(error.code) { Exit::Environment } else { Exit::Bad }
}

/// Reports the warnings that machines have collected, each once.
fn machine_warnings(machines: &[Machine], output: &Output) {
    let warnings: std::collections::BTreeSet<String> = machines.iter().flat_map(Machine::warnings).collect();
    for warning in warnings {
        output.placeless_parts(&hx_base::codes::CACHE_UNWRITABLE, &warning, &[], &[]);
    }
}
