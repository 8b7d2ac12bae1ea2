//! Rejects operations on tensors of other threads. Every component of a program without them belongs to one scope, so it is
//! solved for the threads of that scope.

use hx_tile::{Op, TensorId, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Rejects a program with an operation on a register tensor of another scope than its own, or on a shared tensor of a scope
/// that does not contain its own.
///
/// # Errors
/// `Conflict` at the first such operation.
pub(crate) fn check(program: &TileProgram) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        if let Some(tensor) = op.kind.tensors().into_iter().find(|tensor| !reaches(program, op, *tensor)) {
            let info = program.tensor(tensor);
            let [own, other] = [op.scope, info.scope].map(|scope| program.scope(scope));
            let message = format!(
                "found `{}` in an operation of the {own}, and the tensor belongs to the {other}",
                info.name
            );
            let failure = Failure::new(FailureKind::Conflict, message).at(op.id);
            return Err(failure.part(None, Some(tensor), "made here"));
        }
    }
    Ok(())
}

fn reaches(program: &TileProgram, op: &Op, tensor: TensorId) -> bool {
    let info = program.tensor(tensor);
    if info.is_register() {
        return info.scope == op.scope;
    }
    program.scope(info.scope).contains(program.scope(op.scope))
}
