// planted: HX0310 in check
// All blocks add into the same 64 elements, so the last block adds exp(0) to elements that exist.
kernel lanes(x: f32[n], y: mut f32[64])
    grid [cdiv(n, 64)]
    threads 64
{
    atomic_add(y, exp(load(tile(x, [64])[.., block_idx])));
}

test "lanes" {
    let x = randn(f32, [150], seed: 1);
    let y = zeros(f32, [64]);
    lanes(x, y);
    let all = zeros(f32, [192]);
    all[..150] = exp(x);
    assert_close(y, sum(reshape(all, [3, 64]), axis: 0), rtol: 1e-5);
}
