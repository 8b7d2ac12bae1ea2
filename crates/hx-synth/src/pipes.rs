//! Pipelines: whether the target has the barriers in shared memory on which they are built, and the memory of the barriers.

use hx_target::Feature;
use hx_tile::{BARRIER_BYTES, OpKind, SUM_CHUNK, Solution, Sums, SyncOp, TensorId, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Checks that the target has the instructions of pipelines, if the program has a pipeline.
///
/// # Errors
/// `NoInstruction` at the first operation of a pipeline.
pub(crate) fn check(program: &TileProgram) -> Result<(), Failure> {
    let target = program.target;
    if program.pipes.is_empty() || target.has(Feature::Barriers) {
        return Ok(());
    }
    let ops = program.ops(1.0);
    let of_pipe = |kind: &OpKind| {
        if let OpKind::Sync(
            SyncOp::Acquire { pipe, .. } | SyncOp::WaitStage { pipe, .. } | SyncOp::Skip { pipe, .. },
        ) = kind
        {
            Some(*pipe)
        } else if let OpKind::CopyAsync { signal, .. } = kind {
            *signal
        } else {
            None
        }
    };
    let Some((op, pipe)) = ops.iter().find_map(|(op, _)| Some((op, of_pipe(&op.kind)?))) else {
        return Ok(());
    };
    let name = &program.pipe(pipe).name;
    let message = format!("{target} has no barriers in shared memory that copies signal, as `{name}` needs");
    let failure = Failure::new(FailureKind::NoInstruction, message).at(op.id);
    let failure = failure.or_later(target, |target| target.has(Feature::Barriers));
    Err(failure.help("`copy_async` without `signal:`, `commit` and `wait` work on every target"))
}

/// Adds the slots of sums over the cluster and then the barriers to the shared memory of a block. They lie behind all buffers.
/// `values` tells how many elements of a register tensor a thread holds.
pub(crate) fn place(program: &TileProgram, values: &dyn Fn(TensorId) -> i64, solution: &mut Solution) {
    let slots: u32 = program.sums(values).iter().map(Sums::bytes).sum();
    if slots > 0 {
        solution.shared_bytes = solution.shared_bytes.next_multiple_of(SUM_CHUNK) + slots;
    }
    let bytes = program.barrier_bytes();
    if bytes > 0 {
        solution.shared_bytes = solution.shared_bytes.next_multiple_of(BARRIER_BYTES) + bytes;
    }
}
