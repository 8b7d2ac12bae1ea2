//! Answers about layouts, swizzles and the boxes of bulk copies.

use std::collections::{BTreeMap, BTreeSet};

use hx_layout::{ComposedLayout, Swizzle};
use hx_synth::{Solved, Wish};
use hx_target::{Space, SwizzleMode};
use hx_tile::{Base, BulkChoice, Choice, Op, OpKind, TensorId, TensorKind, layout_text, reason_text};

use super::question::Wanted;
use super::{Asked, Subject, joined};
use crate::widths::{layout_of, with_pins};

impl Asked<'_> {
    /// Answers why a tensor has another layout.
    ///
    /// # Errors
    /// If the question names no tensor.
    pub(super) fn layout(&self, wanted: &ComposedLayout, subject: &Subject) -> Result<Vec<String>, String> {
        let (program, solution) = (self.program(), &self.solved.solution);
        let named = subject.tensors.iter().filter(|_| subject.name.is_some());
        // A tensor of the source can be pinned; tensors of moves and exchanges follow from them.
        let known = self.source.program.tensors.len();
        let tensors: Vec<TensorId> = named.copied().filter(|id| (id.0 as usize) < known).collect();
        let Some(first) = tensors.first() else {
            return Err(
                "a layout is that of one tensor: name a register or shared tensor before `--not`".into()
            );
        };
        let mut lines = Vec::new();
        if let Some((text, reason)) = layout_text(program, solution, *first) {
            lines.push(text);
            lines.push(format!("  {}", reason_text(reason)));
        }
        if layout_of(solution, *first).as_ref() == Some(wanted) {
            lines.push("  that is the layout of the question".to_owned());
            return Ok(lines);
        }
        let text = wanted.source_form();
        let is_register = program.tensor(*first).is_register();
        if is_register && !wanted.swizzle.is_identity() {
            lines.push(format!("  not `{text}`: registers have no swizzle"));
            return Ok(lines);
        }
        let pins: Vec<(TensorId, ComposedLayout)> = tensors.iter().map(|id| (*id, wanted.clone())).collect();
        lines.extend(
            self.outcome(&format!("`{text}`"), self.solving(&with_pins(&self.source.program, &pins))),
        );
        Ok(lines)
    }

    /// Answers why shared tensors have no other swizzle, or compares all swizzles that the hardware names.
    ///
    /// # Errors
    /// If the name of the question is that of a register tensor or parameter.
    pub(super) fn swizzle(&self, wanted: Option<Wanted>, subject: &Subject) -> Result<Vec<String>, String> {
        let program = self.program();
        let is_shared = |id: &&TensorId| matches!(program.tensor(**id).kind, TensorKind::Shared { .. });
        // Tensors of moves and exchanges have no swizzle of their own to ask for.
        let known = self.source.program.tensors.len();
        let is_asked = |id: &&TensorId| is_shared(id) && (id.0 as usize) < known;
        let shared: Vec<TensorId> = subject.tensors.iter().filter(is_asked).copied().collect();
        if shared.is_empty() {
            let all =
                program.tensor_ids().filter(|id| is_shared(&id)).map(|id| program.tensor(id).name.as_str());
            let all: Vec<&str> = all.collect();
            return Err(match all.as_slice() {
                [] => format!("`{}` has no shared tensor, and only those have a swizzle", program.name),
                all => format!(
                    "{} is not in shared memory, and only {} have a swizzle",
                    self.about(subject),
                    super::quoted(all)
                ),
            });
        }
        Ok(joined(shared.len(), shared.iter().map(|id| self.swizzles_of(*id, wanted))))
    }

    fn swizzles_of(&self, id: TensorId, wanted: Option<Wanted>) -> Vec<String> {
        let (program, solution) = (self.program(), &self.solved.solution);
        let (tensor, bits) = (program.tensor(id), program.tensor(id).dtype.bits());
        let Some((text, reason)) = layout_text(program, solution, id) else { return Vec::new() };
        let mut lines = vec![text, format!("  {}", reason_text(reason))];
        let Some(own) = solution.shared.get(&id).map(|layout| layout.swizzle) else { return lines };
        if tensor.kind.is_pinned() {
            lines.push(
                "  its layout is pinned, and so is the swizzle: `layout:` in the text decides".to_owned(),
            );
            return lines;
        }
        let phrase = |swizzle: Swizzle| match SwizzleMode::of(swizzle, bits) {
            Some(mode) => mode.phrase(),
            None => format!("`{}`", swizzle.source_form()),
        };
        let modes: Vec<Swizzle> = match wanted {
            Some(Wanted::Elements(swizzle)) => vec![swizzle],
            Some(Wanted::Mode(mode)) => match mode.of_elements(bits) {
                Some(swizzle) => vec![swizzle],
                None => {
                    lines.push(format!("  not {}: it tears elements of {bits} bits apart", mode.phrase()));
                    return lines;
                }
            },
            None => {
                let all = SwizzleMode::ALL.into_iter().rev().filter_map(|mode| mode.of_elements(bits));
                all.filter(|swizzle| !swizzle.permutes_as(own)).collect()
            }
        };
        for swizzle in modes {
            let what = phrase(swizzle);
            if swizzle.permutes_as(own) {
                lines.push(format!("  it has {what}"));
                continue;
            }
            let wish = Wish { swizzles: BTreeMap::from([(id, swizzle)]), ..Wish::default() };
            let solved = self.wishing(&wish);
            if wanted.is_some() {
                lines.extend(self.outcome(&what, solved));
            } else {
                lines.extend(self.brief(&what, solved));
            }
        }
        lines
    }

    /// Formats the result of solving with one of several alternatives: the sentence, and the accesses that disagree.
    fn brief(&self, what: &str, solved: Result<Solved, hx_synth::Failure>) -> Vec<String> {
        match solved {
            Ok(other) => vec![format!("  {}", self.verdict_with(what, &other, WIDEST))],
            Err(failure) => {
                let mut lines = self.refused(what, &failure);
                lines.truncate(3);
                lines
            }
        }
    }

    /// Answers why bulk copies of the subject have no other boxes, or compares all boxes that the hardware takes.
    pub(super) fn boxes(&self, wanted: Option<&[u32]>, subject: &Subject) -> Vec<String> {
        let is_bulk = |op: &Op| {
            matches!(self.choice(op.id), Some(Choice::Bulk(_)))
                || matches!(op.kind, OpKind::CopyAsync { signal: Some(_), .. } | OpKind::Store { .. })
        };
        let groups = self.groups(subject, is_bulk);
        let ends = BTreeSet::from([[Space::Global, Space::Shared], [Space::Shared, Space::Global]]);
        let others = if groups.is_empty() { self.not_moved("boxes", &ends, subject) } else { Vec::new() };
        if !others.is_empty() {
            return joined(others.len(), others.into_iter());
        }
        if groups.is_empty() {
            return vec![format!(
                "no copy of {} may be made in boxes: those are `copy_async` that signal a pipeline, and asynchronous stores",
                self.about(subject)
            )];
        }
        joined(groups.len(), groups.iter().map(|ops| self.boxes_of(wanted, ops)))
    }

    fn boxes_of(&self, wanted: Option<&[u32]>, ops: &[&Op]) -> Vec<String> {
        let mut lines = vec![self.head(ops)];
        let Some(op) = ops.first() else { return lines };
        let Some(Choice::Bulk(chosen)) = self.choice(op.id) else {
            lines.extend(self.outcome("boxes", self.wishing(&self.in_boxes(ops, None))));
            return lines;
        };
        let Some((tensor, shape)) = shared_of(op) else { return lines };
        let number = count(&shape, chosen);
        lines.push(format!("  {}: {}", boxes_text(chosen, number), chosen.reason.text));
        if wanted.is_some_and(|extents| same_extents(chosen, extents)) {
            lines.push("  those are the boxes of the question".to_owned());
            return lines;
        }
        let before = lines.len();
        let bits = self.program().tensor(tensor).dtype.bits();
        let own = self.solved.solution.shared.get(&tensor).map(|layout| layout.swizzle);
        for mode in SwizzleMode::ALL.into_iter().rev() {
            let swizzle =
                mode.of_elements(bits).filter(|found| !own.is_some_and(|own| own.permutes_as(*found)));
            let Some(swizzle) = swizzle else { continue };
            let solved = self.wishing(&self.in_boxes(ops, Some((tensor, swizzle))));
            let choice = solved.as_ref().ok().and_then(|solved| solved.solution.choices.get(&op.id));
            let made = choice.and_then(|choice| {
                let Choice::Bulk(bulk) = choice else { return None };
                Some(bulk)
            });
            let what = match made {
                Some(bulk) => format!("{} under {}", boxes_text(bulk, count(&shape, bulk)), mode.phrase()),
                None => format!("boxes under {}", mode.phrase()),
            };
            match wanted {
                None => lines.extend(self.brief(&what, solved)),
                Some(extents) if made.is_some_and(|bulk| same_extents(bulk, extents)) => {
                    lines.extend(self.outcome(&what, solved));
                }
                Some(_) => {}
            }
        }
        if let Some(extents) = wanted.filter(|_| lines.len() == before) {
            lines.extend(self.no_such_box(extents, (&shape, bits), number));
        }
        lines
    }

    /// Returns the wish that copies are made in boxes, under a swizzle of their shared tensor.
    fn in_boxes(&self, ops: &[&Op], under: Option<(TensorId, Swizzle)>) -> Wish {
        let rows = self.program().target.rows().bulks.iter().filter(|row| row.run.is_none());
        let rows: BTreeSet<String> = rows.map(|row| row.name.clone()).collect();
        Wish { swizzles: under.into_iter().collect(), ..Wish::of_rows(ops.iter().map(|op| op.id), &rows) }
    }

    /// Says which boxes there are, for extents that none has. A tile of `shape` consists of `number` of the chosen boxes.
    fn no_such_box(&self, extents: &[u32], (shape, bits): (&[i64], u32), number: i64) -> Vec<String> {
        let text = extents.iter().map(u32::to_string).collect::<Vec<_>>().join("×");
        let width = |mode: SwizzleMode| i64::from(mode.width_bytes()) * 8 / i64::from(bits.max(1));
        let widths: Vec<String> = SwizzleMode::ALL.map(|mode| width(mode).to_string()).to_vec();
        let limit = self.program().target.rows().map.r#box;
        let rule = format!(
            "  not `{text}`: a box has rows of {} elements of {bits} bits, as wide as its swizzle, or whole rows without one; along other dimensions it is as long as the tile, up to {limit}",
            widths.join(", ")
        );
        let size = extents.iter().try_fold(1_i64, |size, n| size.checked_mul(i64::from(*n)));
        let all: i64 = shape.iter().product();
        let boxes = size.filter(|size| *size > 0 && all % size == 0).map(|size| all / size);
        let boxes = boxes.map(|boxes| {
            format!("    boxes of {text} would be {boxes} copies of the same bytes instead of {number}")
        });
        std::iter::once(rule).chain(boxes).collect()
    }
}

/// The order in which the solver tries swizzles.
const WIDEST: &str = "of equal swizzles, the widest is kept";

/// Returns the shared tensor of a copy between global and shared memory, and the extents of its tile.
fn shared_of(op: &Op) -> Option<(TensorId, Vec<i64>)> {
    let (OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. }) = &op.kind else { return None };
    let view = [src, dst].into_iter().find(|view| matches!(view.base, Base::Shared(_)))?;
    Some((view.base.shared()?, view.shape()))
}

/// Returns the number of boxes of a tile.
fn count(shape: &[i64], bulk: &BulkChoice) -> i64 {
    let size: i64 = bulk.extents.iter().map(|extent| i64::from(*extent)).product();
    shape.iter().product::<i64>() / size.max(1)
}

fn boxes_text(bulk: &BulkChoice, number: i64) -> String {
    let extents: Vec<String> = bulk.extents.iter().map(u32::to_string).collect();
    let parts = if bulk.runs { ["run", "runs"] } else { ["box", "boxes"] };
    format!("{number} {} of {}", if number == 1 { parts[0] } else { parts[1] }, extents.join("×"))
}

/// Reports whether boxes have these extents, whatever their extents of 1 and the order of the others.
fn same_extents(bulk: &BulkChoice, wanted: &[u32]) -> bool {
    let sorted = |extents: &[u32]| {
        let mut own: Vec<u32> = extents.iter().copied().filter(|extent| *extent != 1).collect();
        own.sort_unstable();
        own
    };
    sorted(&bulk.extents) == sorted(wanted)
}
