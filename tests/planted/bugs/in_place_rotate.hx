// planted: HX0618 in test
// Each thread overwrites an element that its neighbour may not have read yet.
kernel rotate(y: mut f32[64])
    grid [1]
    threads 64
{
    let a = load(global_view(y[1..], (64) : (1)));
    copy(a, y);
}

test "rotate" {
    let y = randn(f32, [64], seed: 1);
    let z = y.copy();
    rotate(y);
    assert_eq(y[0..63], z[1..64]);
}
