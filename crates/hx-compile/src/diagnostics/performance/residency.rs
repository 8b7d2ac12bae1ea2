//! Blocks that have a multiprocessor for themselves, where two are estimated to be faster.

use hx_base::{Diagnostic, codes};
use hx_index::Symbol;
use hx_lower::CtValue;
use hx_synth::{Solved, UNKNOWN_TRIPS, resident_blocks, wave_cycles};
use hx_tile::{Access, Op, OpKind, Region, TileProgram, View};

use super::Context;
use crate::diagnostics::repair;
use crate::unsolved::{OtherValue, halves, with_value};
use crate::{instance_errors, solved, tile_program};

/// Report only if a block with a neighbour is estimated to take this fraction of its time, or less. The estimate knows nothing of the
/// time that a block needs to begin, so small gains are none.
const WORTH: f64 = 0.75;

/// Returns a note at the kernel's name if one block fills a multiprocessor by its shared memory, and another value of a compile-time
/// parameter, with which two fit, lowers the estimate. The value changes no grid, so the work of a block is the same.
pub(super) fn low(context: &Context<'_>) -> Option<Diagnostic> {
    let (program, own) = (&context.lowered.program, context.solved);
    let by_shared = program.target.limits.residency(program.block_threads(), 1, own.solution.shared_bytes);
    if !program.roles().is_empty() || is_persistent(program) || by_shared.blocks != 1 {
        return None;
    }
    let now = of_a_block(own);
    let (value, then) = best(context, now)?;
    let (file, range) = context.places.kernel();
    let limits = program.target.limits();
    let message = "a multiprocessor holds one block of this kernel, and two would take less time";
    let found = Diagnostic::new(&codes::LOW_RESIDENCY, file, range, message).note(format!(
        "a block takes {} of the {} bytes of shared memory",
        own.solution.shared_bytes, limits.resident_shared_bytes
    ));
    let estimate = format!("estimated cycles a block {now:.0} → {then:.0}");
    Some(match repair::other_default(context.places, &value) {
        Some(mut fix) => {
            fix.title = format!("{}: {estimate}", fix.title);
            found.with_fix(fix)
        }
        None => found.help(format!("with `{} = {}` two fit: {estimate}", value.name, value.new)),
    })
}

/// Reports whether the grid follows the number of multiprocessors.
fn is_persistent(program: &TileProgram) -> bool {
    program.grid.iter().any(|axis| axis.blocks.symbols().contains(&Symbol::Multiprocessors))
}

/// Returns the estimated cycles of a multiprocessor for each block.
fn of_a_block(solved: &Solved) -> f64 {
    let blocks = f64::from(resident_blocks(&solved.program, &solved.solution));
    wave_cycles(&solved.program, &solved.solution) / blocks
}

/// Returns the cycles in which DRAM delivers a multiprocessor's share of the bytes that a block moves from and to global memory, if the
/// block reads them once. Operands of products are read again by other blocks and come from the cache, so for them it is 0.
fn streaming_cycles(solved: &Solved) -> f64 {
    let ops = solved.program.ops(UNKNOWN_TRIPS);
    if ops.iter().any(|(op, _)| matches!(op.kind, OpKind::Gemm { .. })) {
        return 0.0;
    }
    let program = &solved.program;
    let bytes = |view: &View| {
        let elements: i64 = view.shape().iter().product();
        let bits = program.base_dtype(view.base).map_or(0, |dtype| dtype.bits());
        elements as f64 * f64::from(bits) / 8.0
    };
    let of = |(op, trips): (&Op, f64)| {
        let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. }) =
            &op.kind
        else {
            return 0.0;
        };
        let global = [src, dst].into_iter().filter(|view| view.base.param().is_some());
        global.map(bytes).sum::<f64>() * trips
    };
    let costs = program.target.costs();
    ops.into_iter().map(of).sum::<f64>() * f64::from(costs.multiprocessors) / costs.dram_bytes
}

/// Reports whether a block of one program has the work of a block of the other: the same grid, and the same operations on tensors of
/// the same shapes in the same loops of unknown length. They may differ in the rounds of loops of known length, such as those that fill
/// the stages of a ring.
fn has_work_of(one: &TileProgram, other: &TileProgram) -> bool {
    let work = |program: &TileProgram| -> Vec<(&'static str, f64, Vec<Vec<i64>>)> {
        let of = |((op, trips), (_, twice)): ((&Op, f64), (&Op, f64))| {
            let shape = |access: &Access<'_>| match access.region {
                Region::View(view) => view.shape(),
                Region::Whole(base) => {
                    base.tensor().map_or_else(Vec::new, |id| program.tensor(id).shape.clone())
                }
                Region::Table(_) => Vec::new(),
            };
            let shapes = op.kind.description().accesses.iter().map(shape).collect();
            (op.kind.name(), twice / trips.max(1.0), shapes)
        };
        let longer = program.ops(2.0 * UNKNOWN_TRIPS);
        program.ops(UNKNOWN_TRIPS).into_iter().zip(longer).map(of).collect()
    };
    one.grid == other.grid && work(one) == work(other)
}

/// Returns the smaller value of one parameter with which two blocks fit and a block takes the fewest cycles, and these cycles; `None` if
/// no value lowers the estimate enough.
fn best(context: &Context<'_>, now: f64) -> Option<(OtherValue, f64)> {
    let (db, instance) = (context.places.db, context.places.instance);
    let floor = streaming_cycles(context.solved);
    let mut best: Option<(OtherValue, f64)> = None;
    for (name, value) in &context.lowered.sources.args {
        let CtValue::Int(old) = *value else { continue };
        for new in halves(old).chain([old - 1]).filter(|new| (1..old).contains(new)) {
            let other = with_value(db, instance, name, new);
            let Ok(lowered) = tile_program(db, other) else { continue };
            if !has_work_of(&lowered.program, &context.lowered.program) {
                continue;
            }
            let Ok(solved) = solved(db, other) else { continue };
            let cycles = of_a_block(solved).max(floor);
            // The code asks for as many blocks as the solution says: a kernel with products keeps its registers for one.
            let fits = solved.solution.resident_blocks > 1;
            let least = best.as_ref().map_or(now * WORTH, |(_, least)| *least);
            if fits && cycles < least && instance_errors(db, other).is_empty() {
                best = Some((OtherValue { name: name.clone(), old, new }, cycles));
            }
        }
    }
    best
}
