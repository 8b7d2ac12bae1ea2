//! Buffers for the steps of an agent.

/// Buffers that a statement borrows and returns, so that the next statement need not allocate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// The offset of each thread, in elements.
    pub(crate) offsets: Vec<i64>,
    pub(crate) mask: Vec<bool>,
    pub(crate) inside: Vec<bool>,
    /// Byte addresses of the participating threads, each with its thread.
    pub(crate) addresses: Vec<(usize, i64)>,
    pub(crate) sources: Vec<(usize, i64)>,
    pub(crate) sorted: Vec<i64>,
    /// The addresses of one request, each with the position of its lane.
    pub(crate) request: Vec<(usize, i64)>,
    pub(crate) bytes: Vec<u8>,
    /// The position in the register file of each value of the first thread.
    pub(crate) positions: Vec<usize>,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) sums: Vec<u64>,
    /// Temporaries of an expression. Each holds the bits of every thread.
    pub(crate) temporaries: Vec<Vec<u64>>,
}
