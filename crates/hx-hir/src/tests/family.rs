//! Families of kernels.

use expect_test::expect;

use super::check;

#[test]
fn members_are_kernels_with_constant_arguments() {
    check(
        "const WIDE = 256;
#[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
    fewer, helper, missing, 3)]
#[family(f)]
kernel f<B = 64, FAST: bool = true, T: type = f16>(x: T[n], y: mut T[n]) grid [1] threads 32 { }
#[family()]
kernel other<T: type = f16>(x: T[n], y: mut T[n]) grid [1] threads 32 { }
kernel fewer<T: type = f16>(x: T[n]) grid [1] threads 32 { }
#[family(f)]
fn helper(v: f32) -> f32 { v }
",
        expect![[r#"
            error[HX0231]: this member is listed twice
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                                        ^^^^^^^^^^
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                       --------------- listed here first
            error[HX0101]: the kernel has no compile-time parameter `C`
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                                                                                              ^^^^^^^^
              help: its compile-time parameters are `B`, `FAST`, `T`
            error[HX0101]: nothing in scope is called `n`
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                                                                                                              ^
            error[HX0231]: this is no constant value for `B`
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                                                                                                                        ^^^^
              help: members are given integers, `true` or `false`, and element types
            error[HX0231]: this is no constant value for `FAST`
              #[family(f<B = WIDE / 2>, f<B = 128>, f<B = 64, FAST = false>, other<T = bf16>, f<C = 1>, f<B = n>, f<B = true>, f<FAST = (1 < 2)>,
                                                                                                                                         ^^^^^
              help: members are given integers, `true` or `false`, and element types
            error[HX0231]: this kernel takes `(x)`, and the one before which it is listed `(x, y)`
                  fewer, helper, missing, 3)]
                  ^^^^^
              help: the members of a family take the same arguments in the same order
            error[HX0231]: expected a kernel, as a member of a family
                  fewer, helper, missing, 3)]
                         ^^^^^^
              help: a member is a name, or a name with compile-time arguments: `tiles<BN = 128>`
            error[HX0101]: nothing in scope is called `missing`
                  fewer, helper, missing, 3)]
                                 ^^^^^^^
            error[HX0231]: expected a kernel, as a member of a family
                  fewer, helper, missing, 3)]
                                          ^
              help: a member is a name, or a name with compile-time arguments: `tiles<BN = 128>`
            error[HX0231]: a kernel has one family: this list is not read
              #[family(f)]
                ^^^^^^
              help: put all members into the first one
            error[HX0231]: the family of this kernel has no members
              kernel other<T: type = f16>(x: T[n], y: mut T[n]) grid [1] threads 32 { }
                     ^^^^^
              help: list kernels with their arguments, `#[family(tiles<BN = 128>, split)]`
            error[HX0107]: no attribute here is called `family`
              #[family(f)]
                ^^^^^^
        "#]],
    );
}

#[test]
fn auto_takes_the_values_of_an_axis() {
    check(
        "#[family(f<B = auto>, f<B = 8>, f<T = auto>)]
kernel f<B = 64, T: type = f16>(x: T[n], y: mut T[n]) tune B in [64, 128] grid [1] threads 32 { }
#[family(g<B = auto, C = auto>)]
kernel g<B = 64, C = 1, T: type = f16>(x: T[n], y: mut T[n]) tune B in 1..=40, C in [1, 2] grid [1] threads 32 { }
kernel h<B: int = auto, FAST: bool = auto>(x: f16[n]) tune B in 1..=40, FAST in [true, false] grid [1] threads 32 { }
kernel i<B: int = auto, C = auto>(x: f16[n]) tune C in [1, 2] grid [1] threads 32 { }
kernel j<B: int = auto, W: f32 = auto>(x: f16[n]) tune B in [1, 2] grid [1] threads 32 { }
",
        expect![[r#"
            error[HX0231]: `auto` has no values for `T` to choose from
              #[family(f<B = auto>, f<B = 8>, f<T = auto>)]
                                                    ^^^^
              help: list them in the `tune` clause of the kernel: `tune T in […]`
            error[HX0231]: the family has 80 members, expected at most 64
              #[family(g<B = auto, C = auto>)]
                       ^^^^^^^^^^^^^^^^^^^^^
              help: the first launch of a shape estimates each member: give `auto` fewer values in the `tune` clause
            error[HX0231]: the family has 80 members, expected at most 64
              kernel h<B: int = auto, FAST: bool = auto>(x: f16[n]) tune B in 1..=40, FAST in [true, false] grid [1] threads 32 { }
                     ^
              help: the first launch of a shape estimates each member: give `auto` fewer values in the `tune` clause
            error[HX0228]: `auto` has no values for `B` to choose from
              kernel i<B: int = auto, C = auto>(x: f16[n]) tune C in [1, 2] grid [1] threads 32 { }
                       ^
              help: list them after the parameters: `tune B in […]`
            error[HX0203]: `C` is a layout, expected a parameter that can be tuned
              kernel i<B: int = auto, C = auto>(x: f16[n]) tune C in [1, 2] grid [1] threads 32 { }
                                                                ^
              help: integers, `bool` and `type` can be tuned; `auto` without a type, as in `B = auto`, is a layout
            error[HX0228]: `auto` has no values for `W` to choose from
              kernel j<B: int = auto, W: f32 = auto>(x: f16[n]) tune B in [1, 2] grid [1] threads 32 { }
                                      ^
              help: list them after the parameters: `tune W in […]`
            error[HX0203]: found a layout, expected a floating-point number
              kernel j<B: int = auto, W: f32 = auto>(x: f16[n]) tune B in [1, 2] grid [1] threads 32 { }
                                               ^^^^
        "#]],
    );
}
