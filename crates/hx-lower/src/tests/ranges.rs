//! Bounds of ranges.

use expect_test::expect;

use super::check;

/// The bounds of a range are 64-bit integers: a sum in a bound need not fit the type of a narrow start.
#[test]
fn the_sum_in_a_bound_does_not_wrap() {
    check(
        "kernel f(x: i32[n], b: i8, y: mut i32[n]) where b >= 0, b <= 4 grid [1] threads 32 {
            copy(load(x[b..b + 256]), y[b + 2 + 200..b + 458]);
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: i32[n] : [1] align 16
              param b: i8
              param y: mut i32[n] : [1] align 16
              where b >= 0
              where b <= 4
              fact n % 16 == 0
              register x_tile: i32[256]
              #0 copy(x[b + 0..256], x_tile)
              #1 copy(x_tile, y[b + 202 + 0..256])
        "#]],
    );
}
