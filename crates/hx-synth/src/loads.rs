//! The first decision about a program: how operands of products that lie in shared memory reach their instruction.

use hx_tile::{Edits, Load, OpKind, TileProgram};

/// Returns the loads of operands that the solver adds to a program: one for each operand in shared memory, because every
/// matrix instruction of the catalogue reads registers. Failures, conflicts and constraints are those of the program with
/// these loads, see [`Edits::loaded`].
pub fn loads(program: &TileProgram) -> Edits {
    let mut loads = Vec::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Gemm { a, b, .. } = &op.kind else { continue };
        let staged = [a, b].into_iter().enumerate().filter(|(_, operand)| operand.view.register().is_none());
        loads.extend(staged.map(|(operand, _)| Load { gemm: op.id, operand }));
    }
    Edits { loads, ..Edits::default() }
}
