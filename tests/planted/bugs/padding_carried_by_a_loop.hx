// planted: HX0310 in check
// No reduction reads the tile itself: each round takes the maximum of two tiles, the last of which ends early.
kernel largest(x: f32[n], y: mut f32[1])
    grid [1]
    threads 64
{
    let most = register_tensor(f32, [128]);
    fill(most, -inf);
    for i in 0..cdiv(n, 128) {
        most = max(most, load(tile(x, [128])[.., i]));
    }
    copy(max(most, axis: 0), y);
}

test "largest" {
    let x = cast(randn(f32, [300], seed: 1) - 9.0, f32);
    let y = empty(f32, [1]);
    largest(x, y);
    assert_eq(y[0], max(x));
}
