//! Copies of whole boxes or runs between global and shared memory, and the limits of the tensors that boxes address.

use hx_dtype::DType;
use hx_tensor_map::TensorMap;
use serde::Deserialize;

use crate::{Cache, Feature, Form, Space, SwizzleMode};

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
    /// The copy takes a run of contiguous bytes without a tensor map. Both addresses and the number of bytes are multiples of
    /// this number. `None` for a copy of boxes.
    #[serde(default)]
    pub run: Option<u32>,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{s}` for the address in shared memory and `{b}` for that of a load's barrier. A box also has `{m}` for the tensor
    /// map, `{c}` for the coordinates and `{r}` for their number; a run has `{a}` for the address in global memory and `{n}` for the
    /// number of bytes.
    pub ptx: String,
    /// PTX of the copy into several blocks of a cluster, with `{k}` for the blocks, one bit each; `None` if it reaches one
    /// block only.
    pub multicast: Option<String>,
}

impl BulkRow {
    /// Reports whether the copy writes shared memory and signals a barrier. Otherwise it joins a group.
    pub fn is_load(&self) -> bool {
        self.to == Space::Shared
    }

    /// Returns the PTX, or that of the copy into several blocks, with a policy of the L2 cache as `{p}`. `None` if the row has no such PTX,
    /// or the hint is one for L1, which these copies go past.
    pub fn hinted(&self, cache: Cache, is_multicast: bool) -> Option<String> {
        let ptx = if is_multicast { self.multicast.as_ref()? } else { &self.ptx };
        let (opcode, _) = ptx.split_once(' ')?;
        cache.hinted(ptx, opcode).filter(|_| cache.l1.is_none())
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

impl MapLimits {
    /// Checks a map against the limits. `values` is the map with the numbers of a launch, and `map` its symbolic form, for messages.
    ///
    /// # Errors
    /// The number that breaks a limit, and the limit, as text.
    pub fn check<N: std::fmt::Display>(
        &self,
        map: &TensorMap<N>,
        values: &TensorMap<i64>,
    ) -> Result<(), String> {
        let (name, bits) = (&map.name, map.element.bits());
        let (rank, most) = (map.dims.len(), self.dims);
        let fits = (1..=most).contains(&rank)
            && map.extents.len() == rank
            && values.dims.len() == rank
            && values.strides.len() + 1 == rank;
        if !fits {
            return Err(format!("`{name}` has {rank} dimensions in bulk copies, which take 1 to {most}"));
        }
        if let Some((expr, dim)) = map.dims.iter().zip(&values.dims).find(|(_, n)| **n > self.dim) {
            let most = self.dim;
            return Err(format!(
                "the dimension `{expr}` of `{name}` is {dim}, and bulk copies take at most {most}"
            ));
        }
        // No copy uses the strides of an empty tensor. Copies do not use the stride of a dimension of one element either, but
        // the driver checks it. A stride of 0 repeats the elements.
        let is_empty = values.dims.contains(&0);
        let breaks = |stride: i64| !is_empty && (stride < 0 || stride % self.stride != 0);
        if let Some((expr, stride)) = map.strides.iter().zip(&values.strides).find(|(_, n)| breaks(**n)) {
            let unit = self.stride;
            return Err(format!(
                "the stride `{expr}` of `{name}` is {stride} bytes, and bulk copies take multiples of {unit}"
            ));
        }
        if let Some(extent) = map.extents.iter().find(|n| !(1..=self.r#box).contains(*n)) {
            let most = self.r#box;
            return Err(format!(
                "a box of `{name}` has {extent} elements along a dimension, and bulk copies take at most {most}"
            ));
        }
        if bits < 8 {
            return Err(format!("`{name}` has elements of {bits} bits, and bulk copies take whole bytes"));
        }
        let row = map.extents[0] * bits / 8;
        let (fits, wanted) = match SwizzleMode::of_map(map.swizzle) {
            None => return Err(format!("no tensor map swizzles {} bytes", map.swizzle)),
            Some(SwizzleMode::Plain) => (row.is_multiple_of(self.row), format!("a multiple of {}", self.row)),
            Some(mode) => {
                (row == mode.width_bytes(), format!("{} with {}", mode.width_bytes(), mode.phrase()))
            }
        };
        if !fits {
            return Err(format!("a row of a box of `{name}` has {row} bytes, and bulk copies take {wanted}"));
        }
        Ok(())
    }
}
