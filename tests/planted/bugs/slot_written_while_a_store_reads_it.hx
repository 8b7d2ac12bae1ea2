// planted: HX0401 in check
// No wait stands between a store and the next write to its slot.
kernel doubled<BM = 64, W = 32>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    let slots = shared_tensor(f16, [BM, W, 2]);
    for j in 0..cdiv(n, W) {
        let v = load(tile(x, [BM, W])[.., .., block_idx, j]);
        sync();
        copy(v + v, slots[.., .., j % 2]);
        sync();
        copy_async(slots[.., .., j % 2], tile(y, [BM, W])[.., .., block_idx, j]);
    }
}

test "doubled" {
    let x = randn(f16, [128, 160], seed: 1);
    let y = empty(f16, [128, 160]);
    doubled(x, y);
    assert_eq(y, x + x);
}
