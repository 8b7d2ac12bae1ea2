//! Launches of kernels with a family.

use expect_test::{Expect, expect};

use super::{open, told};
use crate::TestOptions;

const KERNELS: &str = r#"
fn same(v: f32) -> f32 { v }
fn again(v: f32) -> f32 { v + 0.0 }

/// Moves tiles, each by a block.
#[family(whole<B = 1024>, whole<B = 64>, rows)]
kernel whole<B = 128, T: type = f32, F: fn = same>(x: T[n], y: mut T[n])
    where n % B == 0
    grid [n / B]
    threads 32
{
    copy(F(load(tile(x, [B])[.., block_idx])), tile(y, [B])[.., block_idx]);
    if block_idx == 0 {
        print("whole", B);
    }
}

/// Moves tiles, all of them by one block.
kernel rows<T: type = f32>(x: T[n], y: mut T[n]) grid [1] threads 32 {
    for i in 0..cdiv(n, 32) {
        copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., i]);
    }
    print("rows");
}
"#;

/// Runs a test on tensors of this extent, and compares what it prints, remarks and reports.
fn check(n: u32, body: &str, want: Expect) {
    let test = format!(
        "test \"t\" {{ let x = ones(f32, [{n}]); let y = empty(f32, [{n}]); {body} assert_eq(y, x); }}\n"
    );
    let source = format!("{KERNELS}{test}");
    let (db, file) = open(&source);
    want.assert_eq(&told(&db, file, &TestOptions::default()));
}

/// Few elements go to several small blocks, many to large ones.
#[test]
fn a_launch_takes_the_member_that_is_fastest_for_its_shape() {
    check(
        2048,
        "whole(x, y);",
        expect![[r#"
            | whole block [0]: whole B = 64
            `whole` runs as `whole<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 1024>`, 0.4 µs
            passed
        "#]],
    );
    check(
        1048576,
        "whole(x, y);",
        expect![[r#"
            | whole block [0]: whole B = 1024
            `whole` runs as `whole<B = 1024>`, 2.0 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 64>`, 3.7 µs
            passed
        "#]],
    );
}

#[test]
fn a_member_that_the_launch_does_not_fit_takes_no_part() {
    check(
        96,
        "whole(x, y);",
        expect![[r#"
        | rows block [0]: rows
        `whole` runs as `rows`, 1.0 µs by the cost model, the one member of its family that fits
        passed
    "#]],
    );
    // `rows` has no parameter `F`.
    check(
        64,
        "whole<F = again>(x, y);",
        expect![[r#"
        | whole block [0]: whole B = 64
        `whole` runs as `whole<B = 64>`, 0.3 µs by the cost model, the one member of its family that fits
        passed
    "#]],
    );
    // No member fits: the kernel itself says why.
    check(
        96,
        "whole<F = again>(x, y);",
        expect![[r#"
        HX0601 `whole<F = again>(x, y)`: `n % B == 0` does not hold with n = 96, B = 128
          at `n % B == 0`: `whole` relies on this
          note: the left side is 96, the right side is 0
    "#]],
    );
}

/// A parameter that decides between the members pins the kernel itself.
#[test]
fn a_launch_that_states_its_tile_is_itself() {
    check(
        2048,
        "whole<B = 128>(x, y);",
        expect![[r#"
        | whole block [0]: whole B = 128
        passed
    "#]],
    );
    check(
        2048,
        "rows(x, y);",
        expect![[r#"
        | rows block [0]: rows
        passed
    "#]],
    );
}

/// A second launch of a shape takes the member of the first one and repeats no remark.
#[test]
fn a_choice_is_kept() {
    check(
        2048,
        "whole(x, y); whole(x, y);",
        expect![[r#"
            | whole block [0]: whole B = 64
            | whole block [0]: whole B = 64
            `whole` runs as `whole<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 1024>`, 0.4 µs
            passed
        "#]],
    );
}

/// Runs a test of a kernel with the header `<…>` and the clause, whose `x` has the layout `of_x`, and compares what it prints, remarks and
/// reports.
fn check_auto((header, of_x): (&str, &str), clause: &str, call: &str, want: &Expect) {
    let source = format!(
        "kernel moved<{header}>(x: f32[n]{of_x}, y: mut f32[n]) where n % B == 0 {clause} grid [n / B] threads 32 {{
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
    if block_idx == 0 {{ print(B); }}
}}
test \"t\" {{ let x = ones(f32, [1048576]); let y = empty(f32, [1048576]); {call} assert_eq(y, x); }}
"
    );
    let (db, file) = open(&source);
    want.assert_eq(&told(&db, file, &TestOptions::default()));
}

/// The header leaves the parameter open, or the launch does. A layout that is `auto` is no choice of a launch.
#[test]
fn a_parameter_that_is_auto_takes_the_fastest_value_of_its_axis() {
    let want = expect![[r#"
        | moved block [0]: B = 1024
        `moved` runs as `moved<B = 1024>`, 2.0 µs by the cost model, the fastest of 2 members of its family that fit; next is `moved<B = 64>`, 3.7 µs
        passed
    "#]];
    let axis = "tune B in [64, 1024, 96]";
    check_auto(("B: int = auto", ""), axis, "moved(x, y);", &want);
    check_auto(("B = 64", ""), axis, "moved<B = auto>(x, y);", &want);
    check_auto(("B = 64, W: layout = auto", " : W"), axis, "moved<B = auto, W = auto>(x, y);", &want);
    check_auto(
        ("B: int = auto", ""),
        axis,
        "moved<B = 64>(x, y);",
        &expect![[r#"
            | moved block [0]: B = 64
            passed
        "#]],
    );
}

#[test]
fn auto_without_values_is_an_error() {
    check_auto(
        ("B = 64", ""),
        "",
        "moved<B = auto>(x, y);",
        &expect![[r#"
            HX0203 `auto`: `auto` has no values for `B` to choose from
              help: list them in the header of `moved`: `tune B in […]`
        "#]],
    );
    check_auto(
        ("B: int = auto", ""),
        "",
        "moved(x, y);",
        &expect![[r#"
            HX0228 `B`: `auto` has no values for `B` to choose from
              help: list them after the parameters: `tune B in […]`
        "#]],
    );
}
