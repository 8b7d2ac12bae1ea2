//! Blocks of a packed tensor in every gap-free order: each order moves 16 bytes at a time, asynchronously into shared memory and through
//! registers, and arrives.

use std::fmt::Write as _;

use crate::support::{Sandbox, seed};

/// Moves a tile through shared memory, and through registers alone.
const KERNEL: &str =
    "kernel moved<T: type, W: layout>(w: T[n, k] : W, y: mut T[n, k] : W, z: mut T[n, k] : W)
    where n == 128, k == 64
    grid [n / 64]
    threads 64
{
    let [b] = block_idx;
    let s = shared_tensor(T, [64, 64]);
    copy_async(tile(w, [64, 64])[.., .., b, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [64, 64])[.., .., b, 0]);
    copy(load(tile(w, [64, 64])[.., .., b, 0]), tile(z, [64, 64])[.., .., b, 0]);
}
";

/// The number of orders of which a run takes one, the first by its seed.
const STEP: usize = 4;

/// Two dimensions of a block as digits, which memory may order in any way: `(8, 2) × (2, 4, 2)`.
type Digits = (&'static [i64], &'static [i64]);

/// Returns the layouts of a block whose digits lie in each order.
fn orders((rows, columns): Digits) -> Vec<String> {
    let extents: Vec<i64> = rows.iter().chain(columns).copied().collect();
    let text = |numbers: &[i64]| {
        let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
        format!("({})", texts.join(", "))
    };
    let layout = |order: Vec<usize>| {
        let (mut strides, mut next) = (vec![0; extents.len()], 1);
        for digit in order {
            strides[digit] = next;
            next *= extents[digit];
        }
        let (own, others) = strides.split_at(rows.len());
        format!("({}, {}) : ({}, {})", text(rows), text(columns), text(own), text(others))
    };
    permutations(extents.len()).into_iter().map(layout).collect()
}

fn permutations(length: usize) -> Vec<Vec<usize>> {
    let Some(last) = length.checked_sub(1) else { return vec![vec![]] };
    let with_last = |shorter: Vec<usize>| {
        (0..=last).map(move |at| {
            let mut longer = shorter.clone();
            longer.insert(at, last);
            longer
        })
    };
    permutations(last).into_iter().flat_map(with_last).collect()
}

/// Runs the orders of a block of a type on the simulator. `values` makes `[128, 64]` of them.
fn check(dtype: &str, values: &str, digits: Digits) {
    let orders = orders(digits);
    let first = seed() as usize % STEP;
    let mut text = KERNEL.to_owned();
    for (at, order) in orders.iter().enumerate().skip(first).step_by(STEP) {
        _ = write!(
            text,
            "test \"{order}\" {{
    let v = {values}, seed: {at});
    let empty = zeros({dtype}, [128, 64]);
    let (w, y, z) = (pack(v, {order}), pack(empty, {order}), pack(empty, {order}));
    moved<W = {order}>(w, y, z);
    assert_eq(y, w);
    assert_eq(z, w);
    assert(bytes_per_access(\"w\") == 16 && bytes_per_access(\"y\") == 16 && bytes_per_access(\"z\") == 16);
}}
"
        );
    }
    let ran = Sandbox::with("orders.hx", &text).run(&["test", "orders.hx", "--device", "sim"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn of_four_bits() {
    check("u4", "uniform(u4, [128, 64], low: 0, high: 16", (&[8, 2], &[2, 4, 2]));
    check("u4", "uniform(u4, [128, 64], low: 0, high: 16", (&[8], &[2, 2, 2, 4]));
    // Blocks of 64 bytes.
    check("u4", "uniform(u4, [128, 64], low: 0, high: 16", (&[8], &[2, 4, 2]));
}

#[test]
fn of_bytes() {
    check("u8", "uniform(u8, [128, 64], low: 0, high: 256", (&[8, 2], &[2, 4, 2]));
}

#[test]
fn of_two_bytes() {
    check("f16", "randn(f16, [128, 64]", (&[8, 2], &[2, 4, 2]));
}
