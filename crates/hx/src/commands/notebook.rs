//! `hx notebook`: installs the kernel for Jupyter, and runs it.

use std::path::Path;
use std::time::Duration;

use hx_base::{Diagnostic, codes};
use hx_notebook::{Connection, Place, SpecError};
use hx_repl::Session;
use hx_workspace::{Database, Manifest};

use super::{limit_memory, setup_choosing};
use crate::cli::{KernelArgs, NotebookArgs, NotebookVerb, PlaceArgs};
use crate::output::Output;
use crate::{Exit, crash, interrupt};

pub(crate) fn run(args: &NotebookArgs, output: &Output) -> Exit {
    match &args.verb {
        NotebookVerb::Install(args) => install(args, output).unwrap_or_else(|error| failed(&error, output)),
        NotebookVerb::Uninstall(args) => {
            uninstall(args, output).unwrap_or_else(|error| failed(&error, output))
        }
        NotebookVerb::Kernel(args) => kernel(args, output).unwrap_or_else(|exit| exit),
    }
}

fn place(args: &PlaceArgs) -> Place {
    match &args.prefix {
        Some(prefix) => Place::Prefix(prefix.clone()),
        None if args.sys_prefix => Place::Environment,
        None => Place::User,
    }
}

fn install(args: &PlaceArgs, output: &Output) -> Result<Exit, SpecError> {
    let executable = match std::env::current_exe() {
        Ok(executable) => executable,
        Err(error) => {
            let message = format!("the place of this executable is not known: {error}");
            output.placeless_parts(&codes::IO_ERROR, &message, &[], &[]);
            return Ok(Exit::Environment);
        }
    };
    let folder = hx_notebook::install(&place(args), &args.name, &executable)?;
    let (spec, name) = (folder.join("kernel.json"), &args.name);
    let uninstall = format!("hx notebook uninstall{}", flags(args));
    output.result(&format!(
        "wrote {}\nJupyter now offers the kernel `{name}`; `{uninstall}` removes it\n",
        spec.display()
    ));
    Ok(Exit::Good)
}

fn uninstall(args: &PlaceArgs, output: &Output) -> Result<Exit, SpecError> {
    let folder = hx_notebook::uninstall(&place(args), &args.name)?;
    output.result(&format!("removed {}\n", folder.display()));
    Ok(Exit::Good)
}

/// Returns the flags of `args` as text, so that a hint names the same Jupyter and kernel: ` --sys-prefix --name other`.
fn flags(args: &PlaceArgs) -> String {
    let place = match &args.prefix {
        Some(prefix) => format!(" --prefix {}", prefix.display()),
        None if args.sys_prefix => " --sys-prefix".to_owned(),
        None => String::new(),
    };
    if args.name == "hx" { place } else { format!("{place} --name {}", args.name) }
}

fn failed(error: &SpecError, output: &Output) -> Exit {
    let (code, exit) = match error {
        SpecError::Name(_) => {
            output.usage(&error.to_string());
            return Exit::Usage;
        }
        SpecError::Foreign { .. } | SpecError::Missing(_) => (&codes::IO_ERROR, Exit::Bad),
        SpecError::NoHome
        | SpecError::NoEnvironment
        | SpecError::Unwritable { .. }
        | SpecError::Undeletable { .. } => (&codes::IO_ERROR, Exit::Environment),
    };
    output.placeless_parts(code, &error.to_string(), &[], &[]);
    exit
}

/// Serves the clients of a connection file.
///
/// # Errors
/// The exit code, after the reason was reported: `Environment` if a port cannot be used, otherwise that of the connection file
/// or of the settings.
fn kernel(args: &KernelArgs, output: &Output) -> Result<Exit, Exit> {
    let connection = connection(&args.connection, output)?;
    let mut db = Database::default();
    let (manifest, notice) = project(&mut db);
    let setup =
        setup_choosing(args.choosing, (args.device.device, &args.device.target), manifest.as_ref(), output)?;
    limit_memory(None, manifest.as_ref());
    let interrupt = interrupt::prompt_flag();
    let config = hx_repl::Config {
        setup,
        timeout: manifest.and_then(|m| m.timeout).map(Duration::from_secs_f64),
        seed: 0,
        interrupt,
        report_bug: crash::write_report,
    };
    let session = Session::new(db, config);
    let log = |text: &str| Output::log(text);
    match hx_notebook::serve(session, connection, hx_notebook::Config { interrupt, log, notice }) {
        Ok(()) => Ok(Exit::Good),
        Err(reason) => {
            output.placeless_parts(&codes::IO_ERROR, &reason, &[], &[]);
            Err(Exit::Environment)
        }
    }
}

/// Returns the project that contains the current folder, if there is one. If its `hx.toml` has errors, returns their text
/// instead.
fn project(db: &mut Database) -> (Option<Manifest>, Option<String>) {
    let Some(manifest) = db.project(".") else { return (None, None) };
    if !manifest.diagnostics.iter().any(Diagnostic::is_error) {
        return (Some(manifest), None);
    }
    let found = manifest.diagnostics.iter().map(|found| hx_report::render(&*db, found, Default::default()));
    let text = found.collect::<String>();
    (
        None,
        Some(format!(
            "{text}the settings of the project do not count: correct its `hx.toml` and restart the kernel\n"
        )),
    )
}

fn connection(path: &Path, output: &Output) -> Result<Connection, Exit> {
    Connection::read(path).map_err(|error| {
        output.placeless_parts(&codes::IO_ERROR, &error.to_string(), &[], &[]);
        Exit::Environment
    })
}
