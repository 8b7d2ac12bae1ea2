//! Options of a run.

use std::fmt;

use crate::error::Room;
use crate::witness::Follow;

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// Polled often, from any thread. Once it returns true, the run ends with [`Fault::Cancelled`](crate::Fault::Cancelled).
    pub cancel: &'a (dyn Fn() -> bool + Sync),
    /// Whether races within and between blocks are errors.
    pub check_races: bool,
    /// Number of iterations of one `while` after which the run ends with [`Fault::NoProgress`](crate::Fault::NoProgress).
    pub while_limit: u64,
    /// Determines the order in which blocks and groups with different tasks run, which values atomic loads find, and when copies
    /// that signal a barrier arrive: with 0 as late as possible, with 1 at once. Every seed gives an order that the hardware may take.
    pub seed: u64,
    /// The number of blocks that the device holds at once, if blocks may wait for each other; `None` for any number.
    pub room: Option<Room>,
    /// The position of a tensor parameter. The report then has a [`Witness`](crate::Witness) of the accesses to it; with `None`
    /// it has none.
    pub watch: Option<usize>,
    /// Values of a block whose changes a [`Witness`](crate::Witness) records, if a parameter is watched.
    pub follow: Option<&'a Follow>,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Config {
            cancel: &|| false,
            check_races: true,
            while_limit: 10_000_000,
            seed: 0,
            room: None,
            watch: None,
            follow: None,
        }
    }
}

impl fmt::Debug for Config<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("check_races", &self.check_races)
            .field("while_limit", &self.while_limit)
            .field("seed", &self.seed)
            .field("room", &self.room)
            .field("watch", &self.watch)
            .field("follow", &self.follow)
            .finish_non_exhaustive()
    }
}
