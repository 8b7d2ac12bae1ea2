//! The registers of an agent.

/// The elements of one register array, for all threads of an agent.
#[derive(Clone, Debug)]
pub(crate) struct RegisterFile {
    /// Element `e` of thread `t` is at `e · threads + t`.
    pub(crate) bits: Vec<u64>,
    /// Whether each element was written. One flag serves all threads, because every statement writes an element in all of them.
    pub(crate) written: Vec<bool>,
}
