//! The time of a block, counted in barriers. A barrier orders the accesses before it before those after it.

use hx_target::WARP;

/// Counts the barriers that a block has passed. All threads pass the same statements, so a block has one clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Clock {
    /// The time of the last barrier of the whole block.
    block: u32,
    /// The number of barriers of either kind, plus one.
    now: u32,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { block: 1, now: 1 }
    }
}

impl Clock {
    /// Returns the time of what happens now; never 0.
    pub fn now(self) -> u32 {
        self.now
    }

    /// Passes a barrier of the whole block.
    pub fn barrier(&mut self) {
        self.now += 1;
        self.block = self.now;
    }

    /// Passes a barrier of each warp on its own.
    pub fn warp_barrier(&mut self) {
        self.now += 1;
    }

    /// Reports whether a barrier lies between what `thread` did at `time` and what `later` does now.
    #[inline]
    pub fn parts(self, time: u32, thread: u32, later: u32) -> bool {
        time < if warp_of(thread) == warp_of(later) { self.now } else { self.block }
    }

    /// Reports whether a barrier of the whole block lies between `time` and now.
    #[inline]
    pub fn parts_blockwide(self, time: u32) -> bool {
        time < self.block
    }
}

/// Returns the warp that a thread belongs to.
#[inline]
pub fn warp_of(thread: u32) -> u32 {
    thread / WARP
}
