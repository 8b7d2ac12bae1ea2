//! The asynchronous copies of an agent that are in flight: those of the open group, of closed groups, and those that signal a
//! barrier.

use std::collections::VecDeque;
use std::ops::Range;

use crate::code::SiteId;

/// The copies of one group. `bytes` holds their data, one copy after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) copies: Vec<Issued>,
    pub(crate) bytes: Vec<u8>,
}

/// The copy that one thread issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued {
    /// The number of the thread on the clock.
    pub(crate) thread: usize,
    /// The first byte of its destination in shared memory.
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) site: SiteId,
}

/// The asynchronous copies of an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    pub(crate) open: Group,
    pub(crate) closed: VecDeque<Group>,
    /// Copies that signal a barrier in memory and have not been told to arrive.
    pub(crate) signals: Group,
    /// Empty groups, kept for reuse.
    pub(crate) spare: Vec<Group>,
}

impl Group {
    /// Adds the copy of a piece of a box. `thread` is the number of the issuing thread on the clock.
    pub(crate) fn add(&mut self, (thread, site): (usize, SiteId), at: usize, bytes: &[u8]) {
        self.copies.push(Issued { thread, at, len: bytes.len(), site });
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn of_threads(&self, threads: &Range<usize>) -> Group {
        let (mut group, mut from) = (Group::default(), 0);
        for copy in &self.copies {
            if threads.contains(&copy.thread) {
                group.copies.push(*copy);
                group.bytes.extend(&self.bytes[from..from + copy.len]);
            }
            from += copy.len;
        }
        group
    }
}

impl Flight {
    /// Returns the bytes that a copy of the groups takes, about.
    pub(crate) fn footprint(&self) -> usize {
        let groups = self.closed.iter().chain([&self.open, &self.signals]);
        groups.map(|group| group.bytes.len() + group.copies.len() * size_of::<Issued>()).sum()
    }

    /// Returns the copies that `threads` issued, in the same groups. A group without such copies becomes empty.
    pub(crate) fn of_threads(&self, threads: &Range<usize>) -> Flight {
        let closed = self.closed.iter().map(|group| group.of_threads(threads)).collect();
        let [open, signals] = [&self.open, &self.signals].map(|group| group.of_threads(threads));
        Flight { open, closed, signals, spare: Vec::new() }
    }

    /// Returns the group that a copy joins.
    pub(crate) fn joined(&mut self, signals: bool) -> &mut Group {
        if signals { &mut self.signals } else { &mut self.open }
    }

    /// Takes the copies that signal, to let them arrive.
    pub(crate) fn take_signals(&mut self) -> Group {
        let next = self.spare.pop().unwrap_or_default();
        std::mem::replace(&mut self.signals, next)
    }
}
