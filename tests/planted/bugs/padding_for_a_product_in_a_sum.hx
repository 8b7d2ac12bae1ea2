// planted: HX0310 in check
// The padding is right for the product and wrong for the sum.
kernel both(x: f32[m, n], y: mut f32[m], z: mut f32[m])
    where n <= 8
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 8], pad: 1.0)[.., .., block_idx, 0]);
    copy(reduce(t, axis: 1, op: |a, b| a * b)[0, ..], tile(y, [1])[.., block_idx]);
    copy(sum(t, axis: 1)[0, ..], tile(z, [1])[.., block_idx]);
}

test "both" {
    let (y, z) = (empty(f32, [2]), empty(f32, [2]));
    both(full(f32, [2, 3], 2.0), y, z);
    assert_eq(y, [8.0, 8.0]);
    assert_eq(z, [6.0, 6.0]);
}
