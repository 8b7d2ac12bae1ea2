//! Numbers that get a local of the program, and those that are written out at each use.

use expect_test::expect;

use super::check;

#[test]
fn an_argument_that_divides_is_computed_before_the_loops_of_the_function() {
    check(
        "
fn copy_columns(x: f32[m, n, i, j], y: mut f32[32, 32], at: i64) {
    for c in 0..j {
        copy(load(x[.., .., at, c]), y);
    }
}

kernel k(x: f32[m, n], y: mut f32[32, 32], parts: i64)
    where parts > 0
    grid [8]
    threads 32
{
    copy_columns(tile(x, [32, 32]), y, block_idx / parts);
}
",
        expect![[r#"
            kernel k threads 32
              grid [8]
              param x: f32[m, n] : [n, 1] align 16
              param y: mut f32[32, 32] : [32, 1] align 16
              param parts: i64
              where parts > 0
              fact m % 16 == 0
              fact n % 16 == 0
              register x_tile: f32[32, 32]
              let at = block_idx.x / parts
              for c in 0..(n + 31) / 32
                #0 copy(x[at * 32 + 0..32, c * 32 + 0..32], x_tile)
                #1 copy(x_tile, y[0..32, 0..32])
        "#]],
    );
}
