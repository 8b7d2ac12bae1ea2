//! `hx build`.

use std::path::Path;

use hx_base::{Diagnostic, codes};
use hx_driver::tune::parse_shape;
use hx_driver::{
    BuildKind, BuildRequest, Built, EmitError, Overrides, Setup, build, parse_facts, parse_override,
};
use hx_hir::file_items;
use hx_lower::WrittenArg;

use super::tuned::tuned_by_default;
use super::{Loaded, exit_of, load, open_parameter, setup};
use crate::Exit;
use crate::cli::BuildArgs;
use crate::output::Output;

pub(crate) fn run(args: BuildArgs, output: &Output) -> Exit {
    built(&args, output).unwrap_or_else(|exit| exit)
}

fn built(args: &BuildArgs, output: &Output) -> Result<Exit, Exit> {
    let usage = |text: String| {
        output.usage(&text);
        Exit::Usage
    };
    let mut overrides = Overrides::new();
    for text in &args.set {
        overrides.push(parse_override(text).map_err(|reason| usage(format!("--set {text}: {reason}")))?);
    }
    let facts = parse_facts(&args.facts).map_err(|reason| usage(format!("--facts: {reason}")))?;
    let kind = BuildKind::parse(&args.emit).unwrap_or_default();
    let mut loaded = load(std::slice::from_ref(&args.file), output)?;
    loaded.choose(args.candidate);
    let &[file] = loaded.files.as_slice() else {
        return Err(usage(format!("`{}` is a folder; `hx build` takes one file", args.file)));
    };
    let setup = setup(None, &args.target, loaded.manifest.as_ref(), output)?;
    let front = hx_driver::front_diagnostics(&loaded.db, file);
    output.diagnostics(&loaded.db, &front);
    if front.iter().any(Diagnostic::is_error) {
        return Err(Exit::Bad);
    }
    let overrides = match &args.shape {
        Some(shape) => with_shape(args, shape, overrides, &mut loaded, &setup, output)?,
        None => overrides,
    };
    let is_default = facts.is_none();
    let request = BuildRequest { kernel: args.kernel.clone(), overrides, facts, kind };
    let built = build(&loaded.db, file, &request, &setup).map_err(|error| failed(error, &loaded, output))?;
    for warning in &built.warnings {
        output.placeless_parts(&codes::CACHE_UNWRITABLE, warning, &[], &[]);
    }
    write(&built, kind, args, is_default, output)?;
    Ok(loaded.exit(Exit::Good))
}

/// Reports why there is no code.
fn failed(error: EmitError, loaded: &Loaded, output: &Output) -> Exit {
    let usage = |text: String| {
        output.usage(&text);
        Exit::Usage
    };
    match error {
        EmitError::Usage(text) => usage(text),
        EmitError::Open { kernel, parameter } => usage(open_parameter(&kernel, &parameter)),
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

/// Returns the compile-time arguments for `--shape`: those that are stated, and those that were tuned.
fn with_shape(
    args: &BuildArgs,
    shape: &str,
    overrides: Overrides,
    loaded: &mut Loaded,
    setup: &Setup,
    output: &Output,
) -> Result<Overrides, Exit> {
    let parsed = parse_shape(shape).map_err(|reason| {
        output.usage(&format!("--shape {shape}: {reason}"));
        Exit::Usage
    })?;
    let tuned = tuned_by_default(loaded, &args.file, &args.tuned, output)?;
    let Some(tuned) = tuned else {
        output.usage(
            "`--shape` takes its arguments from `hx.tuned.toml`, and there is none: `hx tune` writes it",
        );
        return Err(Exit::Usage);
    };
    let db = &loaded.db;
    let wanted = (&parsed, &overrides);
    let device = args.tuned_for.as_deref();
    let kernels: Vec<_> = file_items(db, loaded.files[0]).kernels().collect();
    let named =
        |kernel: &&hx_hir::Kernel<'_>| args.kernel.as_ref().is_none_or(|name| kernel.name(db) == name);
    let chosen: Vec<_> = kernels.iter().filter(named).collect();
    // Without exactly one kernel the build itself says what is wrong.
    let &[kernel] = chosen.as_slice() else { return Ok(overrides) };
    let found = hx_driver::tuned_for_shape(&tuned, db, *kernel, setup.target, wanted, device);
    let (found, remarks) = found.map_err(|error| failed(error, loaded, output))?;
    remarks.iter().for_each(|line| output.remark(line));
    Ok(found.into_iter().map(|(name, value)| (name, WrittenArg::Value(value))).collect())
}

fn write(
    built: &Built,
    kind: BuildKind,
    args: &BuildArgs,
    is_default: bool,
    output: &Output,
) -> Result<(), Exit> {
    let failed = |path: &Path, reason: String| {
        let text = format!("cannot write `{}`: {reason}", path.display());
        output.placeless_parts(&codes::IO_ERROR, &text, &[], &[]);
        Exit::Bad
    };
    let mut code = args.output.clone();
    if code.extension().is_none() {
        code.set_extension(kind.extension());
    }
    let launch = code.with_extension("json");
    if launch == code {
        output.usage("the description of the launch ends in `.json`, the code needs another name");
        return Err(Exit::Usage);
    }
    let name = code.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let description = built.description(&name).map_err(|reason| failed(&launch, reason))?;
    if let Some(folder) = code.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| failed(folder, e.to_string()))?;
    }
    let files = [(code.as_path(), built.code.as_slice()), (launch.as_path(), description.as_bytes())];
    hx_base::replace_files(&files).map_err(|(path, error)| failed(path, error.to_string()))?;
    let uses = built.resources().map_or_else(String::new, |r| {
        let spilled = r.spill_store_bytes + r.spill_load_bytes;
        let spills = if spilled > 0 { format!(", {spilled} bytes of spills") } else { String::new() };
        format!("; {}{spills}", hx_compile::Registers::Reported(r.registers))
    });
    output.remark(&format!("built `{}`: {} and {}{uses}", built.kernel, code.display(), launch.display()));
    if let Some(assumed) = built.assumed().filter(|_| is_default) {
        output.remark(&format!("assumed of every launch: {assumed}; `--facts` says what else to rely on"));
    }
    Ok(())
}
