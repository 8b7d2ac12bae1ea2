//! `--emit`: the text of one compilation stage of a kernel's instance. PTX and machine code come from the worker.

use std::collections::BTreeSet;
use std::time::Duration;

use hx_base::{Diagnostic, SourceFile, line_index};
use hx_compile::{Db, Emit, Instance, cuda_source, instance_errors};
use hx_hir::{Item, Kernel, Name, file_items, kernel_signature, signature_source_map};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_lower::{CtArgs, LaunchFacts, WrittenArg};
use hx_worker::{CompileError, CompileJob, Compiled, Compiler, Limits, Want, WorkerClient, disassemble};

use crate::absence::absence_error;
use crate::refused::refused_ptx;
use crate::setup::Setup;
use crate::spills::spilled;
use crate::stopped::stopped_at;

/// Time limit of the CUDA compiler.
pub const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// The stages that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmitKind {
    Stage(Emit),
    /// Assembly of the virtual machine.
    Ptx,
    /// Machine code, disassembled.
    Sass,
}

impl EmitKind {
    /// The names of all kinds, in the order of the stages.
    pub const NAMES: [&str; 7] = ["tile", "constraints", "layouts", "thread", "cuda", "ptx", "sass"];

    /// Returns the kind of that name.
    pub fn parse(name: &str) -> Option<EmitKind> {
        match name {
            "ptx" => Some(EmitKind::Ptx),
            "sass" => Some(EmitKind::Sass),
            _ => Emit::ALL.into_iter().find(|e| e.name() == name).map(EmitKind::Stage),
        }
    }
}

/// Compile-time arguments from the command line, in order.
pub type Overrides = Vec<(Name, WrittenArg)>;

/// The text of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emitted {
    pub kernel: Name,
    pub text: String,
    /// Warnings for the user, such as a cache that cannot be written.
    pub warnings: Vec<String>,
    /// Findings about the kernel: errors that keep it from being built, which may be the reason why the text stops before the stage's
    /// end, or spills of the machine code.
    pub found: Vec<Diagnostic>,
}

/// The reason why there is no text.
#[derive(Clone, Debug)]
pub enum EmitError {
    /// The request is invalid; the text says why.
    Usage(String),
    /// The kernel needs a value for a compile-time parameter. The caller adds how to set it, because only the caller knows.
    Open { kernel: Name, parameter: Name },
    /// The kernel has errors.
    Found(Vec<Diagnostic>),
    /// The machine lacks a part, such as the CUDA compiler.
    Host(HostError),
}

/// Parses `BM=128`, `T=f16`, `W=(8,8):(8,1)`, `EPILOGUE=relu`.
///
/// # Errors
/// The problem with the text, as text.
pub fn parse_override(text: &str) -> Result<(Name, WrittenArg), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("found `{text}`, expected `NAME=VALUE`"))?;
    let (name, value) = (name.trim(), value.trim());
    let identifier = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(identifier) {
        return Err(format!("`{name}` is not a name of a compile-time parameter"));
    }
    Ok((Name::new(name), value.parse()?))
}

/// Returns the kernel of that name in the file, or all of its kernels if `name` is `None`.
///
/// # Errors
/// [`EmitError::Usage`] if the file has no kernel of that name.
pub fn kernels<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    name: Option<&str>,
) -> Result<Vec<Kernel<'db>>, EmitError> {
    let all: Vec<Kernel<'db>> = file_items(db, file).kernels().collect();
    let Some(name) = name else { return Ok(all) };
    let chosen: Vec<Kernel<'db>> = all.iter().copied().filter(|k| k.name(db) == name).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let names = || all.iter().map(|k| k.name(db).as_str());
    let path = file.path(db);
    let hint = match hx_base::nearest(name, names()) {
        Some(near) => format!("; perhaps `{near}` is meant"),
        None if all.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", names().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    };
    Err(EmitError::Usage(format!("`{path}` has no kernel `{name}`{hint}")))
}

/// Returns a stage's text for the default instances of a file's kernels, with some compile-time arguments replaced.
///
/// # Errors
/// If there is no such kernel, an override does not fit, or a parameter has no value; if a kernel has errors before the stage; for PTX and
/// SASS also if the CUDA compiler is absent or refuses the text.
pub fn emit(
    db: &dyn Db,
    file: SourceFile,
    kernel: Option<&str>,
    overrides: &Overrides,
    kind: EmitKind,
    setup: &Setup,
) -> Result<Vec<Emitted>, EmitError> {
    let mut out = Vec::new();
    for kernel in kernels(db, file, kernel)? {
        out.push(emit_instance(db, instance(db, kernel, overrides, setup)?, kind, setup)?);
    }
    if kind == EmitKind::Stage(Emit::Cuda) {
        once(&mut out);
    }
    Ok(out)
}

/// Returns a stage's text for an instance.
///
/// # Errors
/// As for [`emit`] of a kernel that exists.
pub fn emit_instance<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    kind: EmitKind,
    setup: &Setup,
) -> Result<Emitted, EmitError> {
    let (mut warnings, mut errors) = (Vec::new(), Vec::new());
    let text = match kind {
        EmitKind::Stage(stage) => {
            match hx_compile::emit(db, instance, stage) {
                // A kernel with a race still has a text, which shows where the race is. Report the errors beside it, so that
                // nobody builds it.
                Ok(text) => {
                    errors.clone_from(instance_errors(db, instance));
                    text
                }
                Err(stop) => part(db, instance, stage, stop, &mut errors)?,
            }
        }
        EmitKind::Ptx => {
            let code = compile(db, instance, Want::Ptx, setup, &mut warnings)?.code;
            // NVRTC ends the PTX text with a zero byte, as C strings do.
            String::from_utf8_lossy(&code).trim_end_matches('\0').to_owned()
        }
        EmitKind::Sass => {
            let compiled = compile(db, instance, Want::Cubin, setup, &mut warnings)?;
            let listing = disassemble(&setup.search, &compiled.code, &Limits::within(COMPILE_LIMIT));
            let listing = listing.map_err(|absence| EmitError::Host(absence_error(&absence)))?;
            let resources = compiled.kernels.first();
            errors.extend(spilled(db, instance, resources, Some(&listing)));
            beside_source(db, instance.kernel(db), &listing)
        }
    };
    let kernel = instance.kernel(db).name(db).clone();
    Ok(Emitted { kernel, text, warnings, found: errors })
}

/// Leaves out functions that the text of an earlier kernel has, so that the texts together are one translation unit.
fn once(texts: &mut [Emitted]) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for emitted in texts {
        let mut own = String::new();
        // A function ends at the first brace without indentation.
        for item in emitted.text.split_inclusive("\n}\n") {
            let is_function = item.trim_start().starts_with("static __device__");
            if !is_function || seen.insert(item.trim().to_owned()) {
                own.push_str(item);
            }
        }
        emitted.text = own.trim_start_matches('\n').to_owned();
    }
}

/// Returns the unfinished text of a stage at which an instance fails, and adds the reason to `errors`. Only constraints without a
/// solution have such a text; other stages return an error.
fn part<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    stage: Emit,
    stop: &hx_compile::Stop,
    errors: &mut Vec<Diagnostic>,
) -> Result<String, EmitError> {
    let built = || hx_compile::built_constraints(db, instance).filter(|text| !text.is_empty());
    match (stopped(db, instance, stop), (stage == Emit::Constraints).then(built).flatten()) {
        (EmitError::Found(found), Some(text)) => {
            errors.extend(found);
            Ok(text)
        }
        (error, _) => Err(error),
    }
}

/// Lists the machine code under the lines of the kernel that it was compiled from.
fn beside_source(db: &dyn Db, kernel: Kernel<'_>, listing: &hx_worker::Listing) -> String {
    let file = kernel.file(db);
    let header = signature_source_map(db, Item::Kernel(kernel)).map(|map| map.header + kernel.offset(db));
    let header =
        header.and_then(|range| line_index(db, file).try_line_col(range.start())).map_or(0, |at| at.line);
    let name = file.path(db).rsplit('/').next().unwrap_or_default();
    let mut text = listing.preface().concat();
    let mut at = None;
    for line in &listing.lines {
        if let Some(source) = line.source.filter(|source| at != Some(*source)) {
            let number = header + source;
            let written = file.text(db).lines().nth(number.saturating_sub(1) as usize).unwrap_or_default();
            text.push_str(&format!("// {name}:{number}: {}\n", written.trim()));
            at = Some(source);
        }
        text.push_str(&line.with_registers());
    }
    text
}

/// Returns the default instance of a kernel, with some compile-time arguments replaced.
///
/// # Errors
/// If an argument does not fit its parameter, or a parameter without a default has none.
pub fn instance<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    overrides: &Overrides,
    setup: &Setup,
) -> Result<Instance<'db>, EmitError> {
    let signature = kernel_signature(db, kernel);
    let name = kernel.name(db);
    for (given, _) in overrides {
        if !signature.generics.iter().any(|g| g.name == *given) {
            let near = hx_base::nearest(given, signature.generics.iter().map(|g| g.name.as_str()));
            let hint = near.map_or_else(String::new, |near| format!("; perhaps `{near}` is meant"));
            return Err(EmitError::Usage(format!("`{name}` has no compile-time parameter `{given}`{hint}")));
        }
    }
    let mut args = CtArgs::new();
    for (given, value) in overrides {
        let value = value.resolve(db, kernel.file(db));
        args.insert(given.clone(), value.map_err(|reason| EmitError::Usage(format!("`{given}`: {reason}")))?);
    }
    let open = signature.generics.iter().find(|g| g.default.is_none() && !args.contains_key(&g.name));
    if let Some(open) = open {
        return Err(EmitError::Open { kernel: name.clone(), parameter: open.name.clone() });
    }
    Ok(Instance::chosen(db, kernel, args, setup.target, LaunchFacts::all_16()))
}

/// Returns the errors that stopped an instance before the wanted stage.
pub fn stopped<'db>(db: &'db dyn Db, instance: Instance<'db>, stop: &hx_compile::Stop) -> EmitError {
    match stopped_at(db, instance, stop) {
        LaunchError::Found(errors) => EmitError::Found(errors),
        other => EmitError::Host(other.into_parts().0),
    }
}

/// Compiles an instance in a worker of its own, through the cache. Problems with the cache are added to `warnings`.
///
/// # Errors
/// [`EmitError::Found`] if the kernel has errors, also those, such as races, with which it still has a CUDA text. [`EmitError::Host`] if
/// the CUDA compiler is absent, refuses the text, or the worker fails.
pub fn compile<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    want: Want,
    setup: &Setup,
    warnings: &mut Vec<String>,
) -> Result<Compiled, EmitError> {
    let source = cuda_source(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    // A kernel with a race has a CUDA text too, but it must not be compiled.
    let errors = instance_errors(db, instance);
    if !errors.is_empty() {
        return Err(EmitError::Found(errors.clone()));
    }
    let target = instance.target(db).name();
    let job = CompileJob { want, ..CompileJob::of_kernel(source.text.clone(), &source.symbol, target) };
    let compiler = Compiler::new(&setup.search, setup.cache.clone());
    let mut worker = WorkerClient::new(setup.worker.clone());
    let outcome = compiler.compile(&mut worker, &job, &Limits::within(COMPILE_LIMIT));
    match outcome {
        Ok(outcome) => {
            warnings.extend(outcome.cache_warnings.iter().map(ToString::to_string));
            Ok(outcome.compiled)
        }
        Err(CompileError::Absent(absence)) => Err(EmitError::Host(absence_error(&absence))),
        Err(CompileError::Refused { log, .. }) => {
            let mut ptx = |job: &CompileJob| {
                let outcome = compiler.compile(&mut worker, job, &Limits::within(COMPILE_LIMIT));
                outcome.ok().map(|outcome| outcome.compiled.code)
            };
            let found = refused_ptx(db, instance, (source, &log), &mut ptx);
            if !found.is_empty() {
                return Err(EmitError::Found(found));
            }
            let error = HostError::new(
                &hx_base::codes::INTERNAL_ERROR,
                "the CUDA compiler refused the generated text",
            );
            Err(EmitError::Host(error.note(log)))
        }
        Err(CompileError::Worker(error)) => {
            Err(EmitError::Host(HostError::new(&hx_base::codes::WORKER_CRASHED, error.to_string())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_kernels_define_a_function_once() {
        let text = |name: &str| {
            format!(
                "static __device__ int hx_extract() {{\n    return 1;\n}}\n\nextern \"C\" void {name}() {{\n    if (x) {{\n    }}\n}}\n"
            )
        };
        let emitted = |name: &str| Emitted {
            kernel: Name::new(name),
            text: text(name),
            warnings: Vec::new(),
            found: Vec::new(),
        };
        let mut texts = ["a", "b"].map(emitted);
        once(&mut texts);
        assert_eq!(texts[0].text, text("a"));
        assert_eq!(texts[1].text, "extern \"C\" void b() {\n    if (x) {\n    }\n}\n");
    }
}
