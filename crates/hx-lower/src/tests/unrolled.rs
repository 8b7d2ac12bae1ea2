//! Loops with `#[unroll]`.

use expect_test::expect;

use super::check;
use super::programs::kernel;

#[test]
fn an_unrolled_loop_has_known_bounds() {
    check(
        &kernel(
            "#[unroll]
            for i in 0..cdiv(m, 64) { sync(); }
            for j in 0..4 {
                #[unroll]
                for i in j..4 { sync(); }
            }
            #[unroll]
            #[peel]
            for i in 0..BM {
                if i < m { sync(); }
            }",
        ),
        expect![[r#"
            error[HX0209]: found `#[unroll]` on a loop with the bound `(m + 63) / 64`, which is known only at run time
              #[unroll]
                ^^^^^^
              help: leave out `#[unroll]`, or give the loop bounds of numbers, constants and compile-time parameters
            error[HX0209]: found `#[unroll]` on a loop with the bound `j`, which is known only at run time
                              #[unroll]
                                ^^^^^^
              help: leave out `#[unroll]`, or give the loop bounds of numbers, constants and compile-time parameters
            error[HX0209]: found `#[unroll]` on a loop with the bound `min(64, m)`, which is known only at run time
                          #[unroll]
                            ^^^^^^
              help: leave out `#[unroll]`, or give the loop bounds of numbers, constants and compile-time parameters
        "#]],
    );
}

#[test]
fn an_unrolled_loop_in_an_unrolled_loop_has_known_bounds() {
    check(
        &kernel(
            "#[unroll]
            for j in 0..BM / BK {
                #[unroll]
                for i in j..4 { sync(); }
            }",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              for j in 0..4 unroll
                for i in j..4 unroll
                  #0 sync()
        "#]],
    );
}
