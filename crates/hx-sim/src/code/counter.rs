//! Counters, draws and the loops over what was drawn.

use hx_tile::Origin;

use super::{SiteId, Step};
use crate::formula::Formula;

/// A counter with the numbers of the launch.
#[derive(Debug)]
pub(crate) struct CounterCode {
    pub(crate) name: String,
    /// Position among the tensors of the launch.
    pub(crate) tensor: usize,
    pub(crate) limit: i64,
    /// Positions in [`Code::barriers`].
    pub(crate) full: usize,
    pub(crate) empty: usize,
    pub(crate) origin: Origin,
}

/// Draws a number.
#[derive(Debug)]
pub(crate) struct DrawCode {
    pub(crate) site: SiteId,
    /// Position in [`Code::counters`].
    pub(crate) counter: usize,
    pub(crate) index: Formula,
    pub(crate) parity: Formula,
}

/// Runs a body for each number that the block draws.
#[derive(Debug)]
pub(crate) struct DrawnCode {
    pub(crate) site: SiteId,
    pub(crate) counter: usize,
    pub(crate) index: Formula,
    pub(crate) parity: Formula,
    /// The slot of the number.
    pub(crate) slot: u32,
    pub(crate) body: Vec<Step>,
}
