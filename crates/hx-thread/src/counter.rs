//! Counters as the threads of a block use them: a ring of tickets in shared memory. [`crate::Drawn`] is a loop over one.

use hx_index::Expr;
use hx_tile::{Origin, TICKET_BYTES, TICKETS};

/// A counter in global memory, and the ring in shared memory in which a block keeps the numbers that it drew.
///
/// Draw `j` of a block goes to ticket `j % 2`, for every scope of the block to read. A ticket is an `i32`. Its full barrier
/// completes a phase when the number is there, its empty barrier when all scopes have read the number.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter {
    pub name: String,
    /// The position in [`ThreadProgram::params`](crate::ThreadProgram::params) of the tensor, a mutable `i32[1]`. It is 0 before the
    /// launch and 0 after it, and no other statement accesses it.
    pub param: u32,
    /// The numbers below this one are handed out; at least 0. Each block draws one further number, so all blocks together draw
    /// `limit` plus the number of blocks times.
    pub limit: Expr,
    /// The offset of the first ticket in the block's shared memory; a multiple of 4.
    pub at: u32,
    /// The positions in [`ThreadProgram::barriers`](crate::ThreadProgram::barriers) of the barriers, each with a stage for every
    /// ticket. One thread of a block arrives on `full`; one thread of each warp of every scope that loops arrives on `empty`.
    pub full: u32,
    pub empty: u32,
    pub origin: Origin,
}

impl Counter {
    /// Returns the offset of the tickets and the first offset after them.
    pub fn bytes(&self) -> std::ops::Range<u32> {
        self.at..self.at + TICKETS * TICKET_BYTES
    }
}

/// Draws the next number from a counter into ticket `index`. One thread of the scope does it, and the others do not wait for
/// it:
///
/// 1. it waits until the phase of parity `parity` of the ticket's empty barrier is complete;
/// 2. it adds 1 to the counter's tensor, relaxed and at the scope of the GPU; the value before is the number drawn. The last
///    draw of the launch, `limit + blocks - 1`, makes the tensor 0 instead, in the same access;
/// 3. it writes the number to the ticket and arrives on the ticket's full barrier.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    /// Position in [`ThreadProgram::counters`](crate::ThreadProgram::counters).
    pub counter: u32,
    pub index: Expr,
    pub parity: Expr,
}
