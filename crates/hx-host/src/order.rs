//! Functions that depend on the order of numbers, `argmax`, `argmin` and `sort`, and `flip`, which reverses it.

use std::cmp::Ordering;

use crate::dense::{Dense, Numbers};
use crate::error::{HostError, HostResult};
use crate::tensor::{HostTensor, Tensor};

/// Returns the position along `axis` of the largest or the least element of each line, the first of equal ones. NaN is skipped,
/// as in kernels; a line of only NaN has position 0. The axis is removed unless `keep` is set.
///
/// # Errors
/// If the axis has no elements.
pub(crate) fn position(largest: bool, a: &Dense, axis: usize, keep: bool) -> HostResult<Dense> {
    if a.shape[axis] == 0 {
        let name = if largest { "argmax" } else { "argmin" };
        return Err(HostError::shape(format!("`{name}` of no elements")));
    }
    let positions = along(a, axis, |line, order| {
        let is_nan = |x: usize| matches!(&a.data, Numbers::Float(v) if v[x].is_nan());
        let better = |x: usize, best: usize| match order(line[x], line[best]) {
            _ if is_nan(line[x]) => false,
            _ if is_nan(line[best]) => true,
            Ordering::Greater => largest,
            Ordering::Less => !largest,
            Ordering::Equal => false,
        };
        let best = (1..line.len()).fold(0, |best, x| if better(x, best) { x } else { best });
        vec![best as i64]
    });
    let mut shape = a.shape.clone();
    if keep {
        shape[axis] = 1;
    } else {
        shape.remove(axis);
    }
    Ok(Dense { shape, data: Numbers::Int(positions) })
}

/// Sorts each line of `axis`, the least element first; NaN comes last.
pub(crate) fn sort(a: &Dense, axis: usize) -> Dense {
    let sorted = along(a, axis, |line, order| {
        let mut line: Vec<usize> = line.to_vec();
        line.sort_by(|x, y| order(*x, *y));
        line.into_iter().map(|at| at as i64).collect()
    });
    let at: Vec<usize> = sorted.into_iter().map(|at| at as usize).collect();
    Dense { shape: a.shape.clone(), data: a.data.gather(&at) }
}

/// Returns a new tensor with the elements of each line of `axis` in reverse order.
pub(crate) fn flip(t: &Tensor, axis: usize) -> Tensor {
    let shape = t.shape();
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let bits = t.bits();
    let mirrored = |i: usize| {
        let along = i / inner % n;
        bits[i + (n - 1 - along) * inner - along * inner]
    };
    let flipped: Vec<u64> = (0..bits.len()).map(mirrored).collect();
    Tensor::from_host(HostTensor::of_bits(t.dtype(), shape, &flipped))
}

/// Calls `f` for each line along `axis`, with the row-major indices of its elements and a function that compares two elements by
/// index. Returns the numbers of all lines in row-major order, with those of a line along the axis.
fn along(
    a: &Dense,
    axis: usize,
    f: impl Fn(&[usize], &dyn Fn(usize, usize) -> Ordering) -> Vec<i64>,
) -> Vec<i64> {
    let n = a.shape[axis];
    let inner: usize = a.shape[axis + 1..].iter().product();
    let outer: usize = a.shape[..axis].iter().product();
    let order = |x: usize, y: usize| match &a.data {
        Numbers::Float(v) => v[x].partial_cmp(&v[y]).unwrap_or_else(|| v[x].is_nan().cmp(&v[y].is_nan())),
        Numbers::Int(v) => v[x].cmp(&v[y]),
        Numbers::Bool(v) => v[x].cmp(&v[y]),
    };
    let mut out = Vec::new();
    for o in 0..outer {
        let columns: Vec<Vec<i64>> = (0..inner)
            .map(|i| {
                let line: Vec<usize> = (0..n).map(|k| (o * n + k) * inner + i).collect();
                f(&line, &order)
            })
            .collect();
        let count = columns.first().map_or(0, Vec::len);
        out.extend((0..count).flat_map(|k| columns.iter().map(move |column| column[k])));
    }
    out
}
