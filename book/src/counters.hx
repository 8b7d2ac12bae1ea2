/// y is x transposed, straight from registers.
kernel transpose(x: f32[m, n], y: mut f32[n, m])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let r = load(tile(x, [64, 64])[.., .., bm, bn]);
    copy(r.T, tile(y, [64, 64])[.., .., bn, bm]);
}

/// y is x transposed, through shared memory.
kernel transpose_shared<L: layout = (64, 64) : (64, 1)>(x: f32[m, n], y: mut f32[n, m])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f32, [64, 64], layout: L);
    copy(load(tile(x, [64, 64])[.., .., bm, bn]), s);
    sync();
    copy(load(s.T), tile(y, [64, 64])[.., .., bn, bm]);
}

test "straight" {
    let (x, y) = (randn(f32, [128, 192]), empty(f32, [192, 128]));
    transpose(x, y);
    assert_eq(y, x.T);
}

test "through shared memory" {
    let (x, y) = (randn(f32, [128, 192]), empty(f32, [192, 128]));
    transpose_shared(x, y);
    assert_eq(y, x.T);
}
