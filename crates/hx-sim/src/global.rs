//! Tensors in global memory: their elements and bounds.
//!
//! A block never writes to a tensor directly. It copies each page that it touches of a tensor that the kernel may write
//! ([`crate::overlay`]). [`crate::history`] merges the pages in an order of the blocks that follows from the seed alone, so
//! that the outcome does not depend on scheduling.

use hx_dtype::DType;

use crate::error::Fault;

/// Bytes of a page. A page holds whole elements of every type.
pub(crate) const PAGE: usize = 256;

/// A tensor argument.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) mutable: bool,
    pub(crate) shape: Vec<i64>,
    pub(crate) stride: Vec<i64>,
    /// The simulated address of the first byte.
    pub(crate) address: i64,
    pub(crate) bytes: Vec<u8>,
    /// Number of elements from the first to one past the last.
    pub(crate) span: i64,
    /// Strides and extents from the widest stride down; `None` if every offset within the span is an element or the strides are
    /// not nested.
    gaps: Option<Vec<(i64, i64)>>,
}

impl Tensor {
    /// Checks the shape and stride against the bytes and makes the tensor.
    ///
    /// # Errors
    /// The text of the contradiction, and the bytes.
    pub(crate) fn new(
        name: &str,
        dtype: DType,
        mutable: bool,
        dims: (Vec<i64>, Vec<i64>),
        address: i64,
        bytes: Vec<u8>,
    ) -> Result<Tensor, (String, Vec<u8>)> {
        let (shape, stride) = dims;
        if shape.len() != stride.len() {
            return Err((format!("`{name}` has shape {shape:?} but stride {stride:?}"), bytes));
        }
        if shape.iter().chain(&stride).any(|x| *x < 0) {
            return Err((
                format!("`{name}` has shape {shape:?} and stride {stride:?}, which go below 0"),
                bytes,
            ));
        }
        let span = if shape.contains(&0) {
            Some(0)
        } else {
            shape.iter().zip(&stride).try_fold(1i64, |sum, (e, s)| sum.checked_add((e - 1).checked_mul(*s)?))
        };
        let held = bytes.len() as i128 * 8 / i128::from(dtype.bits());
        let Some(span) = span.filter(|s| i128::from(*s) <= held) else {
            let text =
                format!("`{name}` has {} bytes, too few for {dtype}{shape:?} : {stride:?}", bytes.len());
            return Err((text, bytes));
        };
        let gaps = gaps(&shape, &stride);
        Ok(Tensor { name: name.into(), dtype, mutable, shape, stride, address, bytes, span, gaps })
    }

    /// Returns the coordinate of the element at an offset, in elements; `None` as for the function [`coordinate`].
    pub(crate) fn coordinate(&self, offset: i64) -> Option<Vec<i64>> {
        coordinate(&self.shape, &self.stride, offset)
    }

    /// Returns the bytes of an element, or 1 if several elements share a byte.
    #[inline]
    pub(crate) fn unit(&self) -> usize {
        (self.dtype.bits() as usize / 8).max(1)
    }

    /// Returns the element that holds a byte.
    pub(crate) fn element_of(&self, byte: usize) -> i64 {
        (byte as u64 * 8 / u64::from(self.dtype.bits())) as i64
    }

    /// Returns the offset of the first of the `count` elements from `offset` on that lies outside of the tensor; `None` if all
    /// lie inside.
    #[inline]
    pub(crate) fn outside(&self, offset: i64, count: i64) -> Option<i64> {
        if offset < 0 {
            return Some(offset);
        }
        if offset > self.span - count {
            return Some(offset.max(self.span));
        }
        let gaps = self.gaps.as_ref()?;
        (offset..offset + count).find(|&at| {
            let mut rest = at;
            !gaps.iter().all(|&(stride, extent)| {
                let here = rest / stride;
                rest %= stride;
                here < extent
            }) || rest != 0
        })
    }

    pub(crate) fn out_of_bounds(&self, element: i64, write: bool) -> Fault {
        Fault::OutOfBounds {
            tensor: self.name.clone(),
            element,
            coord: self.coordinate(element),
            extent: format!("whose shape is {:?} : {:?}", self.shape, self.stride),
            write,
        }
    }
}

/// Returns the coordinate of the element at an offset, in elements, in a tensor of this shape and stride. `None` if coordinates
/// may share an offset (the strides are not nested), if the offset is negative, and if it lies in a gap between elements. An
/// offset behind the last element has a coordinate outside of the shape.
pub fn coordinate(shape: &[i64], stride: &[i64], offset: i64) -> Option<Vec<i64>> {
    nested(shape, stride).filter(|_| offset >= 0)?;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(stride[i]));
    let (mut coord, mut rest) = (vec![0; shape.len()], offset);
    for i in order {
        if shape[i] > 1 {
            coord[i] = rest.div_euclid(stride[i]);
            rest = rest.rem_euclid(stride[i]);
        }
    }
    (rest == 0).then_some(coord)
}

/// Returns stride and extent of each dimension of more than one element, from the widest stride down; `None` unless the strides
/// are nested: no two coordinates share an offset.
fn nested(shape: &[i64], stride: &[i64]) -> Option<Vec<(i64, i64)>> {
    let mut dims: Vec<(i64, i64)> =
        stride.iter().copied().zip(shape.iter().copied()).filter(|(_, extent)| *extent > 1).collect();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    let ordered = dims.windows(2).all(|w| w[0].0 >= w[1].0.saturating_mul(w[1].1));
    (ordered && dims.iter().all(|d| d.0 > 0)).then_some(dims)
}

fn gaps(shape: &[i64], stride: &[i64]) -> Option<Vec<(i64, i64)>> {
    let dims = nested(shape, stride)?;
    let dense =
        dims.windows(2).all(|w| w[0].0 == w[1].0 * w[1].1) && dims.last().is_none_or(|last| last.0 == 1);
    (!dense).then_some(dims)
}
