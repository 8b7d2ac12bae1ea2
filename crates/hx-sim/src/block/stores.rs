//! The bulk stores of an agent that are in flight.

use std::collections::VecDeque;

use hx_target::AsynchronousAccess;

use crate::code::SiteId;

/// The stores of an agent: those of the open group, and those of closed groups that are in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stores {
    pub(crate) open: Vec<Issued>,
    /// The oldest first. The first `read` of them have read shared memory.
    pub(crate) closed: VecDeque<Vec<Issued>>,
    pub(crate) read: usize,
}

impl Stores {
    /// Returns the bytes that a copy of the stores takes, about.
    pub(crate) fn footprint(&self) -> usize {
        let all = self.closed.iter().flatten().chain(&self.open);
        all.map(|issued| size_of::<Issued>() + issued.pieces.len() * size_of::<usize>()).sum()
    }
}

/// A bulk store in flight.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) site: SiteId,
    /// Position among the shared tensors.
    pub(crate) shared: usize,
    /// The first byte of each piece of shared memory that the store may still read.
    pub(crate) pieces: Vec<usize>,
    /// The accesses to shared and to global memory.
    pub(crate) accesses: [AsynchronousAccess; 2],
    /// The position of the tensor that it writes among the tensors of the launch, and its number among the stores to it.
    pub(crate) to: (usize, u32),
}
