//! Loads of loops with `pipelined` that the threads wait for in their own round.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, codes};
use hx_tile::OpKind;

use super::Context;

/// Returns a note for each load that is not made ahead, and for each that goes through registers.
pub(super) fn loads(context: &Context<'_>) -> Vec<Diagnostic> {
    let sources = &context.lowered.sources;
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for (op, _) in context.ops() {
        let OpKind::Copy { src, .. } = &op.kind else { continue };
        let (what, reason) = match (sources.late.get(&op.origin), sources.passed.get(&op.origin)) {
            (Some(reason), _) => ("is loaded in its own round", reason),
            (None, Some(reason)) => ("goes through registers", reason),
            (None, None) => continue,
        };
        if src.base.param().is_none() || !told.insert(op.origin) {
            continue;
        }
        let (file, range) = context.place(op);
        let name = context.lowered.program.base_name(src.base);
        let message = format!("`{name}` {what}, and the threads wait for it there");
        let note = Diagnostic::new(&codes::LATE_LOAD, file, range, message).note(reason.clone());
        found.push(context.called(op, note));
    }
    found
}
