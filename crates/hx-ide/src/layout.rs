//! The layouts of the tensor at an offset: text, drawings, and the chain of reasons.

use std::collections::BTreeSet;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::{Db, product_rules};
use hx_hir::{Item, Kernel, Resolution, body_names, body_of, body_source_map, file_items, item_range};
use hx_layout::draw::Drawing;
use hx_tile::{Op, OpId, Reason, TensorId, instruction_text, layout_text, op_text};

use crate::solved::Solved;
use crate::{Cancellable, FileRange, Shown, catch};

/// The most elements of a tile that is drawn: 128 by 128, an accumulator of a large product.
const MOST_CELLS: i64 = 16384;

/// The layouts of the tensors that a name means.
#[derive(Clone, PartialEq, Debug)]
pub struct Layouts {
    pub kernel: String,
    /// Several tensors if the name is bound in an unrolled loop, or in a function that is called twice.
    pub tensors: Vec<TensorLayout>,
}

/// The layout of one tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorLayout {
    pub name: String,
    /// `register` or `shared`.
    pub space: &'static str,
    pub dtype: String,
    /// Extents in elements.
    pub shape: Vec<i64>,
    /// The short name that hints show.
    pub alias: String,
    /// `shape : stride`, preceded by the swizzle if there is one.
    pub layout: String,
    pub reason: String,
    pub forced_by: Option<FileRange>,
    pub drawings: Vec<NamedDrawing>,
}

/// A drawing of a layout, with its kind.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedDrawing {
    /// `threads` (the thread that holds each element), `memory` (the address of each element) or `banks`.
    pub kind: &'static str,
    pub drawing: Drawing,
}

/// A decision, and the decisions that it follows from.
#[derive(Clone, PartialEq, Debug)]
pub struct ReasonStep {
    /// A tensor with its layout, or an operation with its instruction.
    pub what: String,
    pub reason: Option<String>,
    pub place: Option<FileRange>,
    pub from: Vec<ReasonStep>,
}

/// Returns the layouts of the tensor whose name is at an offset. `None` if there is no tensor, or its kernel has errors.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn layouts(db: &dyn Db, file: SourceFile, at: TextSize, shown: &Shown) -> Cancellable<Option<Layouts>> {
    catch(|| {
        let (solved, tensors) = tensors_at(db, file, at, shown)?;
        let tensors: Vec<TensorLayout> =
            tensors.into_iter().filter_map(|id| tensor_layout(&solved, id)).collect();
        let kernel = solved.kernel.name(db).to_string();
        (!tensors.is_empty()).then_some(Layouts { kernel, tensors })
    })
}

/// Explains the layout of the tensor whose name is at an offset: one tree of reasons for each tensor that the name means.
/// `None` if no tensor is there, or if the kernel has errors.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn explain_layout(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
    shown: &Shown,
) -> Cancellable<Option<Vec<ReasonStep>>> {
    catch(|| {
        let (solved, tensors) = tensors_at(db, file, at, shown)?;
        let steps: Vec<ReasonStep> = tensors.into_iter().filter_map(|id| chain(&solved, id)).collect();
        (!steps.is_empty()).then_some(steps)
    })
}

/// Returns the solved kernel around an offset, and the tensors of the local at the offset. `None` if there are no such
/// tensors, or if the kernel has errors.
pub(crate) fn tensors_at<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    at: TextSize,
    shown: &Shown,
) -> Option<(Solved<'db>, Vec<TensorId>)> {
    let around = |k: &Kernel<'_>| item_range(db, Item::Kernel(*k)).contains_inclusive(at);
    let kernel = file_items(db, file).kernels().find(around)?;
    let binding = binding_at(db, kernel, at)?;
    let solved = Solved::of(db, kernel, shown)?;
    let tensors = solved.tensors_bound_at(binding);
    (!tensors.is_empty()).then_some((solved, tensors))
}

/// Returns the range where a local is bound. The offset is on its binding or on a use; `None` if no local is there.
pub(crate) fn binding_at(db: &dyn Db, kernel: Kernel<'_>, at: TextSize) -> Option<TextRange> {
    let item = Item::Kernel(kernel);
    let map = body_source_map(db, item)?;
    let (body, names) = (body_of(db, item), body_names(db, item));
    let offset = kernel.offset(db);
    let inside = at.checked_sub(offset)?;
    let bound = body.store.pats.iter().filter_map(|(pat, _)| map.pat(pat));
    if let Some(range) = bound.filter(|range| range.contains_inclusive(inside)).min_by_key(|r| r.len()) {
        return Some(range + offset);
    }
    let used = names.exprs.iter().filter_map(|(expr, to)| match to {
        Resolution::Local(pat) => {
            let range = map.expr(expr)?;
            range.contains_inclusive(inside).then(|| map.pat(*pat)).flatten()
        }
        _ => None,
    });
    used.map(|range| range + offset).next()
}

pub(crate) fn tensor_layout(solved: &Solved<'_>, id: TensorId) -> Option<TensorLayout> {
    let tensor = solved.tensor(id);
    let reason = solved.reason(id)?;
    Some(TensorLayout {
        name: tensor.name.clone(),
        space: tensor.kind.space().name(),
        dtype: tensor.dtype.to_string(),
        shape: tensor.shape.clone(),
        alias: solved.alias(id)?,
        layout: solved.layout(id)?,
        reason: reason.text.clone(),
        forced_by: crate::hints::forced_by(solved, reason),
        drawings: drawings(solved, id),
    })
}

/// Draws a layout. A layout with more than two dimensions is drawn as a plane, and a layout that is too large is left out.
pub(crate) fn drawings(solved: &Solved<'_>, id: TensorId) -> Vec<NamedDrawing> {
    let mut found = Vec::new();
    let mut add = |kind: &'static str, drawing: Result<Drawing, hx_layout::LayoutError>| {
        if let Ok(drawing) = drawing {
            found.push(NamedDrawing { kind, drawing });
        }
    };
    if let Some(d) = solved.solution.registers.get(&id) {
        let rows = d.tile.first().copied().unwrap_or(1);
        let cols: i64 = d.tile.iter().skip(1).product();
        if rows.saturating_mul(cols) <= MOST_CELLS {
            add("threads", Drawing::thread_value(&d.layout, (rows, cols)));
        }
    } else if let Some(composed) = solved.composed(id)
        && composed.layout.size() <= MOST_CELLS
    {
        add("memory", Drawing::memory(&composed));
        add("banks", Drawing::banks(&composed, i64::from(solved.tensor(id).dtype.bits())));
    }
    found
}

/// Returns the tree of reasons of a tensor's layout, down to reasons that depend on no other tensor. `None` if it has no
/// layout.
pub(crate) fn chain(solved: &Solved<'_>, id: TensorId) -> Option<ReasonStep> {
    let (what, reason) = layout_text(&solved.lowered.program, solved.solution, id)?;
    let origin = solved.tensor(id).origin;
    let range = solved.in_kernel(origin);
    let place = range.map(|range| FileRange { file: solved.kernel.file(solved.db), range });
    let from = causes(solved, reason, &mut BTreeSet::from([id]));
    Some(ReasonStep { what, reason: Some(reason.text.clone()), place, from })
}

fn causes(solved: &Solved<'_>, reason: &Reason, seen: &mut BTreeSet<TensorId>) -> Vec<ReasonStep> {
    reason.from.iter().filter_map(|op| operation(solved, *op, seen)).collect()
}

/// Returns an operation, and below it the tensors from which it carried a layout over. `None` if the program has no such
/// operation.
fn operation(solved: &Solved<'_>, id: OpId, seen: &mut BTreeSet<TensorId>) -> Option<ReasonStep> {
    let program = &solved.lowered.program;
    let op = program.op(id)?;
    let (what, reason) = describe(solved, op);
    let mut from = Vec::new();
    for other in op.kind.tensors() {
        let Some((what, why)) = layout_text(program, solved.solution, other) else { continue };
        // Skip a tensor whose layout this operation decided: it is an effect of the operation, as the tensor above is, not a
        // cause.
        if why.from.contains(&id) || !seen.insert(other) {
            continue;
        }
        let range = solved.in_kernel(solved.tensor(other).origin);
        let place = range.map(|range| FileRange { file: solved.kernel.file(solved.db), range });
        let below = causes(solved, why, seen);
        from.push(ReasonStep { what, reason: Some(why.text.clone()), place, from: below });
    }
    Some(ReasonStep { what, reason, place: solved.place(id), from })
}

/// Returns an operation with its instruction as text, and the reason for the instruction.
pub(crate) fn describe(solved: &Solved<'_>, op: &Op) -> (String, Option<String>) {
    let program = &solved.lowered.program;
    let what = op_text(program, op);
    match instruction_text(program, solved.solution, op) {
        Some((how, reason)) => {
            let rules = product_rules(solved.db, solved.instance, op.id);
            let reason = std::iter::once(reason.text.clone()).chain(rules).collect::<Vec<_>>().join("; ");
            (format!("{what}: {how}"), Some(reason))
        }
        None => (what, None),
    }
}
