//! Indexing: integers, ranges, `..` and `new`, as views.
//!
//! Unlike in NumPy, a range that leaves its dimension is an error and is not cut.

use crate::dense::show_shape;
use crate::error::{HostError, HostResult};
use crate::tensor::Tensor;

/// The selection from one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// An element; its dimension is removed. A negative index counts from the end.
    At(i64),
    /// A range; a missing end is that of the dimension. A negative index counts from the end.
    Range(Option<i64>, Option<i64>),
    /// A new dimension of extent 1.
    New,
}

impl Tensor {
    /// Returns the view that `indices` select. Omitted trailing dimensions are kept whole.
    ///
    /// # Errors
    /// If there are more indices than dimensions, an index or a bound of a range is outside of its dimension, or a range runs
    /// backwards.
    pub fn index(&self, indices: &[Index]) -> HostResult<Tensor> {
        let used = indices.iter().filter(|i| **i != Index::New).count();
        if used > self.shape().len() {
            return Err(HostError::index(format!(
                "{used} indices for a tensor of shape {}",
                show_shape(self.shape())
            )));
        }
        let (mut shape, mut strides, mut offset) = (Vec::new(), Vec::new(), self.offset());
        let mut d = 0;
        for index in indices {
            if *index == Index::New {
                shape.push(1);
                strides.push(0);
                continue;
            }
            let (extent, stride) = (self.shape()[d], self.strides()[d]);
            match *index {
                Index::At(i) => offset += position(i, extent, d, false)? * stride,
                Index::Range(start, end) => {
                    let start = start.map_or(Ok(0), |i| position(i, extent, d, true))?;
                    let end = end.map_or(Ok(extent), |i| position(i, extent, d, true))?;
                    if end < start {
                        return Err(HostError::index(format!(
                            "the range {start}..{end} of dimension {d} runs backwards"
                        )));
                    }
                    offset += start * stride;
                    shape.push(end - start);
                    strides.push(stride);
                }
                Index::New => {}
            }
            d += 1;
        }
        shape.extend(&self.shape()[d..]);
        strides.extend(&self.strides()[d..]);
        if shape.contains(&0) {
            // An empty selection starts at the view's own offset, so that its position stays inside of the buffer.
            offset = self.offset();
        }
        Ok(self.with_view(shape, strides, offset))
    }
}

fn position(i: i64, extent: usize, dimension: usize, is_end: bool) -> HostResult<usize> {
    let from_end = if i < 0 { i.checked_add_unsigned(extent as u64) } else { Some(i) };
    let limit = if is_end { extent } else { extent.saturating_sub(1) };
    from_end
        .and_then(|p| usize::try_from(p).ok())
        .filter(|&p| p <= limit && (is_end || extent > 0))
        .ok_or_else(|| {
            let what = if is_end { "the bound" } else { "index" };
            HostError::index(format!(
                "{what} {i} lies outside of dimension {dimension}, whose extent is {extent}"
            ))
        })
}
