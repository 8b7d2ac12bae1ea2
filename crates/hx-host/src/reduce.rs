//! Reductions over axes, and running sums.
//!
//! The order of additions is fixed, so a result depends neither on the machine nor on the number of threads.

use hx_base::interrupt::look;
use hx_dtype::Class;

use crate::arith::max_or_nan;
use crate::dense::{Dense, Numbers, show_shape};
use crate::error::{HostError, HostResult};
use crate::stretch::{STRETCH, map};

/// A reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    Sum,
    Prod,
    Max,
    Min,
    Mean,
    Any,
    All,
}

impl Reduction {
    /// Returns the name of the reduction as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Prod => "prod",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Mean => "mean",
            Reduction::Any => "any",
            Reduction::All => "all",
        }
    }
}

/// Converts an axis to a dimension. A negative axis counts from the end.
///
/// # Errors
/// If a tensor of this rank has no such axis.
pub fn axis_of(axis: i64, rank: usize) -> HostResult<usize> {
    let from_end = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_end)
        .ok()
        .filter(|&d| d < rank)
        .ok_or_else(|| HostError::index(format!("axis {axis} does not exist in a tensor of rank {rank}")))
}

/// Reduces over `axes`, or over all axes if `None`. With `keep`, the reduced dimensions stay with extent 1.
///
/// # Errors
/// If `max` or `min` combines no elements, `any` or `all` gets anything but truth values, or integers overflow 64 bits.
///
/// # Panics
/// If an axis is not below the rank; see [`axis_of`].
pub fn reduce(op: Reduction, a: &Dense, axes: Option<&[usize]>, keep: bool) -> HostResult<Dense> {
    let rank = a.shape.len();
    let mut axes: Vec<usize> = axes.map_or_else(|| (0..rank).collect(), <[usize]>::to_vec);
    axes.sort_unstable();
    axes.dedup();
    let count: usize = axes.iter().map(|&d| a.shape[d]).product();
    if count == 0 && matches!(op, Reduction::Max | Reduction::Min) {
        let shape = show_shape(&a.shape);
        return Err(HostError::shape(format!("`{}` of no elements: the shape is {shape}", op.name())));
    }
    let mut data = prepare(op, a.data.clone())?;
    let mut shape = a.shape.clone();
    if axes.len() == rank {
        data = along(op, &data, 1, a.data.len(), 1)?;
        shape.fill(1);
    } else {
        for &d in &axes {
            let outer = shape[..d].iter().product();
            let inner = shape[d + 1..].iter().product();
            data = along(op, &data, outer, shape[d], inner)?;
            shape[d] = 1;
        }
    }
    if op == Reduction::Mean {
        let scale = count as f64;
        data = Numbers::Float(data.into_floats().into_iter().map(|x| x / scale).collect());
    }
    if !keep {
        let kept = shape.iter().enumerate().filter(|(d, _)| !axes.contains(d));
        shape = kept.map(|(_, &n)| n).collect();
    }
    Ok(Dense { shape, data })
}

/// Converts the numbers to the class in which `op` works.
///
/// # Errors
/// If `op` is `any` or `all` and the numbers are no bools.
fn prepare(op: Reduction, data: Numbers) -> HostResult<Numbers> {
    match op {
        Reduction::Any | Reduction::All if data.class() != Class::Bool => {
            Err(HostError::ty(format!("`{}` needs bools", op.name())).help("compare first: `all(x == y)`"))
        }
        Reduction::Any | Reduction::All => Ok(data),
        Reduction::Mean => Ok(Numbers::Float(data.into_floats())),
        _ if data.class() == Class::Bool => Ok(Numbers::Int(data.into_ints().unwrap_or_default())),
        _ => Ok(data),
    }
}

fn along(op: Reduction, data: &Numbers, outer: usize, n: usize, inner: usize) -> HostResult<Numbers> {
    Ok(match data {
        Numbers::Float(v) if inner == 1 && matches!(op, Reduction::Sum | Reduction::Mean) => {
            Numbers::Float((0..outer).map(|o| pairwise_sum(&v[o * n..(o + 1) * n])).collect())
        }
        Numbers::Float(v) => match op {
            Reduction::Max => Numbers::Float(fold(v, outer, n, inner, f64::NEG_INFINITY, max_or_nan)),
            Reduction::Min => {
                Numbers::Float(fold(v, outer, n, inner, f64::INFINITY, |a, b| -max_or_nan(-a, -b)))
            }
            Reduction::Prod => Numbers::Float(fold(v, outer, n, inner, 1.0, |a, b| a * b)),
            _ => Numbers::Float(fold(v, outer, n, inner, 0.0, |a, b| a + b)),
        },
        Numbers::Int(v) => {
            type Step = fn(i64, i64) -> Option<i64>;
            let (start, f): (i64, Step) = match op {
                Reduction::Max => (i64::MIN, |a, b| Some(a.max(b))),
                Reduction::Min => (i64::MAX, |a, b| Some(a.min(b))),
                Reduction::Prod => (1, i64::checked_mul),
                _ => (0, i64::checked_add),
            };
            let wide = map(v, Some);
            let sums = fold(&wide, outer, n, inner, Some(start), |a, b| f(a?, b?));
            let sums: Option<Vec<i64>> = sums.into_iter().collect();
            let sums = sums.ok_or_else(|| HostError::arithmetic(format!("`{}` overflows i64", op.name())))?;
            Numbers::Int(sums)
        }
        Numbers::Bool(v) => Numbers::Bool(match op {
            Reduction::Any => fold(v, outer, n, inner, false, |a, b| a || b),
            _ => fold(v, outer, n, inner, true, |a, b| a && b),
        }),
    })
}

/// Folds the middle one of the extents `[outer, n, inner]`, in order.
fn fold<T: Copy>(v: &[T], outer: usize, n: usize, inner: usize, start: T, f: impl Fn(T, T) -> T) -> Vec<T> {
    let mut out = vec![start; outer * inner];
    let mut looked = 0;
    for o in 0..outer {
        let sums = &mut out[o * inner..(o + 1) * inner];
        for k in 0..n {
            looked += inner;
            if looked >= STRETCH {
                looked = 0;
                look();
            }
            let row = &v[(o * n + k) * inner..][..inner];
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum = f(*sum, x);
            }
        }
    }
    out
}

/// Sums pairwise: the error grows with the logarithm of the length.
fn pairwise_sum(v: &[f64]) -> f64 {
    if v.len() <= 64 {
        return v.iter().sum::<f64>() + 0.0;
    }
    if v.len() >= STRETCH {
        look();
    }
    let (left, right) = v.split_at(v.len() / 2);
    pairwise_sum(left) + pairwise_sum(right)
}

/// Returns the inclusive running sum along an axis.
///
/// # Errors
/// If integers overflow 64 bits.
///
/// # Panics
/// If `axis` is not below the rank; see [`axis_of`].
pub fn cumsum(a: &Dense, axis: usize) -> HostResult<Dense> {
    let n = a.shape[axis];
    let inner: usize = a.shape[axis + 1..].iter().product();
    let data = match &a.data {
        Numbers::Float(v) => Numbers::Float(scan(v, n, inner, |a, b| Some(a + b)).unwrap_or_default()),
        other => {
            let ints = other.clone().into_ints().unwrap_or_default();
            let sums = scan(&ints, n, inner, i64::checked_add);
            Numbers::Int(sums.ok_or_else(|| HostError::arithmetic("`cumsum` overflows i64"))?)
        }
    };
    Ok(Dense { shape: a.shape.clone(), data })
}

fn scan<T: Copy>(v: &[T], n: usize, inner: usize, f: impl Fn(T, T) -> Option<T>) -> Option<Vec<T>> {
    let mut out = v.to_vec();
    for i in inner..v.len() {
        if i.is_multiple_of(STRETCH) {
            look();
        }
        if n > 0 && !(i / inner).is_multiple_of(n) {
            out[i] = f(out[i - inner], v[i])?;
        }
    }
    Some(out)
}
