//! The accesses that a place of memory remembers, to find later accesses that nothing orders after them.
//!
//! The simulator and the static check keep a [`Pair`] for each place and each kind of access that may repeat; they decide
//! which kinds conflict.

use crate::clock::{AccessOrder, Clock, Epoch};

/// An access to a place of memory, with the operation or statement that performed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark<T> {
    pub epoch: Epoch,
    pub by: T,
}

/// The last accesses of one kind to a place by two threads, of two warps if there are such. None of them is an asynchronous
/// copy.
///
/// If every barrier joins all warps or the lanes of one, the two stand for all accesses of that kind: a later access is
/// ordered after all of them if and only if it is ordered after these two. Whichever thread performs it, at least one of the
/// two is by another thread, and by another warp if any access is. If a barrier joins some warps only, one pair for each set
/// of warps that barriers join stands for their accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair<T> {
    first: Option<Mark<T>>,
    second: Option<Mark<T>>,
}

impl<T> Default for Pair<T> {
    fn default() -> Pair<T> {
        Pair { first: None, second: None }
    }
}

impl<T: Copy> Pair<T> {
    /// Records an access in the current epoch.
    #[inline]
    pub fn remember(&mut self, here: Mark<T>, clock: &Clock) {
        let Some(first) = self.first.filter(|first| !clock.is_known_to_all(first.epoch)) else {
            let second = self.second.filter(|second| !clock.is_known_to_all(second.epoch));
            *self = Pair { first: Some(here), second };
            return;
        };
        let elsewhere = |mark: Mark<T>| mark.epoch.warp() != first.epoch.warp();
        let later = first.epoch.precedes(here.epoch) && !first.epoch.spans_warps();
        if elsewhere(here) && !here.epoch.spans_warps() {
            self.second = Some(here);
        } else if later || here.epoch.spans_warps() {
            self.first = Some(here);
        } else if !first.epoch.covers(here.epoch) && !self.second.is_some_and(elsewhere) {
            self.second = Some(here);
        }
    }

    /// Returns one of the two accesses that does not happen before `later`, an access in the current epoch. `None` if both
    /// happen before it.
    #[inline]
    pub fn meets(&self, later: Epoch, clock: &Clock) -> Option<Mark<T>> {
        self.iter().find(|mark| clock.relation(mark.epoch, later) != AccessOrder::Before)
    }

    /// Joins the pairs of two paths of a program with `choose`, which gets the accesses of both paths in each position.
    pub fn zip(
        self,
        other: Pair<T>,
        choose: impl Fn(Option<Mark<T>>, Option<Mark<T>>) -> Option<Mark<T>>,
    ) -> Pair<T> {
        Pair { first: choose(self.first, other.first), second: choose(self.second, other.second) }
    }

    /// Returns the accesses remembered, in the order in which they are compared with a later access.
    pub fn iter(&self) -> impl Iterator<Item = Mark<T>> {
        [self.first, self.second].into_iter().flatten()
    }
}
