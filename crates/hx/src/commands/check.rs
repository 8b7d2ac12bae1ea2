//! `hx check`.

use hx_base::{Diagnostic, sort_diagnostics};
use hx_driver::{EmitError, EmitKind, Overrides, Setup, emit, parse_override};

use super::{Loaded, load, setup};
use crate::Exit;
use crate::cli::CheckArgs;
use crate::output::Output;

pub(crate) fn run(args: CheckArgs, output: &Output) -> Exit {
    checked(&args, output).unwrap_or_else(|exit| exit)
}

fn checked(args: &CheckArgs, output: &Output) -> Result<Exit, Exit> {
    let mut overrides = Overrides::new();
    for text in &args.set {
        overrides.push(parse_override(text).map_err(|reason| {
            output.usage(&format!("--set {text}: {reason}"));
            Exit::Usage
        })?);
    }
    let paths = if args.paths.is_empty() { vec![".".to_owned()] } else { args.paths.clone() };
    let mut loaded = load(&paths, output)?;
    loaded.choose(args.candidate);
    let setup = setup(None, &args.target, loaded.manifest.as_ref(), output)?;
    if let Some(kind) = args.emit.as_deref().and_then(EmitKind::parse) {
        return show(args, &loaded, &overrides, kind, &setup, output);
    }
    let mut found = Vec::new();
    for &file in &loaded.files {
        found.extend(hx_driver::check(&loaded.db, file, setup.target, args.verify));
    }
    sort_diagnostics(&loaded.db, &mut found);
    output.diagnostics(&loaded.db, &found);
    let count = loaded.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    if found.iter().any(Diagnostic::is_error) {
        output.summary(&found);
        return Ok(Exit::Bad);
    }
    match hx_report::summary(&found) {
        Some(rest) => output.remark(&format!("checked {files} for {}: {rest}", setup.target)),
        None => output.remark(&format!("checked {files} for {}: no errors", setup.target)),
    }
    Ok(Exit::Good)
}

/// Prints a stage of the chosen kernels. Errors of the files are told first where they keep a kernel from its stage.
fn show(
    args: &CheckArgs,
    loaded: &Loaded,
    overrides: &Overrides,
    kind: EmitKind,
    setup: &Setup,
    output: &Output,
) -> Result<Exit, Exit> {
    let db = &loaded.db;
    let mut shown = 0;
    let mut exit = Exit::Good;
    for &file in &loaded.files {
        match emit(db, file, args.kernel.as_deref(), overrides, kind, setup) {
            Ok(emitted) => {
                for one in emitted {
                    if shown > 0 {
                        output.result("\n");
                    }
                    shown += 1;
                    output.result(&format!("{}\n", one.text.trim_end()));
                    for warning in &one.warnings {
                        output.placeless_parts(&hx_base::codes::CACHE_UNWRITABLE, warning, &[], &[]);
                    }
                }
            }
            Err(EmitError::Usage(text)) => {
                output.usage(&text);
                return Err(Exit::Usage);
            }
            Err(EmitError::Found(found)) => {
                output.diagnostics(db, &found);
                exit = Exit::Bad;
            }
            Err(EmitError::Host(error)) => {
                output.placeless(&error);
                return Err(Exit::Environment);
            }
        }
    }
    if shown == 0 && exit == Exit::Good {
        output.remark("there is no kernel to show");
    }
    Ok(exit)
}
