//! `hx build`: writes a compiled kernel with a description of its launch, or a launcher of kernels for programs in C and C++.

use std::path::{Path, PathBuf};

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, SourceFile, codes};
use hx_driver::tune::parse_shape;
use hx_driver::{
    BuildKind, BuildRequest, Built, Fact, Shapes, build, build_family, build_launcher, kernel_for_shape,
    parse_facts,
};
use hx_hir::{Kernel, family_of, file_items};
use hx_inspect::{EmitError, Overrides, Setup, parse_override};

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
    let shapes = args.shapes.as_deref().map(Shapes::parse).transpose();
    let shapes = shapes.map_err(|reason| usage(format!("--shapes: {reason}")))?;
    if shapes.is_some() && kind != BuildKind::C {
        return Err(usage("`--shapes` builds a function in C that chooses: add `--emit c`".to_owned()));
    }
    let mut loaded = load(std::slice::from_ref(&args.file), output)?;
    loaded.choose(args.candidate);
    let &[file] = loaded.files.as_slice() else {
        return Err(usage(format!("`{}` is a folder; `hx build` takes one file", args.file)));
    };
    let setup = setup(None, &args.target, loaded.manifest.as_ref(), output)?;
    let front = hx_inspect::front_diagnostics(&loaded.db, file);
    output.diagnostics(&loaded.db, &front);
    if front.iter().any(Diagnostic::is_error) {
        return Err(Exit::Bad);
    }
    let wanted = Wanted { file, kernel: args.kernel.clone(), overrides };
    let Wanted { file, kernel, overrides } = match &args.shape {
        Some(shape) => for_shape(args, shape, wanted, facts.as_deref(), (&loaded, &setup, output))?,
        None => wanted,
    };
    let is_default = facts.is_none();
    let request = BuildRequest { kernel, overrides, facts, kind };
    let warn = |built: &Built| {
        for warning in &built.warnings {
            output.placeless_parts(&codes::CACHE_UNWRITABLE, warning, &[], &[]);
        }
        output.diagnostics(&loaded.db, &built.found);
    };
    if kind == BuildKind::C {
        let [header, source] = launcher_files(&args.output).map_err(usage)?;
        let stem = header.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let launcher = match &shapes {
            Some(shapes) => build_family(&loaded.db, file, (&request, shapes), &stem, &setup),
            None => build_launcher(&loaded.db, file, &request, &stem, &setup),
        };
        let launcher = launcher.map_err(|error| failed(error, &loaded, output))?;
        launcher.kernels.iter().for_each(warn);
        let files =
            [(header.as_path(), launcher.text.header.as_bytes()), (&source, launcher.text.source.as_bytes())];
        write_files(&files, output)?;
        report(&launcher.kernels, files.map(|(path, _)| path), is_default, output);
    } else {
        let built = build(&loaded.db, file, &request, &setup);
        let built = built.map_err(|error| failed(error, &loaded, output))?;
        warn(&built);
        write(&built, kind, args, is_default, output)?;
    }
    Ok(loaded.exit(Exit::Good))
}

/// Returns the header and the source of a launcher.
///
/// # Errors
/// If the name has another extension than those of C and C++, as text.
fn launcher_files(output: &Path) -> Result<[PathBuf; 2], String> {
    let extension = output.extension().map(|extension| extension.to_string_lossy().into_owned());
    match extension.as_deref() {
        None | Some("h") => Ok([output.with_extension("h"), output.with_extension("c")]),
        Some("c" | "cc" | "cpp" | "cxx") => Ok([output.with_extension("h"), output.to_owned()]),
        Some(other) => {
            Err(format!("found `{}` with `.{other}`, expected `.c` or no extension", output.display()))
        }
    }
}

/// Reports an error of the build, and returns the exit code for its kind.
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

/// The kernels that a build compiles, and their compile-time arguments.
struct Wanted {
    file: SourceFile,
    /// The kernel; all of the file if there is none.
    kernel: Option<String>,
    overrides: Overrides,
}

/// Returns what is built for `--shape`: what `hx tune` found for it, else the member of the kernel's family with the shortest estimate.
/// Unchanged if the file lacks the kernel, which the build reports.
///
/// # Errors
/// The exit code, after the reason was reported: `Usage` if the shape cannot be parsed, nothing can decide for it, or it
/// could be that of several kernels; `Bad` for errors in the tuned file; otherwise that of [`failed`].
fn for_shape(
    args: &BuildArgs,
    shape: &str,
    wanted: Wanted,
    facts: Option<&[Fact]>,
    (loaded, setup, output): (&Loaded, &Setup, &Output),
) -> Result<Wanted, Exit> {
    let usage = |text: &str| {
        output.usage(text);
        Exit::Usage
    };
    let parsed = parse_shape(shape).map_err(|reason| usage(&format!("--shape {shape}: {reason}")))?;
    let db = &loaded.db;
    let kernels: Vec<_> = file_items(db, wanted.file).kernels().collect();
    let named = |kernel: &&Kernel<'_>| wanted.kernel.as_ref().is_none_or(|name| kernel.name(db) == name);
    let chosen: Vec<_> = kernels.iter().filter(named).collect();
    let &[kernel] = chosen.as_slice() else {
        if chosen.len() > 1 {
            return Err(usage("`--shape` is the shape of one kernel; `--kernel NAME` says which"));
        }
        // The file lacks the kernel of `--kernel`, or has no kernel: the build that follows reports it.
        return Ok(wanted);
    };
    let tuned = tuned_by_default(loaded, &args.file, &args.tuned, output)?;
    if tuned.is_none() && family_of(db, *kernel).members.is_empty() {
        return Err(usage("`--shape` takes what `hx tune` found, so `--no-tuned` leaves nothing to take"));
    }
    let (of, device) = ((&parsed, &wanted.overrides), args.tuned_for.as_deref());
    let until = Until { stop: crate::interrupt::later_flag(), deadline: None };
    let found = kernel_for_shape(tuned.as_ref(), db, *kernel, setup.target, of, device, until);
    let found = found.map_err(|error| failed(error, loaded, output))?;
    found.remarks.iter().for_each(|line| output.remark(line));
    if let (Some((name, extent)), None) = (found.odd.first(), facts) {
        let text = format!("`{name}={extent}` of `--shape` is no multiple of 16, which the code assumes");
        return Err(usage(&format!("{text}: `--facts` says what else it may rely on, `none` at worst")));
    }
    let (file, name) = (found.kernel.file(db), found.kernel.name(db).to_string());
    Ok(Wanted { file, kernel: Some(name), overrides: found.overrides() })
}

fn write(
    built: &Built,
    kind: BuildKind,
    args: &BuildArgs,
    is_default: bool,
    output: &Output,
) -> Result<(), Exit> {
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
    let description = built.description(&name).map_err(|reason| cannot_write(&launch, &reason, output))?;
    let files = [(code.as_path(), built.code.as_slice()), (launch.as_path(), description.as_bytes())];
    write_files(&files, output)?;
    report(std::slice::from_ref(built), files.map(|(path, _)| path), is_default, output);
    Ok(())
}

fn cannot_write(path: &Path, reason: &str, output: &Output) -> Exit {
    let text = format!("cannot write `{}`: {reason}", path.display());
    output.placeless_parts(&codes::IO_ERROR, &text, &[], &[]);
    Exit::Bad
}

/// Writes all files into the folder of the first, which is made if it is missing.
///
/// # Errors
/// `Exit::Bad` if a file or the folder cannot be written; the reason has been reported.
fn write_files(files: &[(&Path, &[u8])], output: &Output) -> Result<(), Exit> {
    let folder = files.first().and_then(|(path, _)| path.parent());
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e.to_string(), output))?;
    }
    hx_base::replace_files(files).map_err(|(path, error)| cannot_write(path, &error.to_string(), output))
}

/// Prints what was built, and the facts that it relies on if the user has not stated them.
fn report(built: &[Built], files: [&Path; 2], is_default: bool, output: &Output) {
    let [first, second] = files.map(Path::display);
    let uses: Vec<String> = built.iter().map(uses).collect();
    if let [built] = built {
        output.remark(&format!("built `{}`: {first} and {second}{}", built.kernel, uses[0]));
    } else {
        output.remark(&format!("built {} kernels: {first} and {second}", built.len()));
        for (built, uses) in built.iter().zip(&uses) {
            output.remark(&format!("`{}`{}", built.kernel, uses.replacen("; ", ": ", 1)));
        }
    }
    let mut assumptions: Vec<(String, Vec<String>)> = Vec::new();
    for one in built.iter().filter(|_| is_default) {
        let Some(assumed) = one.assumed() else { continue };
        let name = format!("`{}`", one.kernel);
        match assumptions.iter_mut().find(|(known, _)| *known == assumed) {
            Some((_, kernels)) => kernels.push(name),
            None => assumptions.push((assumed, vec![name])),
        }
    }
    for (assumed, kernels) in assumptions {
        let of =
            if kernels.len() == built.len() { String::new() } else { format!(" of {}", kernels.join(", ")) };
        output
            .remark(&format!("assumed of every launch{of}: {assumed}; `--facts` says what else to rely on"));
    }
}

/// Describes the registers and spilled bytes of a kernel, as in `; 128 registers (ptxas), 16 bytes of spills`; empty if it was not
/// compiled.
fn uses(built: &Built) -> String {
    built.resources().map_or_else(String::new, |r| {
        let spilled = r.spill_store_bytes + r.spill_load_bytes;
        let spills = if spilled > 0 { format!(", {spilled} bytes of spills") } else { String::new() };
        format!("; {}{spills}", hx_compile::Registers::Reported(r.registers))
    })
}
