//! Lower bounds on the cycles of operations, from the sizes of their tensors alone: no layout and no move of values makes an
//! operation cheaper. A route whose bound reaches the cost of a known solution needs no search.

use hx_target::{Space, Target};
use hx_tile::{Base, Op, OpKind, TensorId, TileProgram, View};

use crate::access::Transfer;
use crate::anchor::gemm::{Gemm, ceil_div};
use crate::anchor::tilings::tilings;
use crate::constraints::component::UNKNOWN_TRIPS;
use crate::cost;
use crate::search::pool::Pool;

/// Returns a lower bound on the cycles of any solution of a program, with any moves.
pub(crate) fn of_program(program: &TileProgram, pool: &Pool) -> f64 {
    let cycles = |(op, trips): (&Op, f64)| trips * (of_op(program, pool, op) + of_transfer(program, op));
    program.ops(UNKNOWN_TRIPS).into_iter().map(cycles).sum()
}

/// Returns the cycles that the copies between global and shared memory take at least in shared memory. No layout of a register
/// tensor changes them.
pub(crate) fn of_transfers(program: &TileProgram) -> f64 {
    program.ops(UNKNOWN_TRIPS).into_iter().map(|(op, trips)| trips * of_transfer(program, op)).sum()
}

/// Returns [`of_transfers`] for one execution of an operation.
fn of_transfer(program: &TileProgram, op: &Op) -> f64 {
    let (OpKind::CopyAsync { dst: view, .. } | OpKind::Store { src: view, .. }) = &op.kind else {
        return 0.0;
    };
    bytes(program, view) / f64::from(program.target.limits.wavefront_bytes())
}

/// Returns the bytes of the tile that a view shows of a shared tensor.
fn bytes(program: &TileProgram, view: &View) -> f64 {
    let Base::Shared(tensor) = view.base else { return 0.0 };
    let elements: i64 = view.shape().iter().product();
    f64::from(program.tensor(tensor).dtype.bits()) / 8.0 * elements as f64
}

/// Returns a lower bound on the cycles of one execution of an operation on register tensors.
fn of_op(program: &TileProgram, pool: &Pool, op: &Op) -> f64 {
    let target = program.target;
    let threads = program.threads_of(op);
    // The elements of a tensor that a thread holds at least.
    let values = |tensor: TensorId| ceil_div(program.tensor(tensor).size(), i64::from(threads.max(1)));
    if let Some(gemm) = Gemm::of(program, op) {
        // A product without an instruction is reported by the search.
        let Ok(tilings) = tilings(program, &gemm, pool, None) else { return 0.0 };
        let cycles = tilings.iter().map(|tiling| cost::gemm(target, tiling, threads));
        let least = cycles.fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    } else if let OpKind::Copy { .. } = &op.kind {
        let Some(transfer) = Transfer::of(op).filter(|t| t.shared().is_some()) else { return 0.0 };
        of_copy(program, &transfer, threads)
    } else if let OpKind::Cast { dst, src } = &op.kind {
        let types = [*src, *dst].map(|t| program.tensor(t).dtype);
        cost::cast_least(threads, types, values(*dst), target)
    } else if let OpKind::Map(map) = &op.kind {
        cost::map(target, threads, &map.value, values(map.dst))
    } else if let OpKind::Reduce { src, axis, .. } = &op.kind {
        of_reduction(target, threads, &program.tensor(*src).shape, *axis)
    } else {
        0.0
    }
}

/// Returns a lower bound on the cycles of a copy between registers and shared memory: every byte passes, and each thread issues
/// the instructions for its share.
fn of_copy(program: &TileProgram, transfer: &Transfer<'_>, threads: u32) -> f64 {
    let target = program.target;
    let tensor = program.tensor(transfer.register);
    let (from, to) = match transfer.is_load {
        true => (Space::Shared, Space::Register),
        false => (Space::Register, Space::Shared),
    };
    let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) / 8.0;
    let rows = target.rows().copies_between(from, to);
    let cycles = rows.filter_map(|row| {
        let of_instruction = i64::from(threads) * row.atom(tensor.dtype)?.values;
        Some(cost::shared_floor(target, threads, row, bytes, ceil_div(tensor.size(), of_instruction)))
    });
    let least = cycles.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Returns a lower bound on the cycles of a reduction along an axis. The more lanes share a row, the fewer values each holds, and
/// the more values they exchange. Warps that share a row meet in shared memory.
fn of_reduction(target: Target, threads: u32, shape: &[i64], axis: usize) -> f64 {
    let rows: i64 = shape.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, extent)| extent).product();
    let shared_by = |exchanges: usize| {
        let lanes = 1i64 << exchanges;
        let results = ceil_div(rows * lanes, i64::from(threads.max(1)));
        cost::reduce(target, threads, results * ceil_div(shape[axis], lanes), results, exchanges, None)
    };
    let evenly = |elements: i64| ceil_div(elements, i64::from(threads.max(1)));
    let meeting = cost::reduce(target, threads, evenly(rows * shape[axis]), evenly(rows), 0, Some(0.0));
    (0..=target.limits.lanes.ilog2()).map(|exchanges| shared_by(exchanges as usize)).fold(meeting, f64::min)
}
