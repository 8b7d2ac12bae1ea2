//! Products that do not use the best matrix instruction of the target.

use hx_base::{Diagnostic, codes};
use hx_dtype::DType;
use hx_lower::CtValue;
use hx_synth::{Rule, Solved, compared, nearest};
use hx_target::GemmRow;
use hx_tile::{Choice, GemmChoice, Op, OpId, OpKind, TileProgram};

use super::Context;
use crate::crowded::crowded;
use crate::diagnostics::repair;
use crate::unsolved::{OtherValue, with_value};
use crate::why_not::parameter_of;
use crate::{instance_errors, solved, tile_program};

/// Report only if the better instruction takes this fraction of the present time, or less, rows and columns that it computes beyond
/// the tile counted.
const WORTH: f64 = 0.75;

/// The most that whole instructions may compute, relative to the results of the tile.
const FILLED: f64 = 2.0;

/// An estimate at or below this fraction of another one is clearly better.
const CLEARLY: f64 = 0.9;

/// The largest value of a compile-time parameter that is tried.
const MOST: i64 = 512;

/// Returns a note for each product that a rule keeps from the best class of instructions of the target: those that read operands by
/// descriptor if the target has them, or else the matrix instructions.
pub(super) fn slow(context: &Context<'_>) -> Vec<Diagnostic> {
    // The rules are about the program before loads of operands.
    let Ok(source) = tile_program(context.places.db, context.places.instance) else { return Vec::new() };
    let program = &source.program;
    let mut found: Vec<Diagnostic> = Vec::new();
    for (op, trips) in context.ops() {
        let Some(Choice::Gemm(choice)) = context.solved.solution.choices.get(&op.id) else { continue };
        let Some(own) = program.op(op.id).filter(|_| context.shares.is_worth(op.id)) else { continue };
        // An author who names the instruction of a product has chosen it.
        if program.pins.contains_key(&op.id) {
            continue;
        }
        // A product that no matrix instruction fits has a note of its own.
        let is_best = |row: &GemmRow| row.class() > choice.row.get().class();
        if !hx_synth::unfit_matrix_instructions(program, own).is_empty() || trips < 1.0 {
            continue;
        }
        let Some((row, rules)) = nearest(program, own, &is_best) else { continue };
        // Types that have a matrix instruction of their own are meant.
        let is_other = rules.iter().any(|rule| matches!(rule, Rule::Types { .. }))
            && choice.row.threads >= program.target.limits.lanes;
        if rules.is_empty() || is_other || !are_changed(&rules) || !is_faster(context, own, row) {
            continue;
        }
        let note = note(context, own, choice, row, &rules);
        found.extend(note.filter(|note| !found.contains(note)));
    }
    found
}

/// Reports whether a change of the source can do away with rules: not with those about the form of the computation itself.
fn are_changed(rules: &[Rule]) -> bool {
    let is_cut = rules.iter().any(|rule| matches!(rule, Rule::Extent { .. }));
    !rules.iter().any(|rule| match rule {
        Rule::Batch { .. } | Rule::Accumulator { .. } | Rule::Registers { .. } => true,
        // An extent may be what the form lacks.
        Rule::Form { .. } => !is_cut,
        Rule::Types { .. }
        | Rule::Threads { .. }
        | Rule::Extent { .. }
        | Rule::Warps { .. }
        | Rule::InRegisters { .. }
        | Rule::Contiguous { .. } => false,
    })
}

/// Reports whether an instruction would take clearly less time than the present one and the loads of its operands do, for the tile of a
/// product enlarged to whole instructions.
fn is_faster(context: &Context<'_>, op: &Op, row: &GemmRow) -> bool {
    let OpKind::Gemm { c, a, .. } = &op.kind else { return false };
    let shape = &context.lowered.program.tensor(*c).shape;
    let [Some(m), Some(n), Some(k)] =
        [shape.first().copied(), shape.get(1).copied(), a.view.modes.get(1).map(|mode| mode.extent)]
    else {
        return false;
    };
    let of = |extent: i64, step: i64| ((extent + step - 1) / step) as f64;
    let batch = shape.get(2).copied().unwrap_or(1) as f64;
    let tiles = [of(m, row.shape[0]), of(n, row.shape[1])];
    if tiles[0] * tiles[1] * (row.shape[0] * row.shape[1]) as f64 > FILLED * (m * n) as f64 {
        return false;
    }
    let count = tiles[0] * tiles[1] * of(k, row.shape[2]) * batch;
    let units = f64::from(context.lowered.program.target.limits.partitions);
    // An instruction of one warp occupies the matrix unit of a quarter of the multiprocessor, one by descriptor all four.
    let then = count * row.issue / if row.is_by_descriptor() { 1.0 } else { units };
    let costs = &context.solved.solution.costs;
    let threads = |id: &OpId| costs.get(id).map_or(0.0, |cost| cost.threads);
    // The better instruction reads operands in shared memory itself, so their loads are part of the present time.
    let loads: f64 = operand_loads(context, op).iter().map(threads).sum();
    then <= (threads(&op.id) + loads) * WORTH
}

/// Returns the loads from shared memory that only fill the operands of a product.
fn operand_loads(context: &Context<'_>, op: &Op) -> Vec<OpId> {
    let program = &context.lowered.program;
    let Some(OpKind::Gemm { a, b, .. }) = program.op(op.id).map(|op| &op.kind) else { return Vec::new() };
    let operands: Vec<_> = [a, b].into_iter().filter_map(|operand| operand.view.base.register()).collect();
    let is_load = |op: &Op| {
        let OpKind::Copy { src, dst } = &op.kind else { return false };
        src.base.shared().is_some() && dst.register().is_some_and(|tensor| operands.contains(&tensor))
    };
    program.ops(1.0).into_iter().filter(|(op, _)| is_load(op)).map(|(op, _)| op.id).collect()
}

/// Returns the note; `None` if other values of the parameters that break the rules were solved, and none of them is better.
fn note(
    context: &Context<'_>,
    op: &Op,
    choice: &GemmChoice,
    row: &GemmRow,
    rules: &[Rule],
) -> Option<Diagnostic> {
    let (file, range) = context.place(op);
    let message = format!("this product runs on `{}`, not on `{}`", choice.row, row.name);
    let named = |extent: i64| parameter_of(context.lowered, extent);
    let found = Diagnostic::new(&codes::SLOW_PRODUCT, file, range, message);
    let found = rules.iter().fold(found, |found, rule| found.note(rule.text(&named)));
    Some(context.called(op, changed(context, op, rules, found)?))
}

/// Adds a change that brings the better instruction: a value of a parameter that was solved, or advice by the rules. `None` if only
/// extents are in the way that are parameters, and no other value is better.
fn changed(context: &Context<'_>, op: &Op, rules: &[Rule], found: Diagnostic) -> Option<Diagnostic> {
    let args = &context.lowered.sources.args;
    let is_parameter = |rule: &Rule| matches!(rule, Rule::Extent { found, .. } if args.values().any(|value| *value == CtValue::Int(*found)));
    if rules.iter().any(is_parameter) {
        let (value, times) = other_extent(context, op, rules)?;
        let estimate = format!("{times:.2} of the estimated cycles for as much work");
        return Some(match repair::other_default(context.places, &value) {
            Some(mut fix) => {
                fix.title = format!("{}: {estimate}", fix.title);
                found.with_fix(fix)
            }
            None => found.help(format!("`{} = {}` takes {estimate}", value.name, value.new)),
        });
    }
    Some(rules.iter().filter_map(advice).fold(found, Diagnostic::help))
}

/// Returns the change that a rule asks for, as far as one can say it without the program.
fn advice(rule: &Rule) -> Option<String> {
    Some(match rule {
        Rule::Types { wanted, found: [_, _, sum] } => {
            let fitting = || wanted.iter().filter(|[a, b, c]| a == b && c == sum).map(|[a, ..]| *a);
            let nearest = fitting().max_by_key(|dtype| (*dtype == DType::Tf32, dtype.bits()))?;
            format!("operands of `{nearest}`, which are `cast` before they are copied to shared memory")
        }
        Rule::Accumulator { .. } | Rule::Form { .. } | Rule::Registers { .. } | Rule::Batch { .. } => {
            return None;
        }
        Rule::Threads { together, .. } => format!("a multiple of {together} threads"),
        Rule::Extent { step, found, .. } => {
            format!(
                "a tile of {} instead of {found}: elements past the edges are zeros",
                (found + step - 1) / step * step
            )
        }
        Rule::Warps { .. } => "leave `warps:` to the compiler".to_owned(),
        Rule::InRegisters { tensor, .. } => {
            format!("copy `{tensor}` to a `shared_tensor` first, and multiply by that")
        }
        Rule::Contiguous { tensor, .. } => {
            format!("let the global tensor of `{tensor}` be contiguous along K: `[n, k]` instead of `[k, n]`")
        }
    })
}

/// Returns the value of a compile-time parameter, multiples of an instruction's step tried, with which no rule is left and the estimate
/// for as much work is the lowest, and that estimate relative to the present one; `None` if none lowers it.
fn other_extent(context: &Context<'_>, op: &Op, rules: &[Rule]) -> Option<(OtherValue, f64)> {
    let (db, instance) = (context.places.db, context.places.instance);
    let steps: Vec<(i64, i64)> = rules
        .iter()
        .filter_map(|rule| match rule {
            Rule::Extent { found, step, .. } => Some((*found, *step)),
            _ => None,
        })
        .collect();
    let now = for_work(context.solved, &context.lowered.program, op)?;
    let mut best: Option<(OtherValue, f64)> = None;
    for (name, value) in &context.lowered.sources.args {
        let CtValue::Int(old) = *value else { continue };
        let Some((_, step)) = steps.iter().find(|(found, _)| *found == old) else { continue };
        for new in sizes(old, *step) {
            let other = with_value(db, instance, name, new);
            let (Ok(lowered), Ok(solved)) = (tile_program(db, other), solved(db, other)) else { continue };
            let row = |solved: &Solved| Some(solved.solution.choices.get(&op.id)?.gemm()?.row.get());
            let is_better_row =
                row(solved).zip(row(context.solved)).is_some_and(|(new, old)| new.class() > old.class());
            let works = is_better_row && crowded(solved).is_none() && instance_errors(db, other).is_empty();
            let Some(then) = for_work(solved, &lowered.program, op).filter(|_| works) else { continue };
            let times = then / now;
            // The nearest value wins unless another one is clearly better.
            if times < best.as_ref().map_or(1.0, |(_, least)| *least * CLEARLY) {
                best = Some((OtherValue { name: name.clone(), old, new }, times));
            }
        }
    }
    best
}

/// Returns the extents to try instead of one that is no multiple of an instruction's: the nearest multiples, and the powers of two up to
/// four times as large, nearest first.
fn sizes(old: i64, step: i64) -> Vec<i64> {
    let powers = (0..=MOST.ilog2()).map(|bit| 1i64 << bit).filter(|power| *power <= 4 * old);
    let mut sizes: Vec<i64> = powers.chain([old / step * step, (old + step - 1) / step * step]).collect();
    sizes.retain(|new| new % step == 0 && (old / 2..=MOST).contains(new) && *new > 0 && *new != old);
    sizes.sort_by_key(|new| ((new - old).abs(), *new));
    sizes.dedup();
    sizes
}

/// Returns the estimated cycles of a program for each multiplication of one of its products; `None` if it lacks the product.
fn for_work(solved: &Solved, program: &TileProgram, op: &Op) -> Option<f64> {
    let OpKind::Gemm { c, a, .. } = &program.op(op.id)?.kind else { return None };
    let work: i64 = program.tensor(*c).shape.iter().product::<i64>() * a.view.modes.get(1)?.extent;
    Some(compared(&solved.program, &solved.solution) / work as f64)
}
