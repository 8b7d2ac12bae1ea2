//! Counters and draws.

use hx_tile::Origin;

use super::SiteId;
use crate::formula::Formula;

/// A counter of the program, with its limit in this launch: blocks draw the numbers from 0 to `limit - 1`.
#[derive(Debug)]
pub(crate) struct CounterCode {
    pub(crate) name: String,
    /// Position among the tensors of the launch.
    pub(crate) tensor: usize,
    pub(crate) limit: i64,
    /// Positions in [`Code::barriers`](super::Code::barriers).
    pub(crate) full: usize,
    pub(crate) empty: usize,
    pub(crate) origin: Origin,
}

/// Draws the block's next number from a counter into the ticket `index`, once the ticket is empty.
#[derive(Debug)]
pub(crate) struct DrawCode {
    pub(crate) site: SiteId,
    /// Position in [`Code::counters`](super::Code::counters).
    pub(crate) counter: usize,
    pub(crate) index: Formula,
    pub(crate) parity: Formula,
}
