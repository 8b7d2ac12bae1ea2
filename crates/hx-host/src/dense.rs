//! Computed numbers: a row-major array of `f64`, `i64` or `bool`, in which all host arithmetic happens.
//!
//! It knows no storage formats and no views; those are in `tensor`.

use hx_dtype::{DType, packed_bytes};

use crate::error::HostResult;

/// The elements of a computed array.
#[derive(Clone, PartialEq, Debug)]
pub enum Numbers {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

/// What kind of number an array holds; arithmetic on floats yields `f64`, on integers `i64`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    Bool,
    Int,
    Float,
}

impl Class {
    /// The class that numbers of `dtype` compute in.
    pub fn of(dtype: DType) -> Class {
        if dtype.is_float() {
            Class::Float
        } else if dtype.is_int() {
            Class::Int
        } else {
            Class::Bool
        }
    }

    /// The element type of a computed array of this class.
    pub fn dtype(self) -> DType {
        match self {
            Class::Bool => DType::Bool,
            Class::Int => DType::I64,
            Class::Float => DType::F64,
        }
    }
}

impl Numbers {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Numbers::Float(v) => v.len(),
            Numbers::Int(v) => v.len(),
            Numbers::Bool(v) => v.len(),
        }
    }

    /// True for no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What kind of numbers these are.
    pub fn class(&self) -> Class {
        match self {
            Numbers::Float(_) => Class::Float,
            Numbers::Int(_) => Class::Int,
            Numbers::Bool(_) => Class::Bool,
        }
    }

    /// As floats; integers beyond 2^53 are rounded.
    pub fn into_floats(self) -> Vec<f64> {
        match self {
            Numbers::Float(v) => v,
            Numbers::Int(v) => v.into_iter().map(|x| x as f64).collect(),
            Numbers::Bool(v) => v.into_iter().map(|x| f64::from(u8::from(x))).collect(),
        }
    }

    /// As integers, if they are integers or booleans.
    pub fn into_ints(self) -> Option<Vec<i64>> {
        match self {
            Numbers::Float(_) => None,
            Numbers::Int(v) => Some(v),
            Numbers::Bool(v) => Some(v.into_iter().map(i64::from).collect()),
        }
    }

    /// The elements at `indices`, in that order.
    pub fn gather(&self, indices: &[usize]) -> Numbers {
        match self {
            Numbers::Float(v) => Numbers::Float(indices.iter().map(|&i| v[i]).collect()),
            Numbers::Int(v) => Numbers::Int(indices.iter().map(|&i| v[i]).collect()),
            Numbers::Bool(v) => Numbers::Bool(indices.iter().map(|&i| v[i]).collect()),
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
    /// An array of one element and no dimensions.
    pub fn scalar(data: Numbers) -> Dense {
        Dense { shape: Vec::new(), data }
    }

    /// The same elements repeated to `shape`, which must be a broadcast of this one's.
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

/// Strides, in elements, of a row-major array.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d].max(1);
    }
    strides
}

/// The number of elements of a shape, or an error where the machine has no room to compute with them.
///
/// Running out of memory would end the process, so whoever computes asks here first.
pub fn element_count(shape: &[usize]) -> HostResult<usize> {
    count_in_memory(shape, |n| n.checked_mul(size_of::<f64>()))
}

/// The number of elements of a shape, or an error where the machine has no room to hold them packed.
pub fn stored_count(dtype: DType, shape: &[usize]) -> HostResult<usize> {
    count_in_memory(shape, |n| Some(packed_bytes(dtype, n)))
}

fn count_in_memory(shape: &[usize], bytes: impl Fn(usize) -> Option<usize>) -> HostResult<usize> {
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    crate::memory::claim(count.and_then(bytes), || format!("a tensor of shape {}", show_shape(shape)))?;
    Ok(count.unwrap_or(0))
}

/// The shape that two shapes broadcast to.
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

/// Row-major strides of `from` seen as `to`: 0 where it repeats.
pub(crate) fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<usize> {
    let own = row_major(from);
    let pad = to.len() - from.len();
    (0..to.len())
        .map(|d| if d < pad || (from[d - pad] == 1 && to[d] != 1) { 0 } else { own[d - pad] })
        .collect()
}

/// Calls `f` with `start + Σ stride · coordinate` of every coordinate, in row-major order.
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
    loop {
        for i in 0..last {
            f(base + i * step);
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

/// `[2, 3]`.
pub fn show_shape(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(", "))
}
