//! Computed numbers: row-major arrays of `f64`, `i64` or `bool`, on which all host arithmetic works.
//!
//! Storage formats and views are in `tensor`, not here.

use hx_base::interrupt::look;
use hx_dtype::{Class, DType, packed_bytes};

use crate::error::HostResult;
use crate::stretch::{STRETCH, for_each, map};

/// The elements of a computed array.
#[derive(Clone, PartialEq, Debug)]
pub enum Numbers {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

impl Numbers {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Numbers::Float(v) => v.len(),
            Numbers::Int(v) => v.len(),
            Numbers::Bool(v) => v.len(),
        }
    }

    /// Reports whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element type of an array of the results of arithmetic.
    pub fn dtype(&self) -> DType {
        match self {
            Numbers::Float(_) => DType::F64,
            Numbers::Int(_) => DType::I64,
            Numbers::Bool(_) => DType::Bool,
        }
    }

    /// Returns the class of the numbers.
    pub fn class(&self) -> Class {
        match self {
            Numbers::Float(_) => Class::Float,
            Numbers::Int(_) => Class::Int,
            Numbers::Bool(_) => Class::Bool,
        }
    }

    /// Converts to floats; integers beyond 2^53 are rounded.
    pub fn into_floats(self) -> Vec<f64> {
        match self {
            Numbers::Float(v) => v,
            Numbers::Int(v) => map(&v, |x| x as f64),
            Numbers::Bool(v) => map(&v, |x| f64::from(u8::from(x))),
        }
    }

    /// Converts to integers, bools as 0 and 1; `None` for floats.
    pub fn into_ints(self) -> Option<Vec<i64>> {
        match self {
            Numbers::Float(_) => None,
            Numbers::Int(v) => Some(v),
            Numbers::Bool(v) => Some(map(&v, i64::from)),
        }
    }

    /// Returns the elements at `indices`, in that order.
    pub fn gather(&self, indices: &[usize]) -> Numbers {
        match self {
            Numbers::Float(v) => Numbers::Float(map(indices, |i| v[i])),
            Numbers::Int(v) => Numbers::Int(map(indices, |i| v[i])),
            Numbers::Bool(v) => Numbers::Bool(map(indices, |i| v[i])),
        }
    }
}

/// A computed array, row-major.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    pub shape: Vec<usize>,
    pub data: Numbers,
}

impl Dense {
    /// Makes an array of one element and no dimensions.
    pub fn scalar(data: Numbers) -> Dense {
        Dense { shape: Vec::new(), data }
    }

    /// Repeats the elements to `shape`. The array's own shape must broadcast to it.
    pub fn broadcast_to(&self, shape: &[usize]) -> Numbers {
        if self.shape == shape {
            return self.data.clone();
        }
        let strides = broadcast_strides(&self.shape, shape);
        let mut indices = Vec::with_capacity(shape.iter().product());
        for_each_offset(shape, &strides, 0, |i| indices.push(i));
        self.data.gather(&indices)
    }
}

/// Returns the strides of a row-major array, in elements.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d].max(1);
    }
    strides
}

/// Returns the number of elements of a shape.
///
/// # Errors
/// If 8 bytes for each element exceed the memory limit or the machine's memory. Running out of memory would end the process, so
/// every computation calls this before it allocates.
pub fn element_count(shape: &[usize]) -> HostResult<usize> {
    count_in_memory(shape, |n| n.checked_mul(size_of::<f64>()))
}

/// Returns the number of elements of a shape.
///
/// # Errors
/// If the packed elements exceed the memory limit or the machine's memory.
pub fn stored_count(dtype: DType, shape: &[usize]) -> HostResult<usize> {
    count_in_memory(shape, |n| Some(packed_bytes(dtype, n)))
}

fn count_in_memory(shape: &[usize], bytes: impl Fn(usize) -> Option<usize>) -> HostResult<usize> {
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    crate::memory::claim(count.and_then(bytes), || format!("a tensor of shape {}", show_shape(shape)))?;
    Ok(count.unwrap_or(0))
}

/// Returns the shape that two shapes broadcast to; `None` if two extents differ and neither is 1.
pub fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], d: usize| (d + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    (0..rank)
        .map(|d| match (at(a, d), at(b, d)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// Returns the row-major strides of `from` when broadcast to `to`: 0 in the dimensions that repeat.
pub(crate) fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<usize> {
    let own = row_major(from);
    let pad = to.len() - from.len();
    (0..to.len())
        .map(|d| if d < pad || (from[d - pad] == 1 && to[d] != 1) { 0 } else { own[d - pad] })
        .collect()
}

/// Calls `f` with `start + Σ stride · coordinate` for every coordinate, in row-major order.
pub(crate) fn for_each_offset(shape: &[usize], strides: &[usize], start: usize, mut f: impl FnMut(usize)) {
    if shape.contains(&0) {
        return;
    }
    let Some((&last, outer)) = shape.split_last() else {
        f(start);
        return;
    };
    let step = strides[outer.len()];
    let mut coordinate = vec![0; outer.len()];
    let mut base = start;
    let mut since = 0;
    loop {
        if last >= STRETCH {
            for_each(0..last, |i| f(base + i * step));
        } else {
            (0..last).for_each(|i| f(base + i * step));
            // Many short rows take as long as a long one, so elements are counted across rows.
            since += last;
            if since >= STRETCH {
                since = 0;
                look();
            }
        }
        let mut d = outer.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            coordinate[d] += 1;
            base += strides[d];
            if coordinate[d] < outer[d] {
                break;
            }
            base -= strides[d] * outer[d];
            coordinate[d] = 0;
        }
    }
}

/// Formats a shape: `[2, 3]`.
pub fn show_shape(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(", "))
}
