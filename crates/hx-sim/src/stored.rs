//! The bulk stores of one block to a tensor in global memory, or of all blocks that communicate.
//!
//! The writes of a store are in flight from its issue until the thread that issued it waits for its writes, not only for its reads
//! of shared memory. In between, no thread may access these elements, except that sums may go on: each adds atomically. After
//! the wait the store counts as an access of that thread at the time of the wait, so other threads need a barrier, and other
//! blocks a release behind it. A store that nothing waits for is complete when the kernel has ended.

use hx_thread::{AccessOrder, Epoch, Mark};

use crate::code::SiteId;
use crate::error::AccessMode;
use crate::stamp::AccessStamp;

/// A store with which an access conflicts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Met {
    InFlight(Mark<SiteId>),
    /// The store is complete, and nothing orders the wait for it before the access.
    Unordered(Mark<SiteId>, AccessMode),
    /// Another run issued the store. The access is ordered after the issue, but not after the wait for the store's writes.
    OfRun(u32, Mark<SiteId>, AccessMode),
}

/// The stores to a tensor. A store is known by its number, from 1 on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored(Vec<Entry>);

#[derive(Clone, Copy, Debug)]
enum Entry {
    Store(Store),
    /// Two sums onto the same elements, by their numbers. Each may be a pair again.
    Both(u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Store {
    /// The run that issued it, and the issue.
    run: u32,
    mark: Mark<SiteId>,
    adds: bool,
    /// The time of the wait that completed it; `None` while it is in flight.
    done: Option<Epoch>,
}

impl Stored {
    /// Adds a store, and returns its number.
    pub(crate) fn begin(&mut self, run: u32, mark: Mark<SiteId>, adds: bool) -> u32 {
        self.0.push(Entry::Store(Store { run, mark, adds, done: None }));
        self.0.len() as u32
    }

    /// Completes a store. The thread that waits for it does so at `epoch`.
    pub(crate) fn complete(&mut self, store: u32, epoch: Epoch) {
        if let Some(Entry::Store(store)) = self.0.get_mut(store as usize - 1) {
            store.done = Some(epoch);
        }
    }

    /// Returns a number for two stores to the same elements, of which `second` is the later one: an entry for the pair if both add,
    /// otherwise `second`.
    pub(crate) fn both(&mut self, first: u32, second: u32) -> u32 {
        let is_sum = |number: u32| self.stores(number).all(|store| store.adds);
        if first == 0 || first == second || !is_sum(first) || !is_sum(second) {
            return second;
        }
        let known = |entry: &Entry| matches!(entry, Entry::Both(a, b) if (*a, *b) == (first, second));
        // The elements of one store come one after the other, so the pair is the last entry if there is one.
        if self.0.last().is_some_and(known) {
            return self.0.len() as u32;
        }
        self.0.push(Entry::Both(first, second));
        self.0.len() as u32
    }

    fn stores(&self, number: u32) -> impl Iterator<Item = &Store> {
        let mut left = vec![number];
        std::iter::from_fn(move || {
            loop {
                match self.0.get((left.pop()? as usize).checked_sub(1)?)? {
                    Entry::Store(store) => return Some(store),
                    Entry::Both(first, second) => left.extend([*first, *second]),
                }
            }
        })
    }

    /// Returns the store under a number with which an access in the current epoch conflicts; `None` if none does, or races are
    /// not checked. `adds`: the access is an atomic sum.
    #[cold]
    pub(crate) fn meets(&self, number: u32, stamp: AccessStamp<'_>, adds: bool) -> Option<Met> {
        let (clock, later) = (stamp.clock?, stamp.epoch);
        let meets = |store: &Store| {
            if store.adds && adds {
                return None;
            }
            let mode = if store.adds { AccessMode::Atomic } else { AccessMode::Write };
            if store.run != stamp.run {
                // If the issue is unknown, the store is a race of two runs like others.
                let knows =
                    |at: Epoch| stamp.heard.is_some_and(|heard| heard.knows(clock, later, store.run, at));
                let is_complete = store.done.is_some_and(knows);
                return (knows(store.mark.epoch) && !is_complete)
                    .then_some(Met::OfRun(store.run, store.mark, mode));
            }
            match store.done {
                None => Some(Met::InFlight(store.mark)),
                Some(epoch) if clock.relation(epoch, later) != AccessOrder::Before => {
                    Some(Met::Unordered(Mark { epoch, ..store.mark }, mode))
                }
                Some(_) => None,
            }
        };
        self.stores(number).find_map(meets)
    }
}
