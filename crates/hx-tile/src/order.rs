//! The words for accesses: what they do to elements, by which path, when they are complete, and how operations order them.

/// The effect of an access on the elements of its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Read,
    Write,
    /// Each thread reads the elements that it holds and writes them again: an accumulator.
    Update,
    /// An atomic sum. It is ordered with other atomic sums, and with no other access.
    Add,
}

impl Mode {
    /// Reports whether elements are read.
    pub fn reads(self) -> bool {
        self != Mode::Write
    }

    /// Reports whether elements change.
    pub fn writes(self) -> bool {
        self != Mode::Read
    }
}

/// The path by which an access reaches memory (PTX ISA, "Proxies"). Accesses of different proxies to the same memory need a
/// fence between them, in addition to their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proxy {
    /// Loads, stores, collective loads and stores of matrices, copies in groups, atomic sums.
    Generic,
    /// Bulk copies, and matrix operands that the instruction reads from shared memory by descriptor. A copy that signals a
    /// pipeline counts as a bulk copy: the solution may make it one.
    Asynchronous,
}

/// The time from which the thread that issued an access may rely on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// At the end of the operation.
    AtOnce,
    /// At an [`Order::Wait`] that covers its group.
    Group,
    /// At an [`Order::WaitProducts`] that covers the product.
    Product,
    /// When a barrier in memory has counted it: at an [`Order::Await`].
    Barrier,
    /// At an [`Order::WaitStores`] that covers it.
    Store,
}

/// The order that an operation imposes on accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Nothing,
    /// Accesses of all threads of the operation's scope before it precede accesses of any of them after it.
    Scope,
    /// As `Scope`, among the threads of each warp.
    Warp,
    /// The asynchronous copies since the last `Close` become a group.
    Close,
    /// Returns when at most this many of the thread's groups are in flight.
    Wait(u32),
    /// Returns when at most this many of the scope's asynchronous products are in flight.
    WaitProducts(u32),
    /// Returns when a phase of a barrier in memory is complete. Accesses of all that arrived for this phase precede accesses
    /// after it.
    Await,
    /// Arrives on barriers in memory: accesses before it precede accesses of those who wait for the barriers' phases.
    Arrive,
    /// Returns when at most this many of the scope's stores still read shared memory.
    WaitStores(u32),
}
