//! Options of a run.

use std::fmt;

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// Polled often, from any thread. Once it returns true, the run ends with [`Fault::Cancelled`](crate::Fault::Cancelled).
    pub cancel: &'a (dyn Fn() -> bool + Sync),
    /// Whether races within and between blocks are errors.
    pub check_races: bool,
    /// Number of iterations of one `while` after which the run ends with [`Fault::NoProgress`](crate::Fault::NoProgress).
    pub while_limit: u64,
    /// Determines the order in which groups with different tasks run, and when copies that signal a barrier arrive: with 0 as
    /// late as possible, with 1 at once. Every seed gives an order that the hardware may take.
    pub seed: u64,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Config { cancel: &|| false, check_races: true, while_limit: 10_000_000, seed: 0 }
    }
}

impl fmt::Debug for Config<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("check_races", &self.check_races)
            .field("while_limit", &self.while_limit)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
