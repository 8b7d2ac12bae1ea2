//! The steps that evaluation at compile time may still take.

use crate::error::Reported;

/// The largest number of steps that lowering one kernel may take; a step is the evaluation of one expression.
pub(crate) const MAX_STEPS: u32 = 1 << 18;

/// The number of expressions evaluated so far, and the report of the bound that was reached.
#[derive(Default)]
pub(crate) struct Budget {
    steps: u32,
    /// Nothing more is evaluated after it.
    reached: Option<Reported>,
}

impl Budget {
    /// Returns the report of the bound that was reached, if one was.
    pub(crate) fn reached(&self) -> Option<Reported> {
        self.reached
    }

    /// Counts a step. Returns whether there was one left.
    pub(crate) fn step(&mut self) -> bool {
        let is_left = self.steps < MAX_STEPS;
        self.steps += u32::from(is_left);
        is_left
    }

    /// Records the report of a bound. Nothing more is evaluated.
    pub(crate) fn end(&mut self, reported: Reported) {
        self.reached = Some(reported);
    }
}
