//! Tensor maps: one description of a tensor in global memory as bulk copies address it.
//!
//! A thread program has it with symbolic extents and strides, a launch with numbers ([`TensorMap::evaluated`]). In that form the
//! simulator copies by it, and it travels to the worker, which encodes it for the driver. Everything that the driver and JSON
//! call by names or numbers of their own is here: [`MapElement`], [`DriverNumbers`], [`Described`].
//!
//! Invariant: the crate knows no program, no device and no limit of a target. Those check a map: `MapLimits` in `hx-target`.
//!
//! Start at [`TensorMap`].

mod element;
#[cfg(test)]
mod tests;

use hx_dtype::DType;
use serde::{Deserialize, Serialize};

pub use element::{MapElement, carrier};

/// A tensor of global memory as bulk copies see it, with extents and strides of type `N`: what `cuTensorMapEncodeTiled` takes,
/// without interleaving and with element strides of 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TensorMap<N = i64> {
    /// The position, among the kernel's parameters, of the tensor's pointer.
    pub param: u32,
    /// Name of that parameter.
    pub name: String,
    pub element: DType,
    /// The extent of each dimension in elements, the innermost first. The innermost dimension has stride 1.
    pub dims: Vec<N>,
    /// In bytes, of all dimensions but the innermost.
    pub strides: Vec<N>,
    /// The extents of a box in elements, innermost first.
    pub extents: Vec<u32>,
    /// The bytes of a row of a box whose 16-byte pieces are permuted in shared memory: 32, 64 or 128; 0 for none.
    pub swizzle: u32,
    /// The granularity of fetches into the L2 cache, in bytes: 64, 128 or 256; 0 lets the hardware fetch only the box.
    pub l2: u32,
    pub fill: Outside,
}

/// The value of an element outside of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    Zero,
    /// A NaN, for floating-point types.
    Nan,
}

/// The numbers of a map in the driver's enumerations (CUDA driver API, `cuTensorMapEncodeTiled`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriverNumbers {
    /// The `CUtensorMapDataType` is [`MapElement::number`].
    pub element: MapElement,
    /// `CUtensorMapSwizzle`
    pub swizzle: u32,
    /// `CUtensorMapL2promotion`
    pub l2: u32,
    /// `CUtensorMapFloatOOBfill`
    pub fill: u32,
}

/// A map as JSON describes it to other programs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Described {
    /// Name of the tensor's parameter.
    pub param: String,
    pub element: DType,
    pub rank: usize,
    /// In elements, innermost first.
    pub dims: Vec<String>,
    /// In bytes, of all dimensions but the innermost.
    pub strides: Vec<String>,
    /// The extents of a box in elements, innermost first.
    #[serde(rename = "box")]
    pub extents: Vec<u32>,
    /// 0, 32, 64 or 128 bytes.
    pub swizzle: u32,
    /// The granularity of fetches into the L2 cache, in bytes; 0 lets the hardware fetch only the box.
    pub l2: u32,
    /// The elements outside of the tensor: `zero` or `nan`.
    pub fill: Outside,
}

impl<N> TensorMap<N> {
    /// Returns a map without dimensions and swizzle, whose elements outside are 0. Struct literals end with it, and name the
    /// other fields.
    pub fn plain(param: u32, name: &str, element: DType) -> TensorMap<N> {
        TensorMap {
            param,
            name: name.to_owned(),
            element,
            dims: Vec::new(),
            strides: Vec::new(),
            extents: Vec::new(),
            swizzle: 0,
            l2: 0,
            fill: Outside::Zero,
        }
    }

    /// Returns the map with the values of its extents and strides.
    ///
    /// # Errors
    /// The first error of `value`.
    pub fn evaluated<M, E>(&self, value: impl Fn(&N) -> Result<M, E>) -> Result<TensorMap<M>, E> {
        let all = |list: &[N]| list.iter().map(&value).collect::<Result<Vec<M>, E>>();
        Ok(TensorMap {
            param: self.param,
            name: self.name.clone(),
            element: self.element,
            dims: all(&self.dims)?,
            strides: all(&self.strides)?,
            extents: self.extents.clone(),
            swizzle: self.swizzle,
            l2: self.l2,
            fill: self.fill,
        })
    }

    /// Returns the map as JSON describes it, with the texts of its extents and strides.
    pub fn described(&self, text: impl Fn(&N) -> String) -> Described {
        let all = |list: &[N]| list.iter().map(&text).collect();
        Described {
            param: self.name.clone(),
            element: self.element,
            rank: self.dims.len(),
            dims: all(&self.dims),
            strides: all(&self.strides),
            extents: self.extents.clone(),
            swizzle: self.swizzle,
            l2: self.l2,
            fill: self.fill,
        }
    }

    /// Returns the driver's numbers for the map.
    ///
    /// # Errors
    /// If the driver has no number for a field, as text.
    pub fn driver(&self) -> Result<DriverNumbers, String> {
        let Some(element) = MapElement::of(self.element) else {
            return Err(format!("bulk copies have no elements of type {}", self.element));
        };
        let swizzle = match self.swizzle {
            0 => 0,
            32 => 1,
            64 => 2,
            128 => 3,
            other => return Err(format!("no tensor map swizzles {other} bytes")),
        };
        let l2 = match self.l2 {
            0 => 0,
            64 => 1,
            128 => 2,
            256 => 3,
            other => return Err(format!("no tensor map promotes {other} bytes")),
        };
        let fill = match self.fill {
            Outside::Zero => 0,
            Outside::Nan => 1,
        };
        Ok(DriverNumbers { element, swizzle, l2, fill })
    }
}
