//! Reductions that read the zeros beyond the end of a tensor.

use expect_test::{Expect, expect};

use super::check;

/// Checks a kernel whose body reduces tiles of `x`, a matrix of `m` rows and `n` columns.
fn check_body(header: &str, body: &str, want: Expect) {
    check(&format!("kernel k(x: {header}\n    grid [cdiv(m, 8)]\n    threads 128\n{{\n{body}\n}}\n"), want);
}

const OUT: &str = "f32[m, n], y: mut f32[m])";

#[test]
fn zeros_under_a_maximum_are_told() {
    check_body(
        OUT,
        "    let t = load(tile(x, [8, 128])[.., .., block_idx, 0]);
    copy(max(t, axis: 1)[.., 0], tile(y, [8])[.., block_idx]);",
        expect![[r#"
            HX0310 `max(t, axis: 1)` `max` along axis 1 reads padding beyond the end of `x`, which is 0.0 here
              `load(tile(x, [8, 128])[.., .., block_idx, 0])`: dimension 1 of `x`, `n`, may end inside this tile
              note: padding of -inf changes no maximum
              help: `pad: 0` in the view says that zeros are meant
              fix: let the view of `x` have the padding -inf
        "#]],
    );
    // Through a cast, and a minimum in a loop.
    check_body(
        "f16[m, n], y: mut f32[m])",
        "    let least = register_tensor(f32, [8, 1]);
    fill(least, inf);
    for j in 0..cdiv(n, 64) {
        let t = cast(load(tile(x, [8, 64])[.., .., block_idx, j]), f32);
        least = min(least, min(t, axis: 1));
    }
    copy(least[.., 0], tile(y, [8])[.., block_idx]);",
        expect![[r#"
            HX0310 `min(t, axis: 1)` `min` along axis 1 reads padding beyond the end of `x`, which is 0.0 here
              `load(tile(x, [8, 64])[.., .., block_idx, j])`: dimension 1 of `x`, `n`, may end inside this tile
              `cast(load(tile(x, [8, 64])[.., .., block_idx, j]), f32)`: the padding becomes 0.0
              note: padding of inf changes no minimum
              fix: let the view of `x` have the padding inf
        "#]],
    );
    // Through shared memory, of integers.
    check_body(
        "i32[m, n], y: mut i32[m])",
        "    let s = shared_tensor(i32, [8, 128]);
    copy(tile(x, [8, 128])[.., .., block_idx, 0], s);
    sync();
    copy(reduce(load(s), axis: 1, op: |a, b| a * b)[.., 0], tile(y, [8])[.., block_idx]);",
        expect![[r#"
            HX0310 `reduce(load(s), axis: 1, op: |a, b| a * b)` `*` along axis 1 reads padding beyond the end of `x`, which is 0 here
              `tile(x, [8, 128])[.., .., block_idx, 0]`: dimension 1 of `x`, `n`, may end inside this tile
              note: padding of 1 changes no product
              help: `pad: 0` in the view says that zeros are meant
              fix: let the view of `x` have the padding 1
            HX0305 `reduce(load(s), axis: 1, op: |a, b| a * b)` `reduced` changes hands between threads here, through 32 B of shared memory
              note: it takes an estimated 113 of a block's 1581 cycles (7%)
              note: `reduced` is held as ((16,2,4):(0,1,2), 1:0) (the projection of its operand along [1]) and needed as ((16,8):(4,0), 4:1) (what it is under other names)
              help: layouts or `warps:` that agree spare it; `rearrange(…, auto)` says that it is meant
        "#]],
    );
}

#[test]
fn zeros_that_change_nothing_are_not_told() {
    let body = |tile: &str, reduced: &str| {
        format!(
            "    let t = load({tile}[.., .., block_idx, 0]);
    copy({reduced}[.., 0], tile(y, [8])[.., block_idx]);"
        )
    };
    let max = "max(t, axis: 1)";
    let plain = "tile(x, [8, 128])";
    // The view says what lies beyond the end, or that zeros are meant.
    check_body(OUT, &body("tile(x, [8, 128], pad: -inf)", max), expect![[""]]);
    check_body(OUT, &body("tile(x, [8, 128], pad: 0.0)", max), expect![[""]]);
    // The dimension is long enough: its value, or a condition, says so.
    check_body("f32[m, 128], y: mut f32[m])", &body(plain, max), expect![[""]]);
    check_body("f32[m, n], y: mut f32[m])\n    where n % 128 == 0", &body(plain, max), expect![[""]]);
    check_body("f32[m, n], y: mut f32[m])\n    where n == 128", &body(plain, max), expect![[""]]);
    // Rows beyond the end are reduced to values that no store writes.
    check_body("f32[m, 128], y: mut f32[m])", &body("tile(x, [8, 128])", max), expect![[""]]);
    // A sum does not mind zeros, and no other number of an unsigned type is less.
    check_body(OUT, &body(plain, "sum(t, axis: 1)"), expect![[""]]);
    check_body("u32[m, n], y: mut u32[m])", &body(plain, max), expect![[""]]);
    // Arithmetic and `where` may have replaced the zeros.
    check_body(OUT, &body(plain, "max(abs(t), axis: 1)"), expect![[""]]);
    check_body(OUT, &body(plain, "max(where(index(t, 1) < n, t, -inf), axis: 1)"), expect![[""]]);
    // Whole tiles in a loop.
    check_body(
        "f32[m, n], y: mut f32[m])\n    where n % 64 == 0",
        "    let most = register_tensor(f32, [8, 1]);
    fill(most, -inf);
    for j in 0..n / 64 {
        let t = load(tile(x, [8, 64])[.., .., block_idx, j]);
        most = max(most, max(t, axis: 1));
    }
    copy(most[.., 0], tile(y, [8])[.., block_idx]);",
        expect![[""]],
    );
    // An assignment decides where the tile begins: nothing is known of its end.
    check_body(
        "f32[m, n], y: mut f32[m])\n    where n % 64 == 0",
        "    let most = register_tensor(f32, [8, 1]);
    fill(most, -inf);
    let j = 0;
    while j < n / 64 {
        let t = load(tile(x, [8, 64])[.., .., block_idx, j]);
        most = max(most, max(t, axis: 1));
        j = j + 1;
    }
    copy(most[.., 0], tile(y, [8])[.., block_idx]);",
        expect![[""]],
    );
}

#[test]
fn padding_comes_first_in_a_scan_from_the_end() {
    check_body(
        "f32[m, n], y: mut f32[m, n])",
        "    let t = load(tile(x, [8, 128])[.., .., block_idx, 0]);
    let o = tile(y, [8, 128])[.., .., block_idx, 0];
    copy(scan(t, axis: 1, op: |a, b| max(a, b)), o);
    copy(scan(t, axis: 1, op: |a, b| a + b, reverse: true), o);
    copy(scan(t, axis: 1, op: |a, b| max(a, b), reverse: true), o);",
        expect![[r#"
            HX0310 `scan(t, axis: 1, op: |a, b| max(a, b), reverse: true)` `scan` along axis 1 reads padding beyond the end of `x`, which is 0.0 here
              `load(tile(x, [8, 128])[.., .., block_idx, 0])`: dimension 1 of `x`, `n`, may end inside this tile
              fix: let the view of `x` have the padding 0.0
        "#]],
    );
    // A flip brings the padding to the front, and a second one brings it back.
    check_body(
        "f32[m, n], y: mut f32[m, n])",
        "    let t = flip(load(tile(x, [8, 128])[.., .., block_idx, 0]), axis: 1);
    let o = tile(y, [8, 128])[.., .., block_idx, 0];
    copy(flip(scan(t, axis: 1, op: |a, b| max(a, b), reverse: true), axis: 1), o);
    copy(flip(scan(t, axis: 1, op: |a, b| max(a, b)), axis: 1), o);",
        expect![[r#"
            HX0310 `scan(t, axis: 1, op: |a, b| max(a, b))` `scan` along axis 1 reads padding beyond the end of `x`, which is 0.0 here
              `load(tile(x, [8, 128])[.., .., block_idx, 0])`: dimension 1 of `x`, `n`, may end inside this tile
              fix: let the view of `x` have the padding -inf
        "#]],
    );
}
