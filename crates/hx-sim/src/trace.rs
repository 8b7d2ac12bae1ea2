//! The accesses of single steps, for a playback that looks for those to an element.

use std::ops::Range;

/// A place that threads access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    /// The bytes of the tensor of a parameter, by its position.
    Global(usize),
    /// The bytes of the block's shared memory.
    Shared,
    /// The values that each thread holds of an array, a position in [`hx_thread::ThreadProgram::registers`].
    Register(usize),
}

/// The way in which a thread accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Read,
    Write,
    /// An asynchronous copy into the memory begins.
    Issue,
    /// The bytes of an asynchronous copy become visible.
    Arrive,
}

/// An access that a step made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The position of the operation in [`crate::Prepared::places`].
    pub site: u32,
    pub memory: Memory,
    pub kind: Kind,
    /// The first thread in the block, and one past the last. A collective access names the thread whose address counts.
    pub threads: [u32; 2],
    /// The first byte; for registers, the position of the value among a thread's values.
    pub at: usize,
    /// The number of bytes, or of values.
    pub len: usize,
}

/// The accesses of the last step of a block to one place.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// Accesses to other places are left out.
    pub(crate) wanted: (Memory, Range<usize>),
    pub(crate) found: Vec<Access>,
}

impl Trace {
    pub(crate) fn add(&mut self, access: Access) {
        let (memory, range) = &self.wanted;
        if access.memory == *memory && access.at < range.end && range.start < access.at + access.len {
            self.found.push(access);
        }
    }
}
