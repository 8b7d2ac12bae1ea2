//! Reductions and scans whose warps meet in shared memory in every round of a loop.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, codes};
use hx_dtype::Operator;
use hx_tile::{Access, Choice, Mode, Op, OpKind, ReduceChoice, ScanChoice, ScanLevel, TensorId, TileProgram};

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
    let name = match &op.kind {
        OpKind::Reduce { operator: Operator::Add, .. } => "sum",
        OpKind::Reduce { operator, .. } if operator.name().starts_with(char::is_alphabetic) => operator.name(),
        other => other.name(),
    };
    let message = format!("{parts} groups of threads meet in shared memory for this `{name}` in every round");
    let share = 100.0 * context.shares.share(op.id);
    let found = Diagnostic::new(&codes::BARRIER_IN_LOOP, file, range, message).note(format!(
        "each round waits at two barriers; it takes {share:.0}% of a block's estimated cycles"
    ));
    let help = match op.kind {
        OpKind::Reduce { dst, .. } if is_carried(&context.lowered.program, dst) => {
            format!("the loop carries the result: each thread can carry its own part, with one `{name}` behind the loop")
        }
        _ => "each round needs its own result: a warp for each row, or fewer threads a block, need no barrier".to_owned(),
    };
    context.called(op, found.help(help))
}

/// Reports whether a loop combines the result of a reduction with a tensor of the same size that it carries from round to round: one
/// that is computed from itself.
fn is_carried(program: &TileProgram, result: TensorId) -> bool {
    let size = program.tensor(result).size();
    let mut from = BTreeSet::from([result]);
    loop {
        let before = from.len();
        for (op, _) in program.ops(1.0) {
            let accesses = op.kind.description().accesses;
            let of = |picks: fn(Mode) -> bool| -> Vec<TensorId> {
                accesses.iter().filter(|access| picks(access.mode)).filter_map(Access::register).collect()
            };
            let (read, written) = (of(Mode::reads), of(Mode::writes));
            if !read.iter().any(|input| from.contains(input)) {
                continue;
            }
            let written: Vec<TensorId> =
                written.into_iter().filter(|dst| program.tensor(*dst).size() == size).collect();
            if written.iter().any(|dst| *dst != result && read.contains(dst) && !from.contains(dst)) {
                return true;
            }
            from.extend(written);
        }
        if from.len() == before {
            return false;
        }
    }
}
