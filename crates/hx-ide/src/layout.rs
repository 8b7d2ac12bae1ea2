//! Everything about the layouts of the tensor at an offset: the text, the drawings, and the chain of reasons.

use std::collections::BTreeSet;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Item, Kernel, Resolution, body_names, body_of, body_source_map, file_items, item_range};
use hx_layout::draw::Drawing;
use hx_tile::{Op, OpId, Reason, TensorId, layout_text, op_text};

use crate::solved::Solved;
use crate::{Cancellable, FileRange, Shown, catch};

/// The largest tile that is drawn: more cells cannot be read.
const MOST_CELLS: i64 = 4096;

/// The layouts of the tensors that one name stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Layouts {
    pub kernel: String,
    /// Several where a name is bound in an unrolled loop or in a function that is called twice.
    pub tensors: Vec<TensorLayout>,
}

/// The layout of one tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorLayout {
    pub name: String,
    /// `register` or `shared`.
    pub space: &'static str,
    pub dtype: String,
    /// In elements.
    pub shape: Vec<i64>,
    /// As in a hint.
    pub alias: String,
    /// `shape : stride`, with a swizzle before it.
    pub layout: String,
    pub reason: String,
    pub forced_by: Option<FileRange>,
    pub drawings: Vec<NamedDrawing>,
}

/// A picture of a layout.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedDrawing {
    /// `threads` (which thread holds which element), `memory` (where each element lies) or `banks`.
    pub kind: &'static str,
    pub drawing: Drawing,
}

/// One thing that was decided, and below it what it follows from.
#[derive(Clone, PartialEq, Debug)]
pub struct ReasonStep {
    /// A tensor with its layout, or an operation with its instruction.
    pub what: String,
    pub reason: Option<String>,
    pub place: Option<FileRange>,
    pub from: Vec<ReasonStep>,
}

/// The layouts of the tensor whose name is at an offset; nothing where there is none, or its kernel has errors.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn.
pub fn layouts(db: &dyn Db, file: SourceFile, at: TextSize, shown: &Shown) -> Cancellable<Option<Layouts>> {
    catch(|| {
        let (solved, tensors) = tensors_at(db, file, at, shown)?;
        let tensors: Vec<TensorLayout> =
            tensors.into_iter().filter_map(|id| tensor_layout(&solved, id)).collect();
        let kernel = solved.kernel.name(db).to_string();
        (!tensors.is_empty()).then_some(Layouts { kernel, tensors })
    })
}

/// Why the tensor whose name is at an offset has its layout: a tree for each tensor that the name stands for.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn.
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

/// The solved kernel around an offset, and the tensors of the local there.
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

/// Where the local is bound whose binding or use is at an offset.
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
        space: if tensor.is_register() { "register" } else { "shared" },
        dtype: tensor.dtype.to_string(),
        shape: tensor.shape.clone(),
        alias: solved.alias(id)?,
        layout: solved.layout(id)?,
        reason: reason.text.clone(),
        forced_by: crate::hints::forced_by(solved, reason),
        drawings: drawings(solved, id),
    })
}

/// Pictures of a layout: a plane of it where it has more than two dimensions, nothing where it is too large to read.
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

/// The reasons of a tensor's layout, down to what needed no other reason.
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

/// An operation, and the tensors that it carried a layout over from.
fn operation(solved: &Solved<'_>, id: OpId, seen: &mut BTreeSet<TensorId>) -> Option<ReasonStep> {
    let program = &solved.lowered.program;
    let op = program.op(id)?;
    let (what, reason) = describe(solved, op);
    let mut from = Vec::new();
    for other in op.kind.tensors() {
        let Some((what, why)) = layout_text(program, solved.solution, other) else { continue };
        // What the operation itself decided comes from it, as the tensor does that led here.
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

/// An operation with its instruction, and why it has that one.
pub(crate) fn describe(solved: &Solved<'_>, op: &Op) -> (String, Option<String>) {
    match solved.choice(op) {
        Some((choice, reason)) => {
            // The number of the operation means nothing outside of a listing.
            let choice = choice.split_once(' ').map_or(choice.clone(), |(_, rest)| rest.to_owned());
            (choice, Some(reason.text.clone()))
        }
        None => (op_text(&solved.lowered.program, op), None),
    }
}
