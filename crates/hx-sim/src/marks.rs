//! Remembers the last accesses to a place of memory, to find races: accesses of two threads that no barrier orders.
//!
//! [`crate::shared`] and [`crate::global`] decide which kinds of accesses conflict.

use hx_thread::{Clock, warp_of};

use crate::code::SiteId;

/// An access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    /// The time of the access on the clock of barriers; 0 if there was none.
    pub(crate) time: u32,
    pub(crate) thread: u32,
    /// The access is for all lanes of an instruction; `thread` supplied the address.
    pub(crate) collective: bool,
    pub(crate) site: SiteId,
}

impl Mark {
    pub(crate) fn happened(self) -> bool {
        self.time > 0
    }

    /// Reports whether this access and a later one, of now, involve different threads and no barrier orders them.
    #[inline]
    pub(crate) fn meets(self, later: Mark, clock: Clock) -> bool {
        let others = self.thread != later.thread || self.collective || later.collective;
        others && !clock.parts(self.time, self.thread, later.thread)
    }
}

/// The last accesses of one kind to one place by two threads, of two warps if there are such. Whichever thread comes next, at
/// least one of the two is a different thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair {
    first: Mark,
    second: Mark,
}

impl Pair {
    #[inline]
    pub(crate) fn remember(&mut self, here: Mark, clock: Clock) {
        let first = self.first;
        // True if no block-wide barrier lies between the mark and now.
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

    /// Returns one of the two accesses that races with `later`, an access of now.
    #[inline]
    pub(crate) fn meets(&self, later: Mark, clock: Clock) -> Option<Mark> {
        [self.first, self.second].into_iter().find(|mark| mark.meets(later, clock))
    }

    /// Returns the site of an access of this kind, if there was one.
    pub(crate) fn site(&self) -> Option<SiteId> {
        self.first.happened().then_some(self.first.site)
    }
}
