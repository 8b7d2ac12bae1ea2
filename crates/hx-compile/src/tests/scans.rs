//! Scans that the verifier refuses: of a right solution, one part of the scan is spoiled at a time.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;
use hx_tile::{Choice, ScanChoice, ScanLevel};

use crate::{default_instance, solved, test_db::TestDb, tile_program};

/// Two tensors that are scanned at once.
const PAIR: &str = "\
kernel pair(x: f32[m, 64], y: mut f32[m, 64]) grid [m] threads 32 {
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let (p, h) = scan((t, t), axis: 1, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));
    copy(p + h, tile(y, [1, 64])[.., .., block_idx, 0]);
}
";

/// Checks what the verifier reports if the scan of [`PAIR`] is spoiled.
fn check(spoil: impl Fn(&mut ScanChoice), want: Expect) {
    let (db, file) = TestDb::with_file(PAIR);
    let target = Target::usual();
    let kernel = file_items(&db, file).kernels().next().expect("the text has a kernel");
    let instance = default_instance(&db, kernel, target).expect("every parameter has a default");
    let program = &tile_program(&db, instance).as_ref().expect("the kernel is right").program;
    let solved = solved(&db, instance).as_ref().expect("the kernel has layouts");
    let mut spoiled = solved.solution.clone();
    let scan = spoiled.choices.values_mut().find_map(|choice| match choice {
        Choice::Scan(scan) => Some(scan),
        _ => None,
    });
    spoil(scan.expect("the kernel scans"));
    let found: Vec<String> = hx_verify::verify(program, &solved.program, &spoiled)
        .iter()
        .map(|found| found.message.clone())
        .collect();
    want.assert_eq(&found.join("\n"));
}

#[test]
fn a_scan_as_it_was_solved() {
    check(|_| {}, expect![""]);
}

#[test]
fn a_tensor_without_positions() {
    check(|scan| scan.src.truncate(1), expect!["2 tensors are scanned, with layouts for 1"]);
}

#[test]
fn a_digit_that_is_left_out() {
    check(|scan| scan.levels.truncate(scan.levels.len() - 1), expect!["the digits count 4 of 64"]);
}

#[test]
fn lanes_that_are_not_within_a_warp() {
    let far = |level: &mut ScanLevel| {
        if let ScanLevel::Lanes { unit, .. } = level {
            *unit *= 32;
        }
    };
    check(|scan| scan.levels.iter_mut().for_each(far), expect!["16 lanes 32 apart are not within a warp"]);
}
