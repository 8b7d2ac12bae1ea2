// planted: HX0310 in check
// Elements beyond the end are 0, which is the largest number of a row of negative ones: the position lies outside of the row.
kernel best(x: f32[m, n], at: mut i32[m])
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    copy(argmax(t, axis: 1)[0, ..], tile(at, [1])[.., block_idx]);
}

test "best" {
    let x = cast(randn(f32, [3, 50], seed: 1) - 10.0, f32);
    let at = empty(i32, [3]);
    best(x, at);
    assert_eq(at, argmax(x, axis: 1));
}
