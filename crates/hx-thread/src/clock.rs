//! The time of a block, counted in barriers: what they part is ordered.

use hx_target::WARP;

/// How many barriers were passed. All threads pass the same statements, so one clock serves the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Clock {
    /// The time of the last barrier of the whole block.
    block: u32,
    /// Barriers of either kind, plus one.
    now: u32,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { block: 1, now: 1 }
    }
}

impl Clock {
    /// The time at which something happens; never 0.
    pub fn now(self) -> u32 {
        self.now
    }

    /// The block waits for all of its threads.
    pub fn barrier(&mut self) {
        self.now += 1;
        self.block = self.now;
    }

    /// Every warp waits for its own threads.
    pub fn warp_barrier(&mut self) {
        self.now += 1;
    }

    /// Whether a barrier stands between what a thread did at `time` and what another does now.
    #[inline]
    pub fn parts(self, time: u32, thread: u32, later: u32) -> bool {
        time < if warp_of(thread) == warp_of(later) { self.now } else { self.block }
    }

    /// Whether a barrier of the block stands in between.
    #[inline]
    pub fn parts_blockwide(self, time: u32) -> bool {
        time < self.block
    }
}

/// The warp that a thread belongs to.
#[inline]
pub fn warp_of(thread: u32) -> u32 {
    thread / WARP
}
