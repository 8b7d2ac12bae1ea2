//! Counters, draws and the loops over what was drawn.

use hx_tile::Origin;

use super::{SiteId, Step};
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

/// Runs a body for each number below the limit that the block draws; the first number from the limit on ends the loop.
#[derive(Debug)]
pub(crate) struct DrawnCode {
    pub(crate) site: SiteId,
    pub(crate) counter: usize,
    pub(crate) index: Formula,
    pub(crate) parity: Formula,
    /// The slot in [`Env::slots`](crate::formula::Env) that gets the number when a round begins.
    pub(crate) slot: u32,
    pub(crate) body: Vec<Step>,
}
