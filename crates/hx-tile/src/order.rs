//! The order that operations impose on accesses. The words for accesses are those of the table of asynchronous instructions.

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
    /// Arrives on barriers: accesses before it precede accesses of those who wait for them.
    Arrive,
    /// Waits until at most `leave` of the scope's stores are in flight; with `read`, until at most `leave` of them still read shared
    /// memory. The writes of the stores that have only been read stay in flight.
    WaitStores {
        leave: u32,
        read: bool,
    },
}
