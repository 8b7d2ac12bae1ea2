//! Loops whose threads wait for the loads of every round, where a ring would have the tiles there.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};
use hx_lower::OFFERED_STAGES;
use hx_tile::Choice;

use super::Context;
use crate::stages::offered;

/// Returns a note for each loop whose loads feed products alone, if the kernel has a solution with a ring for all of them. No estimate
/// decides: the model does not know how far the blocks of a multiprocessor hide the waits of each other.
pub(super) fn loops(context: &Context<'_>) -> Vec<Diagnostic> {
    let (db, instance) = (context.places.db, context.places.instance);
    let Some(offer) = offered(db, instance) else { return Vec::new() };
    let Some(solved) = &offer.solved else { return Vec::new() };
    // Without matrix instructions the products bound the loop: the clocked simulator finds it slower with a ring.
    let is_scalar = |choice: &Choice| choice.gemm().is_some_and(|gemm| gemm.row.threads == 1);
    if solved.solution.choices.values().any(is_scalar) {
        return Vec::new();
    }
    let message = "each round of this loop waits for its loads";
    let shared = [context.solved, solved].map(|solved| solved.solution.shared_bytes);
    let cost = format!("a block takes {} B of shared memory for it instead of {} B", shared[1], shared[0]);
    let note = |(file, range): (hx_base::SourceFile, TextRange)| {
        let end = TextRange::empty(range.end());
        let edit = Edit { file, range: end, text: format!(" pipelined({OFFERED_STAGES})") };
        let title = "let the loop read ahead".to_owned();
        let fix = Fix { title, edits: vec![edit], applicability: Applicability::Verified };
        let found = Diagnostic::new(&codes::WAITING_LOOP, file, range, message).with_fix(fix);
        let ahead = OFFERED_STAGES - 1;
        let ring = format!("a ring of {OFFERED_STAGES} stages has the tiles of the next {ahead} rounds");
        found.note(ring).note(cost.clone())
    };
    offer.lowered.sources.offered.iter().filter_map(|place| place.range(db)).map(note).collect()
}
