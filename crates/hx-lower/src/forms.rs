//! The forms that lowering gives to loads, and the loops that read ahead.

use hx_index::Symbol;
use hx_tile::Origin;

use crate::error::Place;

/// How the values of loads reach products.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loads {
    /// In the registers that the text names.
    Direct,
    /// Through shared memory, where a load's values are read by products alone.
    Staged,
}

/// How a loop with `pipelined` fills and reads its ring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rings {
    /// By copies that signal a pipeline, and with products in flight between two rounds.
    InFlight,
    /// By copies that signal a pipeline. Each product is waited for.
    Signalled,
    /// By groups of asynchronous copies.
    Groups,
    /// Not at all: each round makes its own loads.
    Unstaged,
}

/// The forms that lowering gives to loads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Forms {
    pub loads: Loads,
    pub rings: Rings,
    /// Lowers loops whose loads only products read as if they had `pipelined(3)`: [`Sources::offered`](crate::Sources::offered).
    pub offers: bool,
}

impl Forms {
    /// Loads to registers, and rings of groups of copies: every target has both.
    pub const PLAIN: Forms = Forms { loads: Loads::Direct, rings: Rings::Groups, offers: false };
}

/// A loop with `pipelined(n)`.
pub(crate) struct Pipelined {
    /// The counter, which no other loop has.
    pub(crate) counter: Symbol,
    pub(crate) stages: i64,
    pub(crate) place: Place,
    pub(crate) origin: Origin,
    /// Symbols with numbers from here on are made inside of the loop and have no value before it.
    pub(crate) first_inside: u32,
    /// Whether the text has no `pipelined` here: nothing is reported, and only loads for products count.
    pub(crate) is_offered: bool,
}
