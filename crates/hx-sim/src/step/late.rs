//! Checks that no warp comes too late to a wait for a phase.
//!
//! A wait compares parities, so it cannot tell a phase from the phase after the next. The simulator runs the warps of an agent together; on
//! a GPU each warp goes on by itself. A warp that reaches its wait when the next phase is complete as well waits for one phase more, which
//! may never end. So the threads that complete the next phase must know that each warp has passed its wait.

use hx_thread::Warps;

use crate::block::Block;
use crate::block::phases::Passed;
use crate::code::SiteId;
use crate::error::{Fault, SimError};

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

    /// Fails if a further phase is complete, but the threads that completed it do not know that every warp has passed its wait.
    pub(crate) fn expect_in_time(&mut self, barrier: usize, stage: usize) -> Result<(), SimError> {
        let complete = self.phases.complete(barrier, stage);
        let known = self.phases.arrived_knowledge(barrier, stage);
        let passed = &self.phases.passed[barrier][stage];
        let is_late = |passed: &&Passed| {
            passed.complete < complete && !passed.times.iter().all(|time| self.clock.is_told(known, *time))
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
