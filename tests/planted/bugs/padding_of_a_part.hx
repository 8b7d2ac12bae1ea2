// planted: HX0310 in check
// Each sequence ends inside of its last tile: elements beyond its end are 0, although the tensor goes on.
kernel largest(x: f32[m], starts: i32[e], y: mut f32[s])
    where e == s + 1
    grid [s]
    threads 32
{
    let (first, end) = (starts[block_idx], starts[block_idx + 1]);
    let most = register_tensor(f32, [1]);
    fill(most, -inf);
    for i in 0..cdiv(end - first, 32) {
        most = max(most, max(load(tile(x[first..end], [32])[.., i]), axis: 0));
    }
    copy(most, tile(y, [1])[.., block_idx]);
}

test "sequences" {
    let x = cast(randn(f32, [100], seed: 1) - 9.0, f32);
    let y = empty(f32, [2]);
    largest(x, cast([0, 40, 100], i32), y);
    assert_eq(y[0], max(x[..40]));
    assert_eq(y[1], max(x[40..]));
}
