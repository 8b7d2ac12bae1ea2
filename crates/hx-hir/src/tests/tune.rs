//! Axes of `tune` clauses.

use expect_test::expect;

use super::check;

#[test]
fn axes_of_a_tune_clause() {
    check(
        "const MOST = 256;
kernel f<BM = 64, T: type = f16, FAST: bool = true, W: layout = auto, N>(c: mut f16[m])
    tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
    grid [1]
    threads 32
{
}
kernel g<A = 1, B = 1, C = 1, D = 1>(c: mut f16[m])
    tune A in 64..=MOST step 0, B in 5..=4, C in 1.., D in 0..1000000
    grid [1]
    threads 32
{
}
kernel right<A = 1, T: type = f16, F: bool = true>(c: mut T[m])
    tune A in 64..=MOST step MOST / 4, T in [f16, bf16], F in [true, false]
    grid [1]
    threads 32
{
}",
        expect![[r#"
            error[HX0228]: `N` has no default, no axis of `tune` names it, and no tensor determines it
              kernel f<BM = 64, T: type = f16, FAST: bool = true, W: layout = auto, N>(c: mut f16[m])
                                                                                    ^
              help: give it a default, `N = …`, or an axis, `N in […]`
            error[HX0228]: a value is listed twice
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                  ^^
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                              -- listed here first
            error[HX0203]: expected an integer, found a floating-point number
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                      ^^^
            error[HX0209]: expected a constant, found a value that only an instance or a launch knows
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                           ^
              help: write a number, `true` or `false`, an element type, or what follows from constants
            error[HX0203]: expected a list with an element type in each place, found a range for `T`
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                    ^^^^
              help: only integers have ranges
            error[HX0203]: expected `true` or `false`, found an integer
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                   ^
            error[HX0203]: `W` is a layout, expected a parameter that can be tuned
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                       ^
              help: integers, `bool` and `type` can be tuned; `auto` without a type, as in `B = auto`, is a layout
            error[HX0109]: expected a compile-time parameter, found `m`, a dimension of the launch
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                                    ^
              help: `tune` names parameters between `<` and `>`
            error[HX0101]: the kernel has no compile-time parameter `BN`
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                                              ^^
              help: its compile-time parameters without an axis are `N`
            error[HX0228]: `BM` has two axes
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                                                         ^^
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                       -- the first one is here
              help: write all its values in one list
            error[HX0101]: the kernel has no compile-time parameter `X`
                  tune BM in [64, 64, 1.5, m], T in 1..3, FAST in [1], W in [auto], m in [1], BN in [1], BM in 2..2, X in 4
                                                                                                                     ^
              help: its compile-time parameters without an axis are `N`
            error[HX0228]: found the step 0, expected at least 1
                  tune A in 64..=MOST step 0, B in 5..=4, C in 1.., D in 0..1000000
                                           ^
              help: values are tried from the start of the range upwards
            error[HX0228]: found no values, expected at least one
                  tune A in 64..=MOST step 0, B in 5..=4, C in 1.., D in 0..1000000
                                                   ^^^^^
              help: `a..b` ends before `b`, `a..=b` includes it
            error[HX0228]: found an open range, expected one with both ends
                  tune A in 64..=MOST step 0, B in 5..=4, C in 1.., D in 0..1000000
                                                               ^^^
              help: write `2..=6`, or `2..7` without the end
            error[HX0228]: found 1000000 values, expected at most 100000
                  tune A in 64..=MOST step 0, B in 5..=4, C in 1.., D in 0..1000000
                                                                         ^^^^^^^^^^
              help: a larger `step` leaves fewer values
        "#]],
    );
}
