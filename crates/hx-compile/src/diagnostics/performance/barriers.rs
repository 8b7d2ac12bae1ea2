//! Reductions and scans whose warps meet in shared memory in every round of a loop.

use hx_base::{Diagnostic, codes};
use hx_tile::{Choice, Op, OpKind, ReduceChoice, ScanChoice, ScanLevel};

use super::Context;

/// Returns a note for each reduction and scan in a loop that has its axis dealt to several warps.
pub(super) fn in_loops(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for (op, trips) in context.ops() {
        let parts = match context.solved.solution.choices.get(&op.id) {
            Some(Choice::Reduce(choice)) => parts_of_reduction(choice),
            Some(Choice::Scan(choice)) => parts_of_scan(choice),
            _ => None,
        };
        let Some(parts) = parts.filter(|_| trips > 1.0 && context.shares.is_worth(op.id)) else { continue };
        let note = note(context, op, parts);
        found.extend(Some(note).filter(|note| !found.contains(note)));
    }
    found
}

/// Returns the number of groups of threads that meet in shared memory; `None` if none do.
fn parts_of_reduction(choice: &ReduceChoice) -> Option<i64> {
    Some(choice.across.as_ref()?.digits.iter().map(|(_, extent)| extent).product())
}

/// As [`parts_of_reduction`].
fn parts_of_scan(choice: &ScanChoice) -> Option<i64> {
    let across = choice.levels.iter().filter_map(|level| match level {
        ScanLevel::Across { extent, .. } => Some(*extent),
        ScanLevel::Values { .. } | ScanLevel::Lanes { .. } => None,
    });
    let all: Vec<i64> = across.collect();
    (!all.is_empty()).then(|| all.into_iter().product())
}

fn note(context: &Context<'_>, op: &Op, parts: i64) -> Diagnostic {
    let (file, range) = context.place(op);
    let name = op.kind.name();
    let message = format!("{parts} groups of threads meet in shared memory for this `{name}` in every round");
    let share = 100.0 * context.shares.share(op.id);
    let found = Diagnostic::new(&codes::BARRIER_IN_LOOP, file, range, message).note(format!(
        "each round waits at two barriers; it takes {share:.0}% of a block's estimated cycles"
    ));
    let help = match op.kind {
        OpKind::Scan { .. } => "fewer threads an axis, or a longer part of the axis in each thread, need no barrier",
        _ => {
            "if the rounds add up, let each thread carry its own part and reduce once behind the loop; if they do not, a warp for each row needs no barrier"
        }
    };
    context.called(op, found.help(help))
}
