//! Copies of whole boxes or runs between global and shared memory, and the limits of the tensors that boxes address.

use hx_dtype::DType;
use serde::Deserialize;

use crate::{Feature, Form, Space};

/// An instruction by which one thread copies a box of a tensor map, or a run of contiguous bytes, between global and shared memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkRow {
    pub name: String,
    pub from: Space,
    pub to: Space,
    /// The types of elements that the copy adds to memory; none if it writes them, of any type.
    #[serde(default)]
    pub adds: Vec<DType>,
    /// The copy takes a run of contiguous bytes without a tensor map. Both addresses and the number of bytes are multiples of this
    /// number.
    #[serde(default)]
    pub run: Option<u32>,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{s}` for the address in shared memory and `{b}` for that of a load's barrier. A box also has `{m}` for the tensor
    /// map, `{c}` for the coordinates and `{r}` for their number; a run has `{a}` for the address in global memory and `{n}` for the
    /// number of bytes.
    pub ptx: String,
    /// PTX of the copy into several blocks of a cluster, with `{k}` for the blocks, one bit each.
    pub multicast: Option<String>,
}

impl BulkRow {
    /// Reports whether the copy writes shared memory and signals a barrier. Otherwise it joins a group.
    pub fn is_load(&self) -> bool {
        self.to == Space::Shared
    }

    /// Returns the form of the copy, by which the table of asynchronous instructions lists its accesses.
    pub fn form(&self) -> Form {
        match (self.is_load(), self.adds.is_empty()) {
            (true, _) => Form::BulkLoad,
            (false, true) => Form::BulkStore,
            (false, false) => Form::BulkAdd,
        }
    }

    /// Reports whether the copy writes elements of this type or, if `adds`, adds them to memory.
    pub fn moves(&self, dtype: DType, adds: bool) -> bool {
        if adds { self.adds.contains(&dtype) } else { self.adds.is_empty() }
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
    /// The bytes that the coordinate of a box along the first dimension is a multiple of.
    pub corner: i64,
    /// The granularity of writes at the end of a row, in bytes: a box that crosses the end of the first dimension is written up to a
    /// multiple of it.
    pub tail: i64,
}
