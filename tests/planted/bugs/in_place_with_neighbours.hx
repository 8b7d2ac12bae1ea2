// planted: HX0605 in test
// A block loads elements of its neighbour, which may have stored them already.
kernel smooth(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 128)]
    threads 32
{
    let here = load(tile(x, [128])[.., block_idx]);
    let next = load(global_view(x[block_idx * 128 + 1..], (128) : (1)));
    copy((here + next) * 0.5, tile(y, [128])[.., block_idx]);
}

test "smooth" {
    let x = randn(f32, [300], seed: 1);
    smooth(x, x);
}
