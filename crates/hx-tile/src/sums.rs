//! Sums over the blocks of a cluster: the shared memory through which blocks send each other their elements.
//!
//! All blocks run the same program, so the threads with the same number hold the same elements in all of them. A thread sends its
//! registers to the thread with its number in another block, 16 bytes at a time, and no layout has to fit another one.
//!
//! The sums of one scope along one axis and of one element type share their memory. A block has a slot in it for every other block
//! along the axis, and two barriers: *full* counts the bytes that arrive in the slots of this block, and *empty* of each block
//! along the axis tells that its threads have read their slots, so that they can be filled again.

use hx_dtype::DType;

use crate::{BARRIER_BYTES, Op, OpKind, ScopeId, TensorId, TileProgram};

/// The bytes that a thread sends at once.
pub const SUM_CHUNK: u32 = 16;

/// The most bytes of the slots of a scope. A tensor that needs more is summed in several rounds.
const MOST_BYTES: u32 = 64 << 10;

/// The sums of a scope that share memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sums {
    pub scope: ScopeId,
    pub axis: u8,
    pub dtype: DType,
    /// The number of blocks along the axis, at least 2.
    pub blocks: u32,
    /// The number of groups of the scope. Each has slots and barriers of its own.
    pub groups: u32,
    /// The threads of a group.
    pub threads: u32,
    /// The chunks of each thread that a slot holds.
    pub chunks: u32,
}

impl Sums {
    /// Returns the number of elements of a chunk.
    pub fn per_chunk(&self) -> u32 {
        SUM_CHUNK * 8 / self.dtype.bits()
    }

    /// Returns the bytes of a slot.
    pub fn slot_bytes(&self) -> u32 {
        self.chunks * self.threads * SUM_CHUNK
    }

    /// Returns the bytes of the slots of all groups.
    pub fn bytes(&self) -> u32 {
        self.groups * (self.blocks - 1) * self.slot_bytes()
    }

    /// Returns the number of *empty* barriers: one for each block along the axis and each group.
    pub fn empties(&self) -> u32 {
        self.groups * self.blocks
    }

    /// Reports whether an operation is one of these sums.
    pub fn includes(&self, program: &TileProgram, op: &Op) -> bool {
        let OpKind::ClusterSum { x, axis, .. } = op.kind else { return false };
        (op.scope, axis, program.tensor(x).dtype) == (self.scope, self.axis, self.dtype)
    }
}

impl TileProgram {
    /// Returns the sums over blocks of the cluster. Sums that share memory are one entry. `values` returns the number of
    /// elements of a register tensor that a thread holds.
    pub fn sums(&self, values: &dyn Fn(TensorId) -> i64) -> Vec<Sums> {
        let mut out: Vec<Sums> = Vec::new();
        for (op, _) in self.ops(1.0) {
            let OpKind::ClusterSum { x, axis, .. } = op.kind else { continue };
            let dtype = self.tensor(x).dtype;
            let scope = self.scope(op.scope);
            let (blocks, groups, threads) = (self.blocks_along(axis), scope.groups, scope.threads);
            let bits = values(x).max(1) * i64::from(dtype.bits());
            let wanted = (bits as u32).div_ceil(SUM_CHUNK * 8);
            let most = MOST_BYTES / (SUM_CHUNK * threads * groups * (blocks - 1).max(1));
            let chunks = wanted.min(most.max(1));
            match out.iter_mut().find(|sums| sums.includes(self, op)) {
                Some(sums) => sums.chunks = sums.chunks.max(chunks),
                None => out.push(Sums { scope: op.scope, axis, dtype, blocks, groups, threads, chunks }),
            }
        }
        out
    }

    /// Returns the bytes of the barriers of all sums.
    pub fn sum_barrier_bytes(&self) -> u32 {
        let barriers = |sums: &Sums| BARRIER_BYTES * (sums.groups + sums.empties());
        self.sums(&|_| 1).iter().map(barriers).sum()
    }
}
