//! Bulk copies: one thread moves a whole box or run between global and shared memory.
//!
//! A box is a part of a [`TensorMap`], which describes a tensor of global memory. In shared memory the elements of a box lie
//! one after the other, the first dimension fastest, under the swizzle of the map. Elements outside of the tensor are zero
//! when they are read, and are not written. A run has no map: its elements lie one after the other on both sides, and all of them
//! are inside of the tensor.

use hx_dtype::DType;
use hx_index::{EvalError, Expr, Symbol};
use hx_target::{BulkRow, MapLimits, Row, SwizzleMode};

use crate::Address;

/// A tensor of global memory as bulk copies see it. The launch encodes it, and the kernel takes it after the symbols.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorMap {
    /// Position of the tensor in [`crate::ThreadProgram::params`].
    pub param: u32,
    /// The extent of each dimension in elements. The first dimension has stride 1.
    pub dims: Vec<Expr>,
    /// For each dimension but the first, the bytes from an element to the next.
    pub strides: Vec<Expr>,
    /// The extents of a box.
    pub extents: Vec<u32>,
    /// The permutation of the elements of a box in shared memory.
    pub swizzle: SwizzleMode,
    /// The granularity of fetches into the L2 cache, in bytes: 64, 128 or 256; 0 lets the hardware fetch only the box.
    pub l2: u32,
    pub fill: Outside,
}

/// The value of an element outside of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outside {
    Zero,
    /// A NaN, for floating-point types.
    Nan,
}

/// The elements of global memory that a bulk copy moves. No expression depends on the thread.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    Box {
        /// Position in [`crate::ThreadProgram::maps`].
        map: u32,
        /// The coordinates of the first element of the box, in the order of the map's dimensions. They may be outside of the
        /// tensor.
        coordinates: Vec<Expr>,
    },
    Run {
        first: Address,
        elements: u32,
    },
}

/// A bulk copy from global to shared memory. One thread of the scope executes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bulk {
    pub row: Row<BulkRow>,
    pub from: Part,
    /// The first element in shared memory. It does not depend on the thread.
    pub address: Address,
    /// The barrier that counts the bytes, a position in [`crate::ThreadProgram::barriers`], and its stage.
    pub barrier: (u32, Expr),
    /// The ranks, in the cluster, of the blocks that get the elements; none for the executing block alone. Each gets them at the same
    /// address of its shared memory, and its own barrier counts the bytes.
    pub blocks: Vec<Expr>,
}

/// A bulk copy from shared to global memory. One thread of the scope executes it, always the same. It joins the thread's
/// current group of bulk copies.
#[derive(Clone, PartialEq, Debug)]
pub struct BulkStore {
    pub row: Row<BulkRow>,
    pub to: Part,
    /// The first element in shared memory. It does not depend on the thread.
    pub address: Address,
}

/// A tensor map with the numbers of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapValues {
    pub dims: Vec<i64>,
    /// In bytes; those of all dimensions but the first.
    pub strides: Vec<i64>,
}

impl TensorMap {
    /// Returns the bytes of a box.
    pub fn box_bytes(&self, dtype: DType) -> u32 {
        self.extents.iter().product::<u32>() * dtype.bits() / 8
    }

    /// Returns the extents and strides of a launch.
    ///
    /// # Errors
    /// If an expression has no value.
    pub fn values(&self, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> Result<MapValues, EvalError> {
        let all = |list: &[Expr]| list.iter().map(|e| e.eval(lookup)).collect::<Result<Vec<_>, _>>();
        Ok(MapValues { dims: all(&self.dims)?, strides: all(&self.strides)? })
    }

    /// Checks the limits that a target has for a map of `name`, a tensor of `dtype`.
    ///
    /// # Errors
    /// The number that breaks a limit, and the limit, as text.
    pub fn check(
        &self,
        name: &str,
        dtype: DType,
        values: &MapValues,
        limits: &MapLimits,
    ) -> Result<(), String> {
        let (rank, most) = (self.dims.len(), limits.dims);
        let fits = (1..=most).contains(&rank)
            && self.extents.len() == rank
            && values.dims.len() == rank
            && values.strides.len() + 1 == rank;
        if !fits {
            return Err(format!("`{name}` has {rank} dimensions in bulk copies, which take 1 to {most}"));
        }
        if let Some((expr, dim)) = self.dims.iter().zip(&values.dims).find(|(_, n)| **n > limits.dim) {
            let most = limits.dim;
            return Err(format!(
                "the dimension `{expr}` of `{name}` is {dim}, and bulk copies take at most {most}"
            ));
        }
        // No copy uses the strides of an empty tensor. One of a single element is not used either, but the driver checks it. A
        // stride of 0 repeats the elements.
        let is_empty = values.dims.contains(&0);
        let breaks = |stride: i64| !is_empty && (stride < 0 || stride % limits.stride != 0);
        if let Some((expr, stride)) = self.strides.iter().zip(&values.strides).find(|(_, n)| breaks(**n)) {
            let unit = limits.stride;
            return Err(format!(
                "the stride `{expr}` of `{name}` is {stride} bytes, and bulk copies take multiples of {unit}"
            ));
        }
        if let Some(extent) = self.extents.iter().find(|n| !(1..=limits.r#box).contains(*n)) {
            let most = limits.r#box;
            return Err(format!(
                "a box of `{name}` has {extent} elements along a dimension, and bulk copies take at most {most}"
            ));
        }
        if dtype.bits() < 8 {
            return Err(format!(
                "`{name}` has elements of {} bits, and bulk copies take whole bytes",
                dtype.bits()
            ));
        }
        let row = self.extents[0] * dtype.bits() / 8;
        let (fits, wanted) = match self.swizzle {
            SwizzleMode::Plain => (row.is_multiple_of(limits.row), format!("a multiple of {}", limits.row)),
            mode => (row == mode.width_bytes(), format!("{} with {}", mode.width_bytes(), mode.phrase())),
        };
        if !fits {
            return Err(format!("a row of a box of `{name}` has {row} bytes, and bulk copies take {wanted}"));
        }
        Ok(())
    }
}
