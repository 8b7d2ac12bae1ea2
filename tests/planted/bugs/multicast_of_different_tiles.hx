// planted: HX0414 in check
// Each block of a pair shares its tile of `x` with the other one, but reads a tile of its own.
kernel pairs(x: f32[m], y: mut f32[m])
    grid [2 * cdiv(m, 512)]
    cluster [2]
    threads 128
{
    let s = shared_tensor(f32, [256, 1]);
    let pipe = pipeline(1);
    let i = pipe.acquire();
    copy_async(tile(x, [256])[.., block_idx], s[.., i], signal: pipe, multicast: 0);
    let i = pipe.wait();
    copy(load(s[.., i]), tile(y, [256])[.., block_idx]);
    pipe.release();
}

test "pairs" {
    pairs(randn(f32, [512], seed: 1), empty(f32, [512]));
}
