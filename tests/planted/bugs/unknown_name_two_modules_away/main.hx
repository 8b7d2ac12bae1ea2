// planted: HX0101 in check
// The kernel here is right, the function that it calls is right, and the constant that this one needs has an unknown name.
use scaled::scaled;

kernel scale(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 128
{
    let i = block_idx;
    copy(scaled(load(tile(x, [128])[.., i])), tile(y, [128])[.., i]);
}

test "scale" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    scale(x, y);
    assert_eq(y, x * 2.0);
}
