// planted: HX0618 in test
// A stencil in place: each block reads the edge of the next tile, which that block overwrites.
kernel blur(y: mut f32[m])
    where m % 64 == 0
    grid [m / 64]
    threads 64
{
    let i = block_idx;
    let here = load(tile(y, [64])[.., i]);
    let next = load(global_view(y[i * 64 + 1..], (64) : (1)));
    sync();
    copy((here + next) * 0.5, tile(y, [64])[.., i]);
}

test "blur" {
    let y = randn(f32, [256], seed: 1);
    blur(y);
}
