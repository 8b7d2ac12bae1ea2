//! The shared memory of barriers and of sums over a cluster, behind all buffers.

use hx_tile::{BARRIER_BYTES, SUM_CHUNK, Solution, Sums, TensorId, TileProgram};

/// Adds the slots of sums over the cluster and then the barriers to the shared memory of a block.
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
