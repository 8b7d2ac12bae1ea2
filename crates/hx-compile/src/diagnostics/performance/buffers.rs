//! Reports accesses to shared memory that fall back to single elements because other accesses to the same buffer demand
//! another layout.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, codes};
use hx_synth::{Second, second_buffer};
use hx_tile::{OpId, SharedLayout, TensorId};

use super::Context;
use crate::{Db, Instance, solved, tile_program};

/// Bytes of a bank. A narrower access wastes a part of every wavefront.
const WORD: u32 = 4;

/// Returns a note for each buffer with such accesses, if a second buffer is cheaper or if no access to the buffer is wider, and the
/// accesses that the notes name.
pub(super) fn single_elements(context: &Context<'_>) -> (Vec<Diagnostic>, BTreeSet<OpId>) {
    let Context { places, lowered, solved, .. } = context;
    let solution = &solved.solution;
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for (tensor, layout) in &solution.shared {
        let bytes = |op: &OpId| Some(solution.choices.get(op)?.copy()?.bytes);
        let is_narrow = |op: &&OpId| bytes(op).is_some_and(|bytes| bytes < WORD);
        let SharedLayout { narrowed, reason, .. } = layout;
        let narrow: Vec<OpId> = narrowed.iter().filter(is_narrow).copied().collect();
        if narrow.is_empty() || lowered.program.tensors.len() <= tensor.0 as usize {
            continue;
        }
        let second = second_of(places.db, places.instance, *tensor);
        let all = reason.from.iter().all(|op| is_narrow(&op));
        if second.is_none() && !all {
            continue;
        }
        let name = &lowered.program.tensor(*tensor).name;
        let (file, range) = places.tensor(lowered, *tensor).unwrap_or_else(|| places.kernel());
        let (count, of) = (narrow.len(), reason.from.len());
        let message = format!(
            "{count} of the {of} accesses to `{name}` move{} single elements: no layout lets all of them be wide",
            if count == 1 { "s" } else { "" }
        );
        let mut note = Diagnostic::new(&codes::NARROW_ACCESS, file, range, message);
        told.extend(narrow.iter().copied());
        for op in narrow {
            if let Some((file, range)) = places.op(lowered, op) {
                let bytes = bytes(&op).unwrap_or_default();
                note = note.also(
                    file,
                    range,
                    format!("{bytes} B an access: it would be wider without the others"),
                );
            }
        }
        found.push(match second {
            Some(second) => note.help(format!(
                "a second shared tensor, with the same writes as `{name}`, for what is read here takes {:.0} of the {:.0} cycles that a block is estimated to take",
                second.cost, solution.cost
            )),
            None => note.help("a second shared tensor with the same writes was tried and takes no fewer cycles"),
        });
    }
    (found, told)
}

/// Returns the second buffer that makes an instance cheaper; `None` if there is none, or the instance has no solution.
#[salsa::tracked(returns(ref))]
fn second_of<'db>(db: &'db dyn Db, instance: Instance<'db>, tensor: TensorId) -> Option<Second> {
    let (Ok(lowered), Ok(found)) = (tile_program(db, instance), solved(db, instance)) else {
        return None;
    };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    second_buffer(&lowered.program, found, tensor, &poll)
}
