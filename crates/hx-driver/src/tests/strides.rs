use expect_test::expect;

use super::check;

/// A launch is specialized on the named strides that are 1, so accesses are as wide along either dimension.
#[test]
fn strides_of_one_are_known_to_the_instance() {
    check(
        r#"
kernel moves(x: f32[m, n] : [s, t], y: mut f32[m, n] : [u, v]) grid [1] threads 32 {
    copy(load(tile(x, [32, 32])[.., .., 0, 0]), tile(y, [32, 32])[.., .., 0, 0]);
}
kernel along_rows(x: f32[m, n] : [s, t], y: mut f32[m, n]) where t == 1 grid [1] threads 32 {
    copy(load(tile(x, [32, 32])[.., .., 0, 0]), tile(y, [32, 32])[.., .., 0, 0]);
}
test "rows" {
    let [x, y] = [randn(f32, [32, 32], seed: 1), empty(f32, [32, 32])];
    moves(x, y);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert_eq(y, x);
}
test "columns" {
    let [x, y] = [randn(f32, [32, 32], seed: 1), empty(f32, [32, 32])];
    moves(x.T, y.T);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert_eq(y, x);
    moves(x, y.T);
    assert(bytes_per_access("x") + bytes_per_access("y") == 32, "the tile changes hands");
    assert_eq(y, x.T);
}
test "neither" {
    let [x, y] = [randn(f32, [32, 32, 2], seed: 1)[.., .., 1], empty(f32, [32, 32])];
    moves(x, y);
    assert(bytes_per_access("x") == 4);
    assert_eq(y, x);
}
test "a row" for (m, n) in [(1, 32), (32, 1), (1, 1)] {
    let [x, y] = [randn(f32, [m, n], seed: 1), empty(f32, [m, n])];
    moves(x, y);
    assert_eq(y, x);
    moves(x.T, y.T);
    assert_eq(y, x);
}
test "no elements" for (m, n) in [(0, 32), (32, 0)] {
    let y = empty(f32, [m, n]);
    moves(zeros(f32, [m, n]), y);
    moves(zeros(f32, [n, m]).T, y);
}
test "repeated" {
    let [x, y] = [broadcast_to(randn(f32, [32], seed: 1), [32, 32]), empty(f32, [32, 32])];
    moves(x, y);
    assert_eq(y, x);
    moves(x.T, y);
    assert_eq(y, x.T);
}
test "repeated and written" {
    let y = broadcast_to(zeros(f32, [32, 1]), [32, 32]);
    moves(randn(f32, [32, 32]), y);
}
test "relied on" {
    let [x, y] = [randn(f32, [32, 32], seed: 1), empty(f32, [32, 32])];
    along_rows(x, y);
    along_rows(x.T, y);
}
"#,
        expect![[r#"
            t.hx::rows: passed
            t.hx::columns: passed
            t.hx::neither: passed
            t.hx::a row[1, 32]: passed
            t.hx::a row[32, 1]: passed
            t.hx::a row[1, 1]: passed
            t.hx::no elements[0, 32]: passed
            t.hx::no elements[32, 0]: passed
            t.hx::repeated: passed
            t.hx::repeated and written: failed
            HX0605 `y`: the argument for `y` repeats elements, and the kernel writes `y`
              at `mut f32[m, n] : [u, v]`: `mut` here
              help: `x.copy()` makes a tensor with an element for each index
            t.hx::relied on: failed
            HX0601 `along_rows(x.T, y)`: `t == 1` does not hold with t = 32
              at `t == 1`: `along_rows` relies on this
              note: the left side is 32, the right side is 1
        "#]],
    );
}
