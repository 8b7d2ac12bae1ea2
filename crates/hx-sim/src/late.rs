//! Warps that may be late for a phase.
//!
//! A wait compares parities, so it tells a complete phase from the next one, and no further. The warps of an agent run together here; on
//! a GPU nothing keeps them together. A warp that comes to its wait when the next phase is complete, too, waits on, perhaps for ever.
//! So each warp that waits must have passed before the next phase is complete: those who complete it know that it has.

use hx_thread::{Epoch, Warps};

use crate::block::Block;
use crate::code::SiteId;
use crate::error::{Fault, SimError};

/// The warps of an agent that passed a wait.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    site: SiteId,
    /// The number of complete phases that the wait was for.
    complete: u64,
    /// The time of each warp.
    times: Vec<Epoch>,
}

impl Block<'_> {
    /// Notes that warps of the running agent pass a wait for a phase now.
    pub(crate) fn pass(&mut self, site: SiteId, (barrier, stage): (usize, usize), waiters: Warps) {
        if !self.config.check_races || waiters.is_single() {
            return;
        }
        let complete = self.phases.complete(barrier, stage);
        let times = self.clock.pass(waiters);
        self.phases.passed[barrier][stage].push(Passed { site, complete, times });
    }

    /// Fails if a phase has become complete and a warp that passed the one before may still be waiting for that.
    pub(crate) fn expect_in_time(&mut self, barrier: usize, stage: usize) -> Result<(), SimError> {
        let complete = self.phases.complete(barrier, stage);
        let told = self.phases.told(barrier, stage);
        let passed = &self.phases.passed[barrier][stage];
        let is_late = |passed: &&Passed| {
            passed.complete < complete && !passed.times.iter().all(|time| self.clock.is_told(told, *time))
        };
        if let Some(late) = passed.iter().find(is_late) {
            let pipe = &self.code.barriers[barrier].pipe;
            let text = format!("a warp may be late for a phase of stage {stage} of `{pipe}`, and miss it");
            return Err(self.error(late.site, None, Fault::Malformed(text)));
        }
        self.phases.passed[barrier][stage].retain(|passed| passed.complete >= complete);
        Ok(())
    }
}
