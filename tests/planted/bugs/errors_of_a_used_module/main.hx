// planted: HX0207 in check
// The kernel is in another file, where a statement assigns to global memory. This file has no error of its own.
use broken::add_one;

test "add one" {
    let x = randn(f32, [64], seed: 1);
    let y = empty(f32, [64]);
    add_one(x, y);
    assert_eq(y, x + 1.0);
}
