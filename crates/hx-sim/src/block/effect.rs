//! The effects of a step on its own or on another block of the cluster.

use std::rc::Rc;

use hx_target::Proxy;
use hx_thread::Knowledge;

use super::shared::PIECE;
use crate::code::SiteId;

/// Arrivals of threads at a stage.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) site: SiteId,
    pub(crate) barrier: usize,
    pub(crate) stage: usize,
    pub(crate) arrivals: u32,
    /// The joined knowledge of the threads that arrived.
    pub(crate) known: Knowledge,
}

/// A box on its way to shared memory, or the chunks of threads that another block sends.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) site: SiteId,
    /// The block that sends it.
    pub(crate) from: [u32; 3],
    /// The thread that sends it, as the clock counts it.
    pub(crate) thread: u32,
    /// Position among the shared tensors.
    pub(crate) tensor: usize,
    pub(crate) barrier: usize,
    pub(crate) stage: usize,
    /// The path by which it writes shared memory.
    pub(crate) proxy: Proxy,
    /// The places in shared memory, each with its bytes.
    pub(crate) pieces: Rc<[(usize, [u8; PIECE])]>,
    /// The waits that the sending threads know to have been passed.
    pub(crate) waits: Knowledge,
}

/// A change of a block by a step of this or of another block.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Arrived(Arrived),
    Filled(Filled),
}

/// A change of another block.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The rank of the block that changes.
    pub(crate) to: usize,
    pub(crate) effect: Effect,
}
