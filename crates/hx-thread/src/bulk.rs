//! Bulk copies: one thread moves a whole box or run between global and shared memory.
//!
//! A box is a part of a [`TensorMap`], which describes a tensor of global memory. In shared memory the elements of a box lie
//! one after the other, the first dimension fastest, under the swizzle of the map. Elements outside of the tensor are zero
//! when they are read, and are not written. A run has no map: its elements lie one after the other on both sides, and all of them
//! are inside of the tensor.

use hx_index::{Cond, Expr};
use hx_target::{BulkRow, Cache, PrefetchRow, Row};

use crate::Address;

/// A tensor of global memory as bulk copies see it. The launch encodes it, and the kernel takes it after the symbols. Its
/// parameter is a position in [`crate::ThreadProgram::params`].
pub type TensorMap = hx_tensor_map::TensorMap<Expr>;

/// The elements of global memory that a bulk copy moves. No expression depends on the thread.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    Box {
        /// Position in [`crate::ThreadProgram::maps`].
        map: u32,
        /// The coordinates of the first element of the box, in the order of the map's dimensions. They may be outside of the
        /// tensor.
        coordinates: Vec<Expr>,
    },
    Run {
        first: Address,
        elements: u32,
    },
}

/// A bulk copy from global to shared memory. One thread of the scope executes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bulk {
    pub row: Row<BulkRow>,
    pub from: Part,
    /// The first element in shared memory. It does not depend on the thread.
    pub address: Address,
    /// The barrier that counts the bytes, a position in [`crate::ThreadProgram::barriers`], and its stage.
    pub barrier: (u32, Expr),
    /// The ranks, in the cluster, of the blocks that get the elements; none for the executing block alone. Each gets them at the same
    /// address of its shared memory, and its own barrier counts the bytes.
    pub blocks: Vec<Expr>,
    /// The hint for the L2 cache.
    pub cache: Cache,
}

/// A fetch of elements of global memory into the L2 cache. It changes nothing that a thread can read.
#[derive(Clone, PartialEq, Debug)]
pub struct Prefetch {
    pub row: Row<PrefetchRow>,
    pub of: Fetched,
}

/// The elements that a prefetch fetches.
#[derive(Clone, PartialEq, Debug)]
pub enum Fetched {
    /// One thread of the scope fetches a box: a position in [`crate::ThreadProgram::maps`], and the coordinates of its first element.
    Box { map: u32, coordinates: Vec<Expr> },
    /// Each thread whose guard holds fetches the line of an element.
    Line { address: Address, guard: Cond },
}

/// A bulk copy from shared to global memory. One thread of the scope executes it, always the same. It joins the thread's
/// current group of bulk copies.
#[derive(Clone, PartialEq, Debug)]
pub struct BulkStore {
    pub row: Row<BulkRow>,
    pub to: Part,
    /// The first element in shared memory. It does not depend on the thread.
    pub address: Address,
    /// The hint for the L2 cache.
    pub cache: Cache,
}
