//! Loops whose threads wait for the loads of every round, where a ring would have the tiles there.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};
use hx_tile::Choice;

use super::Context;
use crate::stages::offered;

/// Returns a note for each loop whose loads feed products alone, if the kernel has a solution with `pipelined(3)` on all of them. No estimate
/// decides: the model does not know how far the blocks of a multiprocessor hide the waits of each other.
pub(super) fn loops(context: &Context<'_>) -> Vec<Diagnostic> {
    let (db, instance) = (context.places.db, context.places.instance);
    let Some(offer) = offered(db, instance) else { return Vec::new() };
    let Some(solved) = &offer.solved else { return Vec::new() };
    // A product without matrix instructions takes so long that a ring saves nothing.
    let is_scalar = |choice: &Choice| choice.gemm().is_some_and(|gemm| gemm.row.threads == 1);
    if solved.solution.choices.values().any(is_scalar) {
        return Vec::new();
    }
    let message = "each round of this loop waits for its loads";
    let shared = [context.solved, solved].map(|solved| solved.solution.shared_bytes);
    let cost = format!("a block takes {} B of shared memory for it instead of {} B", shared[1], shared[0]);
    let note = |(file, range): (hx_base::SourceFile, TextRange)| {
        let end = TextRange::empty(range.end());
        let edit = Edit { file, range: end, text: " pipelined(3)".to_owned() };
        let title = "let the loop read ahead".to_owned();
        let fix = Fix { title, edits: vec![edit], applicability: Applicability::Verified };
        let found = Diagnostic::new(&codes::WAITING_LOOP, file, range, message).with_fix(fix);
        found.note("a ring of 3 stages has the tiles of the next two rounds").note(cost.clone())
    };
    offer.lowered.sources.offered.iter().filter_map(|place| place.range(db)).map(note).collect()
}
