//! The completion of copies: their bytes become visible, and their barriers count them.
//!
//! A copy that signals a barrier reads its source when it is issued, and its bytes become visible at some time between the
//! statement that lets it arrive and the end of a wait for the barrier. The seed of the run selects the time, so that a
//! program that reads a stage too early meets the old bytes at least with the seed that lets copies arrive last.

use crate::block::Block;
use crate::block::flight::{Flight, Group, Issued};
use crate::block::phases::Arriving;
use crate::error::{Fault, SimError};
use crate::trace::Kind;

/// The mean number of steps between two arrivals of copies that nobody waits for yet.
const PATIENCE: usize = 8;

impl Block<'_> {
    /// Lets the next copies arrive, or a draw happen. Returns false if there is neither.
    ///
    /// # Errors
    /// On a fault of the arrival.
    pub(crate) fn complete_next(&mut self) -> Result<bool, SimError> {
        if self.tickets.has_pending() && self.draw_next(self.phases.arriving.len())? {
            return Ok(true);
        }
        let Some(next) = self.phases.next_arriving() else { return Ok(false) };
        let Arriving { barrier, stage, arrivals, bytes, known, copies } = next;
        self.complete_copies(copies);
        if bytes > 0 {
            self.phases.barriers[barrier][stage].receive(bytes, &known);
            self.expect_in_time(barrier, stage)?;
        }
        if arrivals > 0 {
            let site = self.phases.last[barrier][stage].unwrap_or_default();
            self.count_arrivals(site, (barrier, stage), arrivals, &known)?;
        }
        Ok(true)
    }

    /// Reports whether copies can arrive, or a draw can happen.
    pub(crate) fn can_complete(&self) -> bool {
        self.phases.has_arriving() || self.can_draw()
    }

    /// Lets copies arrive before anyone waits for them: none with seed 0, all with seed 1, some with another seed.
    ///
    /// # Errors
    /// On a fault of an arrival.
    #[inline]
    pub(crate) fn complete_early(&mut self) -> Result<(), SimError> {
        if self.phases.seed == 0 || !self.phases.has_arriving() && !self.tickets.has_pending() {
            return Ok(());
        }
        if self.phases.seed == 1 {
            while self.complete_next()? {}
        } else if self.phases.below(PATIENCE) == 0 {
            self.complete_next()?;
        }
        Ok(())
    }

    /// Makes the bytes of a group visible in shared memory.
    pub(crate) fn complete_copies(&mut self, mut group: Group) {
        let mut bytes = &group.bytes[..];
        for Issued { at, len, site, thread } in &group.copies {
            let (here, rest) = bytes.split_at(*len);
            self.shared.set_bytes(*at, here);
            self.trace_shared(*site, Kind::Arrive, *thread as u32, (*at, *len));
            bytes = rest;
        }
        group.copies.clear();
        group.bytes.clear();
        self.agent.flight.spare.push(group);
    }

    /// Fails if no thread has waited for a bulk copy. To be called when the block has ended.
    pub(crate) fn expect_waited(&self) -> Result<(), SimError> {
        let mut copies = self.phases.unwaited.iter();
        let Some((epoch, site, tensor)) = copies.find(|(epoch, ..)| self.clock.is_in_flight(*epoch)) else {
            return Ok(());
        };
        let fault = Fault::Unwaited { tensor: self.code.shared[*tensor].name.clone() };
        Err(self.error_of(*site, Some(epoch.thread), fault))
    }

    /// Counts the copies still in flight when the block ends.
    pub(crate) fn count_unwaited(&mut self) {
        for Flight { open, closed, signals, .. } in
            self.parked.iter().chain([&self.agent]).map(|agent| &agent.flight)
        {
            for copy in closed.iter().chain([open, signals]).flat_map(|group| &group.copies) {
                self.counters[copy.site as usize].unwaited += 1;
            }
        }
    }
}
