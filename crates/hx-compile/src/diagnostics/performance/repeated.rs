//! Products that several groups of threads compute.

use hx_base::{Diagnostic, codes};
use hx_synth::{compared, with_warps};
use hx_tile::{Choice, GemmChoice, Op, OpKind, TileProgram};

use super::Context;
use crate::widths::solve;

/// Returns a note for each product that threads of its scope compute more than once.
pub(super) fn products(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (op, _) in context.ops() {
        let Some(Choice::Gemm(choice)) = context.solved.solution.choices.get(&op.id) else { continue };
        let times = repetitions(&context.lowered.program, op, choice);
        if times > 1 && context.shares.is_worth(op.id) {
            found.push(note(context, op, choice, times));
        }
    }
    found
}

/// Returns how many groups of threads compute each part of a product.
fn repetitions(program: &TileProgram, op: &Op, choice: &GemmChoice) -> i64 {
    let units = i64::from(program.scope(op.scope).threads) / i64::from(choice.row.threads);
    units / choice.arrangement.iter().product::<i64>().max(1)
}

/// Reports whether the instructions of all units compute rows or columns past the edges of the tile.
fn is_padded(program: &TileProgram, op: &Op, choice: &GemmChoice) -> bool {
    let OpKind::Gemm { c, .. } = &op.kind else { return false };
    let shape = &program.tensor(*c).shape;
    let row = choice.row.get();
    (0..2).any(|axis| choice.arrangement[axis] * choice.issues[axis] * row.shape[axis] > shape[axis])
}

fn note(context: &Context<'_>, op: &Op, choice: &GemmChoice, times: i64) -> Diagnostic {
    let program = &context.lowered.program;
    let scope = program.scope(op.scope);
    let (file, range) = context.place(op);
    let kind = scope.kind.name();
    let message = format!("the {kind} computes this product {times} times");
    let row = choice.row.get();
    let [m, n, _] = row.shape;
    let tile =
        if let OpKind::Gemm { c, .. } = &op.kind { program.tensor(*c).shape.clone() } else { Vec::new() };
    let extents = tile.iter().map(i64::to_string).collect::<Vec<_>>().join(" × ");
    let found = Diagnostic::new(&codes::REPEATED_WORK, file, range, message).note(format!(
        "`{}` computes {m} × {n} results by {} threads; the {} threads of the {kind} do not divide the {extents} results of this product",
        row.name, row.threads, scope.threads
    ));
    context.called(op, divided(context, op, choice, found))
}

/// Adds the arrangement of warps that divides the work, with its estimate, or else advice.
fn divided(context: &Context<'_>, op: &Op, choice: &GemmChoice, found: Diagnostic) -> Diagnostic {
    let program = &context.lowered.program;
    let now = compared(&context.solved.program, &context.solved.solution);
    let mut best: Option<([i64; 3], f64)> = None;
    for warps in arrangements(program, op, choice) {
        let Some(solved) = solve(context.places.db, &with_warps(program, op.id, warps)) else { continue };
        let is_divided = matches!(solved.solution.choices.get(&op.id),
            Some(Choice::Gemm(choice)) if repetitions(program, op, choice) == 1 && !is_padded(program, op, choice));
        let cycles = compared(&solved.program, &solved.solution);
        if is_divided && best.is_none_or(|(_, least)| cycles < least) {
            best = Some((warps, cycles));
        }
    }
    let (OpKind::Gemm { c, .. }, Some((warps, cycles))) = (&op.kind, best) else {
        let units = program.scope(op.scope).threads / choice.row.threads;
        return found.help(format!(
            "a tile whose rows or columns {units} groups of {} threads divide, or fewer threads, spares the repetition",
            choice.row.threads
        ));
    };
    let text = program.warps_text(*c, warps);
    let times = cycles / now;
    let text = format!("`warps: {text}` divides the work and takes {times:.2} times the estimated cycles");
    if times < 1.0 { found.help(text) } else { found.note(text) }
}

/// Returns the arrangements of all warps of a scope along M and N; none if the source has pinned them.
fn arrangements(program: &TileProgram, op: &Op, choice: &GemmChoice) -> Vec<[i64; 3]> {
    if matches!(op.kind, OpKind::Gemm { warps: Some(_), .. }) {
        return Vec::new();
    }
    let lanes = program.target.limits.lanes;
    let warps = i64::from(program.scope(op.scope).threads / lanes);
    let [m, n] = choice.row.get().warps(lanes);
    (1..=warps)
        .filter(|along| warps % along == 0)
        .map(|along| [along, warps / along, 1])
        .filter(|[along_m, along_n, _]| along_m % m == 0 && along_n % n == 0)
        .collect()
}
