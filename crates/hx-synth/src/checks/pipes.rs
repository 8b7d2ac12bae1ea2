//! Pipelines: whether the target has the barriers in shared memory on which they are built.

use hx_target::Feature;
use hx_tile::{OpKind, SyncOp, TileProgram};

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
            SyncOp::Acquire { pipe, .. }
            | SyncOp::Publish { pipe }
            | SyncOp::WaitStage { pipe, .. }
            | SyncOp::Skip { pipe, .. },
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
