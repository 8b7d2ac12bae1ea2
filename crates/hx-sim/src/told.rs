//! The knowledge of the blocks of a launch about each other's accesses to global memory, by atomic accesses that release and acquire.
//!
//! A block that releases at an element leaves there what it knows, with all its own accesses so far. A block that acquires from the
//! element learns what was left. Atomic updates in between keep it. Accesses that a block knows of do not race with its own.
//!
//! Blocks whose atomic accesses return values run one after the other, in the order of the grid ([`crate::launch`]), so each
//! finds the elements as all blocks before it left them. An access by one thread stands for its block: barriers order the
//! threads of a block, and the race check of the block demands them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hx_tile::MemoryOrder;

/// For each block, how many of its releases are known. What the block did before the last of them is known, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Releases(BTreeMap<u32, u32>);

impl Releases {
    fn join(&mut self, other: &Releases) {
        for (block, count) in &other.0 {
            let mine = self.0.entry(*block).or_default();
            *mine = (*mine).max(*count);
        }
    }
}

/// The marks of blocks at elements, by parameter and first byte.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<BTreeMap<(usize, usize), Releases>>);

impl Left {
    /// Returns a copy of the marks.
    pub(crate) fn copied(&self) -> Left {
        Left(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    /// Replaces the marks by those of another moment.
    pub(crate) fn restore(&self, other: &Left) {
        let other = other.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = other;
    }
}

/// When a block accessed an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp {
    /// The number of acquires that told the block something, before its first access.
    pub(crate) acquires: u32,
    /// The number of its releases, before its last access.
    pub(crate) releases: u32,
}

/// The knowledge of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    block: u32,
    releases: u32,
    /// The knowledge after each acquire that told it something; the first entry is from before.
    known: Vec<Releases>,
}

impl Told {
    pub(crate) fn new(block: u32) -> Told {
        Told { block, releases: 0, known: vec![Releases::default()] }
    }

    /// Returns the stamp of an access now.
    pub(crate) fn now(&self) -> Stamp {
        Stamp { acquires: self.known.len().saturating_sub(1) as u32, releases: self.releases }
    }

    /// Ends an atomic access of the block that releases: what follows is not part of it.
    pub(crate) fn release(&mut self) {
        self.releases += 1;
    }

    /// Learns and leaves what an atomic access to an element says. `stores` means that it replaces the element whatever it was.
    pub(crate) fn meet(&mut self, left: &Left, at: (usize, usize), order: MemoryOrder, stores: bool) {
        let mut left = left.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(there), Some(known)) = (left.get(&at), self.known.last()) {
            let mut now = known.clone();
            now.join(there);
            if order.acquires() && now != *known {
                self.known.push(now);
            }
        }
        if stores {
            left.remove(&at);
        }
        if order.releases() {
            let mut all = self.known.last().cloned().unwrap_or_default();
            all.0.insert(self.block, self.releases + 1);
            left.entry(at).or_default().join(&all);
        }
    }

    /// Reports whether the block knew, at its first access with the stamp `mine`, of the last access of another block with the stamp
    /// `other`.
    pub(crate) fn knew(&self, mine: Stamp, block: u32, other: Stamp) -> bool {
        let known = self.known.get(mine.acquires as usize);
        known.and_then(|known| known.0.get(&block)).is_some_and(|releases| *releases > other.releases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_released_is_known_to_those_that_acquire_it() {
        let left = Left::default();
        let mut a = Told::new(0);
        let before = a.now();
        a.meet(&left, (0, 4), MemoryOrder::Release, false);
        a.release();
        let after = a.now();
        let mut b = Told::new(1);
        let early = b.now();
        b.meet(&left, (0, 4), MemoryOrder::Relaxed, false);
        assert!(!b.knew(b.now(), 0, before), "a relaxed access tells nothing");
        b.meet(&left, (0, 4), MemoryOrder::Acquire, false);
        assert!(b.knew(b.now(), 0, before) && !b.knew(b.now(), 0, after) && !b.knew(early, 0, before));
        // A block passes on what it knows.
        b.meet(&left, (0, 8), MemoryOrder::AcquireRelease, false);
        b.release();
        let mut c = Told::new(2);
        c.meet(&left, (0, 8), MemoryOrder::Acquire, false);
        assert!(c.knew(c.now(), 0, before));
        // A store takes away what was left.
        c.meet(&left, (0, 4), MemoryOrder::Relaxed, true);
        let mut d = Told::new(3);
        d.meet(&left, (0, 4), MemoryOrder::Acquire, false);
        assert!(!d.knew(d.now(), 0, before));
    }
}
