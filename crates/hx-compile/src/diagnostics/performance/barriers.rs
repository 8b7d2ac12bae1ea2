//! Reductions and scans whose warps meet in shared memory in every round of a loop.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, codes};
use hx_dtype::Operator;
use hx_tile::{Choice, Op, OpKind, ReduceChoice, Scalar, ScanChoice, ScanLevel, TensorId, TileProgram};

use super::Context;

/// Returns a note for each reduction and scan in a loop that has its axis dealt to several warps.
pub(super) fn in_loops(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for (op, trips) in context.ops() {
        let parts = context.solved.solution.choices.get(&op.id).and_then(parts);
        let Some(parts) = parts.filter(|_| trips > 1.0 && context.shares.is_worth(op.id)) else { continue };
        let note = note(context, op, parts);
        found.extend(Some(note).filter(|note| !found.contains(note)));
    }
    found
}

/// Returns the number of groups of threads that meet in shared memory for an operation; `None` if none do.
fn parts(choice: &Choice) -> Option<i64> {
    if let Choice::Reduce(choice) = choice {
        return parts_of_reduction(choice);
    }
    if let Choice::Scan(choice) = choice { parts_of_scan(choice) } else { None }
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
        OpKind::Reduce { operator, .. } if operator.name().starts_with(char::is_alphabetic) => {
            operator.name()
        }
        other => other.name(),
    };
    let message = format!("{parts} groups of threads meet in shared memory for this `{name}` in every round");
    let share = 100.0 * context.shares.share(op.id);
    let found = Diagnostic::new(&codes::BARRIER_IN_LOOP, file, range, message).note(format!(
        "each round waits at two barriers; it takes {share:.0}% of a block's estimated cycles"
    ));
    let carries = |dst, operator| is_carried(&context.lowered.program, dst, operator);
    let help = if matches!(op.kind, OpKind::Reduce { dst, operator, .. } if carries(dst, operator)) {
        format!(
            "the loop carries a running `{name}`: each thread can carry that of its own elements, with one `{name}` behind the loop, where the other parts are rescaled if they depend on it"
        )
    } else {
        "each round needs its own result: a warp for each row, or fewer threads a block, need no barrier"
            .to_owned()
    };
    context.called(op, found.help(help))
}

/// Reports whether the result of a reduction is combined with a tensor by the operator of the reduction itself, as a running sum or
/// maximum is: the parts of threads then combine as well as those of rounds.
fn is_carried(program: &TileProgram, result: TensorId, operator: Operator) -> bool {
    let mut names = BTreeSet::from([result]);
    for (op, _) in program.ops(1.0) {
        if let OpKind::Slice { dst, src } = &op.kind
            && src.base.register().is_some_and(|src| names.contains(&src))
        {
            names.insert(*dst);
        }
        let OpKind::Map(map) = &op.kind else { continue };
        let Scalar::Apply { operator: own, args, .. } = &map.value else { continue };
        let is_result = |arg: &Scalar| matches!(arg, Scalar::Input { index, .. } if names.contains(&map.inputs[*index as usize]));
        if *own == operator && args.len() == 2 && args.iter().filter(|arg| is_result(arg)).count() == 1 {
            return true;
        }
    }
    false
}
