//! The names that a solved program gives to the last chunk of a copy in rounds.

use crate::{OpId, TensorId};

/// The last chunk of a copy in rounds, which has fewer elements than the others: what a solved program repeats for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rest {
    /// The operations on the chunk, each with the one of the source that it repeats.
    pub ops: Vec<[OpId; 2]>,
    /// The register tensors of the chunk, each with the one of the source in whose place it is.
    pub tensors: Vec<[TensorId; 2]>,
}
