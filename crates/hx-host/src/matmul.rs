//! `@`: matrix products with NumPy's rules for vectors and batches.
//!
//! Every product is summed in the order of k, in blocks of fixed size, so the result does not depend on the number of threads.

use hx_base::interrupt::{Flag, look};
use hx_dtype::Class;
use rayon::prelude::*;

use crate::dense::{
    Dense, Numbers, broadcast_shape, broadcast_strides, element_count, for_each_offset, show_shape,
};
use crate::error::{HostError, HostResult};

/// The rows and columns of a register tile, and the number of terms that the tile sums before it is added to the result.
const ROWS: usize = 4;
const COLS: usize = 4;
const DEPTH: usize = 512;
/// The number of rows that one task computes.
const TASK_ROWS: usize = 32;

/// Evaluates `a @ b`: the product of `[m, k]` and `[k, n]`, with leading dimensions that broadcast. A vector is a row on the left and a
/// column on the right.
///
/// # Errors
/// If one of the two has no dimensions, the inner extents differ, the leading dimensions do not broadcast, integers overflow 64 bits, or
/// the machine has no room for the result.
pub fn matmul(a: &Dense, b: &Dense) -> HostResult<Dense> {
    let fail = || {
        HostError::shape(format!(
            "`@` cannot multiply shapes {} and {}",
            show_shape(&a.shape),
            show_shape(&b.shape)
        ))
    };
    if a.shape.is_empty() || b.shape.is_empty() {
        return Err(fail().note("scalars multiply with `*`"));
    }
    // A vector on the left is a row, on the right a column. Its dimension of extent 1 is dropped from the result.
    let row = a.shape.len() == 1;
    let column = b.shape.len() == 1;
    let left = if row { vec![1, a.shape[0]] } else { a.shape.clone() };
    let right = if column { vec![b.shape[0], 1] } else { b.shape.clone() };
    let (batch_a, m, k) = split(&left);
    let (batch_b, inner, n) = split(&right);
    if k != inner {
        return Err(fail().note(format!("the inner extents {k} and {inner} differ")));
    }
    let Some(batch) = broadcast_shape(batch_a, batch_b) else {
        return Err(fail().note("the leading dimensions do not broadcast"));
    };
    let mut shape = batch.clone();
    shape.extend((!row).then_some(m));
    shape.extend((!column).then_some(n));
    element_count(&shape)?;
    let pairs = pair_offsets(batch_a, batch_b, &batch, m * k, k * n);
    let data = if a.data.class() == Class::Float || b.data.class() == Class::Float {
        let (x, y) = (a.data.clone().into_floats(), b.data.clone().into_floats());
        let mut out = vec![0.0; pairs.len() * m * n];
        if m * n > 0 {
            for (c, &(i, j)) in out.chunks_mut(m * n).zip(&pairs) {
                product(c, &x[i..i + m * k], &y[j..j + k * n], [m, n, k]);
            }
        }
        Numbers::Float(out)
    } else {
        let (x, y) = (a.data.clone().into_ints(), b.data.clone().into_ints());
        Numbers::Int(int_products(&x.unwrap_or_default(), &y.unwrap_or_default(), &pairs, [m, n, k])?)
    };
    Ok(Dense { shape, data })
}

/// Splits a shape into its leading dimensions and the last two.
fn split(shape: &[usize]) -> (&[usize], usize, usize) {
    let (batch, last) = shape.split_at(shape.len() - 2);
    (batch, last[0], last[1])
}

/// Returns the positions, in elements, of the left and the right matrix of each product of the batch. `a`, `b` and `batch` are
/// the leading dimensions of the two sides and of the result; a matrix has `a_size` or `b_size` elements.
fn pair_offsets(
    a: &[usize],
    b: &[usize],
    batch: &[usize],
    a_size: usize,
    b_size: usize,
) -> Vec<(usize, usize)> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for_each_offset(batch, &broadcast_strides(a, batch), 0, |i| left.push(i * a_size));
    for_each_offset(batch, &broadcast_strides(b, batch), 0, |i| right.push(i * b_size));
    left.into_iter().zip(right).collect()
}

fn int_products(
    x: &[i64],
    y: &[i64],
    pairs: &[(usize, usize)],
    [m, n, k]: [usize; 3],
) -> HostResult<Vec<i64>> {
    let mut out = Vec::with_capacity(pairs.len() * m * n);
    for &(i0, j0) in pairs {
        for i in 0..m {
            for j in 0..n {
                look();
                let dot = (0..k).try_fold(0i64, |sum, p| {
                    sum.checked_add(x[i0 + i * k + p].checked_mul(y[j0 + p * n + j])?)
                });
                out.push(dot.ok_or_else(|| HostError::arithmetic("`@` overflows i64"))?);
            }
        }
    }
    Ok(out)
}

/// Computes `c = a · b` for row-major matrices of m×k and k×n; `c` starts as zeros.
fn product(c: &mut [f64], a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) {
    if k == 0 {
        return;
    }
    let flag = Flag::current();
    let panels = pack(b, n, k);
    let task = |(block, c): (usize, &mut [f64])| {
        let first = block * TASK_ROWS;
        let rows = c.len() / n;
        for start in (0..k).step_by(DEPTH) {
            if flag.is_raised() {
                return;
            }
            let depth = DEPTH.min(k - start);
            for (p, panel) in panels.chunks_exact(k * COLS).enumerate() {
                let panel = &panel[start * COLS..][..depth * COLS];
                for row in (0..rows).step_by(ROWS) {
                    let tile = register_tile(a, panel, [first + row, m, k, start]);
                    add_tile(&tile, c, [row, rows, p * COLS, n]);
                }
            }
        }
    };
    if m * n * k < 1 << 15 {
        c.chunks_mut(TASK_ROWS * n).enumerate().for_each(task);
    } else {
        c.par_chunks_mut(TASK_ROWS * n).enumerate().for_each(task);
    }
    // Tasks that see the flag return early, and `c` is incomplete: unwind here instead of returning it.
    look();
}

/// Packs `b` in panels of [`COLS`] columns. Each panel is row-major, and the last is padded with columns of zeros.
fn pack(b: &[f64], n: usize, k: usize) -> Vec<f64> {
    let count = n.div_ceil(COLS);
    let mut panels = vec![0.0; count * k * COLS];
    for (p, panel) in panels.chunks_exact_mut(k * COLS).enumerate() {
        look();
        let from = p * COLS;
        let width = COLS.min(n - from);
        for (row, out) in panel.chunks_exact_mut(COLS).enumerate() {
            out[..width].copy_from_slice(&b[row * n + from..][..width]);
        }
    }
    panels
}

/// Computes the product of [`ROWS`] rows of `a` with a panel. `row` is the first row, and `start` the column of `a` at which the
/// panel's depth begins. Rows past the end repeat the last row.
fn register_tile(a: &[f64], panel: &[f64], [row, m, k, start]: [usize; 4]) -> [[f64; COLS]; ROWS] {
    let depth = panel.len() / COLS;
    let line = |r: usize| &a[(row + r).min(m - 1) * k + start..][..depth];
    let (a0, a1, a2, a3) = (line(0), line(1), line(2), line(3));
    let mut tile = [[0.0; COLS]; ROWS];
    for ((((b, &x0), &x1), &x2), &x3) in panel.chunks_exact(COLS).zip(a0).zip(a1).zip(a2).zip(a3) {
        for (sums, x) in tile.iter_mut().zip([x0, x1, x2, x3]) {
            for (sum, &y) in sums.iter_mut().zip(b) {
                *sum += x * y;
            }
        }
    }
    tile
}

fn add_tile(tile: &[[f64; COLS]; ROWS], c: &mut [f64], [row, rows, column, n]: [usize; 4]) {
    let width = COLS.min(n - column);
    for (r, sums) in tile.iter().enumerate().take(rows - row) {
        let out = &mut c[(row + r) * n + column..][..width];
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += sum;
        }
    }
}
