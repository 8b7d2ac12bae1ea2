//! Reads thread-value layouts that the user pinned as steps along the dimensions of a tensor, and rejects layouts that do not
//! deal out the tensor. The module is independent of the search for other layouts.

use hx_layout::Layout;
use hx_tile::tile_modes;

use crate::distribution::ThreadValueLayout;

/// Limit on the values of all threads and on the elements of the tile: larger ones fit the registers of no device.
const LIMIT: i64 = 1 << 22;

/// Returns the layout over a tensor of shape `shape`. Indices past the end of the last dimension are allowed and have no
/// meaning, as if threads did not divide the tensor.
///
/// # Errors
/// The defect of the layout, as text.
pub(crate) fn read(layout: &Layout, shape: &[i64], threads: i64) -> Result<ThreadValueLayout, String> {
    if layout.rank() != 2 {
        return Err(format!("it has {} modes, expected two: threads, and the values of each", layout.rank()));
    }
    let found = layout.mode(0).size();
    if found != threads {
        return Err(format!("its first mode counts {found} threads"));
    }
    let volume: i64 = shape.iter().product();
    if layout.size() > LIMIT || volume > LIMIT || layout.cosize() > LIMIT || layout.min_index() < 0 {
        return Err("its indices lie far outside".to_owned());
    }
    let modes = |mode| tile_modes(&layout.mode(mode), shape);
    let (Some(thread), Some(value)) = (modes(0), modes(1)) else {
        return Err("a mode runs over the end of a dimension".to_owned());
    };
    let thread_value = ThreadValueLayout::covering(shape, thread, value);
    dealt(layout, &thread_value, shape)?;
    Ok(thread_value)
}

/// Checks that some thread holds every element, that no thread holds one twice, that two threads with one element are
/// replicas of each other, and that the steps match the layout. The error is the defect, as text.
///
/// Threads are replicas if they differ in modes of stride 0 only. Sums, scans and stores count the elements of one of them. Threads that
/// share some elements under other strides have no owner that could be counted.
fn dealt(layout: &Layout, thread_value: &ThreadValueLayout, shape: &[i64]) -> Result<(), String> {
    let (threads, values) = (layout.mode(0), layout.mode(1));
    let mut held = vec![false; shape.iter().product::<i64>() as usize];
    // The last thread that held each index; threads count from 1.
    let mut last: Vec<i64> = vec![0; layout.cosize() as usize];
    for thread in 0..threads.size() {
        for value in 0..values.size() {
            let index = threads.eval(thread) + values.eval(value);
            if thread_value.coordinate(thread, value) != coordinate(index, shape) {
                return Err(format!("index {index} lies outside"));
            }
            let before = std::mem::replace(&mut last[index as usize], thread + 1) - 1;
            if before == thread {
                return Err(format!("thread {thread} holds index {index} twice"));
            }
            let inside = (index as usize) < held.len();
            if inside && before >= 0 && original(&threads, before) != original(&threads, thread) {
                return Err(format!(
                    "the threads {before} and {thread} both hold element {:?}, and a mode of stride 0 is the only way to have copies",
                    coordinate(index, shape)
                ));
            }
            if let Some(held) = held.get_mut(index as usize) {
                *held = true;
            }
        }
    }
    match held.iter().position(|held| !held) {
        Some(index) => Err(format!("no thread holds element {:?}", coordinate(index as i64, shape))),
        None => Ok(()),
    }
}

/// Returns the first of the threads that hold the same elements as `thread`, by the modes of stride 0.
fn original(threads: &Layout, thread: i64) -> i64 {
    let (mut rest, mut weight, mut first) = (thread, 1, 0);
    for &(extent, stride) in threads.leaves() {
        let along = rest % extent;
        rest /= extent;
        first += if stride == 0 { 0 } else { along * weight };
        weight *= extent;
    }
    first
}

/// Returns the coordinate of a colexicographic index. The index may lie past the end of the last dimension.
fn coordinate(index: i64, shape: &[i64]) -> Vec<i64> {
    let mut rest = index;
    let mut at: Vec<i64> = Vec::with_capacity(shape.len());
    for (d, extent) in shape.iter().enumerate() {
        let is_last = d + 1 == shape.len();
        at.push(if is_last { rest } else { rest % extent });
        rest /= extent;
    }
    at
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(layout: &str, shape: &[i64], threads: i64, want: Expect) {
        let layout: Layout = layout.parse().expect("a layout");
        let answer = match read(&layout, shape, threads) {
            Ok(thread_value) => format!(
                "{} threads, {} values, tile {:?}",
                thread_value.threads(),
                thread_value.values(),
                thread_value.tile
            ),
            Err(problem) => problem,
        };
        want.assert_eq(&answer);
    }

    #[test]
    fn pinned_layouts_deal_a_tensor_out() {
        check("(64,4):(1,64)", &[256], 64, expect!["64 threads, 4 values, tile [256]"]);
        check("((8,8),4):((1,32),8)", &[32, 8], 64, expect!["64 threads, 4 values, tile [32, 8]"]);
        check("(64,2):(1,64)", &[96], 64, expect!["64 threads, 2 values, tile [128]"]);
        check("((32,2),8):((1,0),32)", &[256], 64, expect!["64 threads, 8 values, tile [256]"]);
        check("((2,8,2),8):((0,1,64),8)", &[8, 16], 32, expect!["32 threads, 8 values, tile [8, 16]"]);
    }

    #[test]
    fn others_are_refused_with_the_reason() {
        check(
            "(64,2,2):(1,64,128)",
            &[256],
            64,
            expect!["it has 3 modes, expected two: threads, and the values of each"],
        );
        check("(32,8):(1,32)", &[256], 64, expect!["its first mode counts 32 threads"]);
        check("(64,8):(1,64)", &[256], 64, expect!["index 256 lies outside"]);
        check(
            "(64,4):(1,3)",
            &[256],
            64,
            expect![
                "the threads 0 and 3 both hold element [3], and a mode of stride 0 is the only way to have copies"
            ],
        );
        check(
            "(64,4):(8,4)",
            &[256],
            64,
            expect![
                "the threads 0 and 1 both hold element [8], and a mode of stride 0 is the only way to have copies"
            ],
        );
        check("(64,4):(1,1000000000000)", &[256], 64, expect!["its indices lie far outside"]);
        check("(64,4):(1000,1)", &[256], 64, expect!["a mode runs over the end of a dimension"]);
        check("(64,4):(1,0)", &[64], 64, expect!["thread 0 holds index 0 twice"]);
        check("(64,3):(1,64)", &[16, 16], 64, expect!["no thread holds element [0, 12]"]);
        check(
            "((8,4),4):((1,8),8)",
            &[8, 7],
            32,
            expect![
                "the threads 0 and 8 both hold element [0, 1], and a mode of stride 0 is the only way to have copies"
            ],
        );
        check(
            "((8,4),8):((1,32),8)",
            &[8, 16],
            32,
            expect![
                "the threads 0 and 8 both hold element [0, 4], and a mode of stride 0 is the only way to have copies"
            ],
        );
        check(
            "((8,4),4):((1,16),8)",
            &[8, 10],
            32,
            expect![
                "the threads 0 and 8 both hold element [0, 2], and a mode of stride 0 is the only way to have copies"
            ],
        );
        check(
            "((2,8,2),8):((0,1,32),8)",
            &[8, 12],
            32,
            expect![
                "the threads 1 and 16 both hold element [0, 4], and a mode of stride 0 is the only way to have copies"
            ],
        );
    }
}
