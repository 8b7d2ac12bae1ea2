//! The stages of a kernel as text, with the source line that each line of the text comes from.

use hx_base::{SourceFile, TextSize, line_index};
use hx_compile::{
    CtArgs, CudaSource, Db, Emit, Instance, built_constraints, cuda_source, emit as emit_stage,
    instance_errors,
};
use hx_hir::{Item, Kernel, file_items, signature_source_map};

use crate::{Cancellable, Shown, catch, kernel};

/// Selects a kernel, and one of its instances.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    pub kernel: Option<String>,
    /// Without a name: selects the kernel around this offset; without an offset, the file's first.
    pub at: Option<TextSize>,
    /// Compile-time arguments of the instance; `None` selects the instance that is shown.
    pub args: Option<std::collections::BTreeMap<String, String>>,
}

/// The text of a stage of one kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct StageText {
    pub kernel: String,
    pub text: String,
    /// Pairs of a line of the text and the line of the file that it comes from, both from 0, in text order.
    pub lines: Vec<(u32, u32)>,
}

/// The CUDA text of a kernel with its `#line` marks, as the CUDA compiler gets it.
#[derive(Clone, PartialEq, Debug)]
pub struct CudaText {
    pub kernel: String,
    /// The kernel's symbol in the compiled code.
    pub symbol: String,
    pub text: String,
    /// The architecture, for example `sm_90a`.
    pub target: String,
    /// The line of the file, from 0, that the marks call line 1.
    pub first_line: u32,
}

impl CudaText {
    pub(crate) fn of(db: &dyn Db, kernel: Kernel<'_>, source: &CudaSource, shown: &Shown) -> CudaText {
        CudaText {
            kernel: kernel.name(db).to_string(),
            symbol: source.symbol.clone(),
            text: source.text.clone(),
            target: shown.target.name().to_owned(),
            first_line: header_line(db, kernel),
        }
    }
}

/// Returns the text of a stage that needs no CUDA compiler. The `#line` marks of CUDA text are removed; `lines` replaces them.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error says why there is no text.
pub fn emit(
    db: &dyn Db,
    file: SourceFile,
    wanted: &Wanted,
    stage: Emit,
    shown: &Shown,
) -> Cancellable<Result<StageText, String>> {
    catch(|| {
        let (kernel, instance) = chosen(db, file, wanted, shown)?;
        let name = kernel.name(db).to_string();
        if stage == Emit::Cuda {
            let source = cuda_source(db, instance).as_ref().map_err(|_| errors_of(&name))?;
            let (text, lines) = without_marks(&source.text, header_line(db, kernel));
            return Ok(StageText { kernel: name, text, lines });
        }
        // If the constraints have no solution, show the constraints that were built.
        let built = || (stage == Emit::Constraints).then(|| built_constraints(db, instance)).flatten();
        let text = emit_stage(db, instance, stage).ok().or_else(built).ok_or_else(|| errors_of(&name))?;
        Ok(StageText { kernel: name, text, lines: Vec::new() })
    })
}

/// Returns the CUDA text with its `#line` marks, as the compiler gets it.
///
/// # Errors
/// Like [`emit`].
pub fn cuda(
    db: &dyn Db,
    file: SourceFile,
    wanted: &Wanted,
    shown: &Shown,
) -> Cancellable<Result<CudaText, String>> {
    catch(|| {
        let (kernel, instance) = chosen(db, file, wanted, shown)?;
        let name = kernel.name(db).to_string();
        let source = buildable(db, instance).ok_or_else(|| errors_of(&name))?;
        Ok(CudaText::of(db, kernel, source, shown))
    })
}

/// Returns the CUDA texts of the file's kernels, in the instances that are shown. Kernels with errors have none.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn cuda_texts(db: &dyn Db, file: SourceFile, shown: &Shown) -> Cancellable<Vec<CudaText>> {
    catch(|| {
        let mut texts = Vec::new();
        for kernel in file_items(db, file).kernels().filter(|kernel| crate::solved::is_whole(db, *kernel)) {
            let Some(instance) = shown.instance(db, kernel) else { continue };
            let Some(source) = buildable(db, instance) else { continue };
            texts.push(CudaText::of(db, kernel, source, shown));
        }
        texts
    })
}

/// Returns the CUDA text of an instance if it has no errors. An instance with a race has a text, but it must not be compiled.
fn buildable<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<&'db CudaSource> {
    let source = cuda_source(db, instance).as_ref().ok()?;
    instance_errors(db, instance).is_empty().then_some(source)
}

fn errors_of(kernel: &str) -> String {
    format!("`{kernel}` has errors, so it has no text")
}

fn chosen<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    wanted: &Wanted,
    shown: &Shown,
) -> Result<(Kernel<'db>, Instance<'db>), String> {
    let kernel = kernel::find(db, file, wanted.kernel.as_deref(), wanted.at)?;
    let name = kernel.name(db);
    let args = match &wanted.args {
        Some(args) => kernel::instance(db, file, name, args)?.1,
        None => shown.args(&kernel.key(db)).cloned().unwrap_or_default(),
    };
    let mut choice = Shown::new(shown.target);
    choice.pick(kernel.key(db), args as CtArgs);
    if !crate::solved::is_whole(db, kernel) {
        return Err(errors_of(name));
    }
    let instance = choice.instance(db, kernel);
    let open = "has a compile-time parameter without a default: choose a value for it";
    Ok((kernel, instance.ok_or_else(|| format!("`{name}` {open}"))?))
}

/// Returns the line of the keyword `kernel`, from 0. The `#line` marks count from it.
fn header_line(db: &dyn Db, kernel: Kernel<'_>) -> u32 {
    let header =
        signature_source_map(db, Item::Kernel(kernel)).map(|map| map.header.start()).unwrap_or_default();
    let index = line_index(db, kernel.file(db));
    index.try_line_col(header + kernel.offset(db)).map_or(0, |at| at.line)
}

/// Removes the `#line` marks from a text. Returns the text, and for each line the line of the file that it comes from.
fn without_marks(marked: &str, first_line: u32) -> (String, Vec<(u32, u32)>) {
    let (mut text, mut lines, mut at) = (String::new(), Vec::new(), None);
    let mut emitted = 0;
    for line in marked.lines() {
        let mark = line.trim_start().strip_prefix("#line ");
        if let Some(number) = mark.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok()) {
            at = Some(first_line + number.saturating_sub(1));
            continue;
        }
        if let Some(source) = at.filter(|_| !line.trim().is_empty()) {
            lines.push((emitted, source));
        }
        text.push_str(line);
        text.push('\n');
        emitted += 1;
    }
    (text, lines)
}
