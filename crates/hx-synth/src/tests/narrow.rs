//! The cycles of narrow accesses, and of several loads of matrices.

use hx_target::{CopyRow, Target};

use crate::cost::{joined, latency};

fn row(name: &str) -> &'static CopyRow {
    hx_target::row::<CopyRow>(name).get()
}

#[test]
fn parts_of_registers_cost_instructions() {
    let of = |(name, width): (&str, i64)| joined(Target::usual(), 128, row(name), width);
    // Two elements of 4 bits in a byte, one of 8 bits, one of 16 bits, and whole registers.
    let parts = [("ld.shared.b8", 2), ("ld.shared.b8", 1), ("ld.global.b16", 1), ("ld.shared.v4.b32", 8)];
    assert_eq!(parts.map(of), [5.0, 1.5, 1.0, 0.0]);
    assert_eq!([("ldmatrix.x1", 8), ("cp.async.ca.4", 2)].map(of), [0.0, 0.0]);
}

#[test]
fn four_matrices_arrive_at_the_same_time_by_any_instructions() {
    let of = |name: &str, issues| latency(Target::usual(), row(name), issues);
    assert_eq!([of("ldmatrix.x1", 4.0), of("ldmatrix.x2", 2.0), of("ldmatrix.x4", 1.0)], [29.0; 3]);
    assert_eq!(
        [of("ldmatrix.x1", 1.0), of("ldmatrix.x4", 8.0), of("ld.shared.b32", 4.0)],
        [23.0, 29.0, 23.0]
    );
}
