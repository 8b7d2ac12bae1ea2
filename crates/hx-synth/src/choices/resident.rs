//! Decides how many blocks should run together on a multiprocessor.

use hx_tile::{Distribution, OpKind, Solution, TensorId, TileProgram};

/// Returns the number of blocks that should run together on a multiprocessor. A kernel without matrix products and roles
/// waits for memory if its tensors need few registers: it gets as many blocks as hide the wait, if shared memory has room for
/// them. Any other kernel gets 1. The source may say how many instead.
pub(crate) fn blocks(program: &TileProgram, solution: &Solution) -> u32 {
    if let Some(blocks) = program.blocks_per_sm {
        return blocks;
    }
    let multiplies = program.ops(1.0).iter().any(|(op, _)| matches!(op.kind, OpKind::Gemm { .. }));
    let words = |(tensor, held): (&TensorId, &Distribution)| {
        held.layout.mode(1).size() * i64::from(program.tensor(*tensor).dtype.bits()) / 32
    };
    let largest = solution.registers.iter().map(words).max().unwrap_or(0);
    if !program.roles().is_empty() || multiplies || largest > program.target.costs().memory_bound_words {
        return 1;
    }
    let wanted = program.target.costs().memory_bound_threads / program.block_threads();
    // Launch bounds above the blocks that fit by shared memory would only lower the limit of registers of a thread.
    let fit = program.target.limits.residency(program.block_threads(), 1, solution.shared_bytes);
    wanted.min(fit.blocks).max(1)
}
