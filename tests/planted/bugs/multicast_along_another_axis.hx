// planted: HX0414 in check
// The rows of `a` are the same for the blocks along axis 1, but the copy goes to those along axis 0.
kernel squares(a: f16[m, k], y: mut f16[m, n])
    grid [2 * cdiv(m, 128), 2 * cdiv(n, 128)]
    cluster [2, 2]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f16, [64, 64, 1]);
    let pipe = pipeline(1);
    let i = pipe.acquire();
    copy_async(tile(a, [64, 64])[.., .., bm, 0], s[.., .., i], signal: pipe, multicast: 0);
    let i = pipe.wait();
    copy(load(s[.., .., i]), tile(y, [64, 64])[.., .., bm, bn]);
    pipe.release();
}

test "squares" {
    squares(randn(f16, [128, 64], seed: 1), empty(f16, [128, 128]));
}
