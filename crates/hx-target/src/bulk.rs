//! Copies of whole boxes between global and shared memory, and the limits of the tensors that they address.

use serde::Deserialize;

use crate::Space;

/// An instruction by which one thread copies a box between global and shared memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkRow {
    pub name: String,
    pub from: Space,
    pub to: Space,
    /// The copy adds to memory instead of writing it.
    #[serde(default)]
    pub adds: bool,
    /// The oldest architecture that has the instruction.
    pub arch: u32,
    /// PTX with `{m}` for the tensor map, `{c}` for the coordinates and `{r}` for their number, `{s}` for the address in
    /// shared memory and `{b}` for that of a load's barrier.
    pub ptx: String,
    /// PTX of the copy into several blocks of a cluster, with `{k}` for the blocks, one bit each.
    pub multicast: Option<String>,
}

impl BulkRow {
    /// Reports whether the copy writes shared memory and signals a barrier. Otherwise it joins a group.
    pub fn is_load(&self) -> bool {
        self.to == Space::Shared
    }
}

/// The limits of a tensor that such copies address.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapLimits {
    /// The most dimensions.
    pub dims: usize,
    /// The most elements along a dimension.
    pub dim: i64,
    /// The bytes that strides and the address of the tensor are multiples of.
    pub stride: i64,
    /// The most elements of a box along a dimension.
    pub r#box: u32,
    /// The bytes that the row of a box along the first dimension is a multiple of.
    pub row: u32,
}
