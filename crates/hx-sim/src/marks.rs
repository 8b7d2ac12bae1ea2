//! Who touched a place of memory last, kept so that races are seen: two accesses of different threads with no barrier in between.
//!
//! Which kinds of accesses may not meet is for the two memories to say ([`crate::shared`], [`crate::global`]).

use hx_thread::{Clock, warp_of};

use crate::code::SiteId;

/// An access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    /// When it happened, by the clock of barriers; 0 for never.
    pub(crate) time: u32,
    pub(crate) thread: u32,
    /// For all lanes of an instruction, of which `thread` gave the address.
    pub(crate) collective: bool,
    pub(crate) site: SiteId,
}

impl Mark {
    pub(crate) fn happened(self) -> bool {
        self.time > 0
    }

    /// Whether another thread takes part in one of the two accesses, the later one of now, with no barrier in between.
    #[inline]
    pub(crate) fn meets(self, later: Mark, clock: Clock) -> bool {
        let others = self.thread != later.thread || self.collective || later.collective;
        others && !clock.parts(self.time, self.thread, later.thread)
    }
}

/// The last accesses of one kind to one place, by two threads, of two warps if there are such: whichever thread comes next, one of
/// the two is another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair {
    first: Mark,
    second: Mark,
}

impl Pair {
    #[inline]
    pub(crate) fn remember(&mut self, here: Mark, clock: Clock) {
        let first = self.first;
        // No barrier of the block orders the mark before now.
        let stands = |mark: Mark| !clock.parts_blockwide(mark.time);
        let elsewhere = |mark: Mark| warp_of(mark.thread) != warp_of(first.thread);
        if !stands(first) {
            self.first = here;
        } else if elsewhere(here) {
            self.second = here;
        } else if first.time != here.time || here.collective || first.thread == here.thread {
            self.first = here;
        } else if !(stands(self.second) && elsewhere(self.second)) {
            self.second = here;
        }
    }

    /// The access of the two that races with one of now.
    #[inline]
    pub(crate) fn meets(&self, later: Mark, clock: Clock) -> Option<Mark> {
        [self.first, self.second].into_iter().find(|mark| mark.meets(later, clock))
    }

    /// Where an access of this kind was made, if there was one.
    pub(crate) fn site(&self) -> Option<SiteId> {
        self.first.happened().then_some(self.first.site)
    }
}
