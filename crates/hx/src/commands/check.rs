//! `hx check`: prints the diagnostics of files, or a stage of their kernels or the time of each stage.

use std::time::Duration;

use hx_base::{Diagnostic, Severity};
use hx_inspect::{EmitError, EmitKind, KernelTimes, Overrides, Setup, emit, parse_override};
use hx_worker::Limits;

use super::{Loaded, exit_of, load, open_parameter, setup, tuned};
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
        return show(args, &loaded, &overrides, kind, &setup, output).map(|exit| loaded.exit(exit));
    }
    if args.timings {
        return Ok(loaded.exit(timings(&loaded, &setup, output)));
    }
    if loaded.files.is_empty() {
        output.usage(&format!("there is no `.hx` file in {}", quoted(&paths)));
        return Err(Exit::Usage);
    }
    let is_chosen = args.kernel.is_some() || !overrides.is_empty();
    let mut found = if is_chosen {
        chosen(args, &loaded, &overrides, &setup, output)?
    } else {
        hx_inspect::check_all(&loaded.db, &loaded.files, setup.target, args.verify)
    };
    if let Some(named) = args.tuned.tuned.as_deref()
        && let Some(tuned) = tuned::tuned(&loaded, &paths[0], Some(named), output)?
    {
        let (more, remarks) = hx_driver::check_tuned(&loaded.db, &loaded.files, &tuned, setup.target);
        let new: Vec<Diagnostic> = more.into_iter().filter(|error| !found.contains(error)).collect();
        found.extend(new);
        remarks.iter().for_each(|line| output.remark(line));
    }
    if !is_chosen {
        let limits = Limits::within(hx_inspect::COMPILE_LIMIT);
        let spills = |&file: &_| hx_inspect::known_spills(&loaded.db, file, &setup, &limits);
        found.extend(loaded.files.iter().flat_map(spills));
        hx_base::sort_diagnostics(&loaded.db, &mut found);
    }
    output.diagnostics(&loaded.db, &found);
    let count = loaded.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    if found.iter().any(Diagnostic::is_error) {
        output.summary(&found);
        return Ok(Exit::Bad);
    }
    let mut parts: Vec<String> = hx_report::summary(&found).into_iter().collect();
    if !found.iter().any(|found| found.severity == Severity::Warning) {
        parts.insert(0, "no errors".to_owned());
    }
    output.remark(&format!("checked {files} for {}: {}", setup.target, parts.join(", ")));
    let is_denied = found.iter().any(|found| args.deny.denies(found.severity));
    Ok(loaded.exit(if is_denied { Exit::Bad } else { Exit::Good }))
}

/// Returns the diagnostics of the kernels that the flags choose, with the compile-time arguments that they replace.
///
/// # Errors
/// `Exit::Usage` if no file has the kernel, or an argument does not fit. The reason has been reported.
fn chosen(
    args: &CheckArgs,
    loaded: &Loaded,
    overrides: &Overrides,
    setup: &Setup,
    output: &Output,
) -> Result<Vec<Diagnostic>, Exit> {
    let mut found = Vec::new();
    for &file in &loaded.files {
        match hx_inspect::check_chosen(&loaded.db, file, args.kernel.as_deref(), overrides, setup) {
            Ok(more) => found.extend(more),
            Err(error) => return Err(told(error, loaded, output)),
        }
    }
    Ok(found)
}

/// Reports why there is nothing to check or to show. Returns the exit code.
fn told(error: EmitError, loaded: &Loaded, output: &Output) -> Exit {
    match error {
        EmitError::Usage(text) => {
            output.usage(&text);
            Exit::Usage
        }
        EmitError::Open { kernel, parameter } => {
            output.usage(&open_parameter(&kernel, &parameter));
            Exit::Usage
        }
        EmitError::Found(found) => {
            output.diagnostics(&loaded.db, &found);
            Exit::Bad
        }
        EmitError::Host(error) => {
            output.placeless(&error);
            exit_of(&error)
        }
    }
}

fn quoted(paths: &[String]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

/// Prints the times of the stages of every kernel with a default instance: a table in milliseconds, or one JSON object per
/// line.
fn timings(loaded: &Loaded, setup: &Setup, output: &Output) -> Exit {
    let times: Vec<KernelTimes> =
        loaded.files.iter().flat_map(|&file| hx_inspect::timings(&loaded.db, file, setup.target)).collect();
    let Some(first) = times.first() else {
        output.remark("there is no kernel with a default instance");
        return Exit::Good;
    };
    let milliseconds = |time: &Duration| time.as_secs_f64() * 1e3;
    if output.json() {
        for kernel in &times {
            let stages =
                kernel.stages.iter().map(|(name, time)| ((*name).to_owned(), milliseconds(time).into()));
            let stages: serde_json::Map<String, serde_json::Value> = stages.collect();
            let object = serde_json::json!({
                "path": kernel.path, "kernel": kernel.kernel, "milliseconds": stages,
            });
            output.result(&format!("{object}\n"));
        }
        return Exit::Good;
    }
    let width = times.iter().map(|kernel| kernel.kernel.len()).max().unwrap_or(0);
    let names: String = first.stages.iter().map(|(name, _)| format!("{name:>10}")).collect();
    output.result(&format!("{:width$}{names}{:>10}\n", "ms", "all"));
    for kernel in &times {
        let all: Duration = kernel.stages.iter().map(|(_, time)| time).sum();
        let stages = kernel.stages.iter().map(|(_, time)| time).chain([&all]);
        let stages: String = stages.map(|time| format!("{:>10.2}", milliseconds(time))).collect();
        output.result(&format!("{:width$}{stages}\n", kernel.kernel));
    }
    Exit::Good
}

/// Prints a stage of the chosen kernels, and the diagnostics found on the way. Returns `Exit::Bad` if an error is among them,
/// also if it keeps a kernel from reaching the stage.
///
/// # Errors
/// `Exit::Usage` for wrong flags, and the exit code of an error of the host, which both end the command; the reason has been
/// reported.
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
                    output.diagnostics(db, &one.found);
                    if one.found.iter().any(Diagnostic::is_error) {
                        exit = Exit::Bad;
                    }
                }
            }
            Err(error @ EmitError::Found(_)) => exit = told(error, loaded, output),
            Err(error) => return Err(told(error, loaded, output)),
        }
    }
    if shown == 0 && exit == Exit::Good {
        output.remark("there is no kernel to show");
    }
    Ok(exit)
}
