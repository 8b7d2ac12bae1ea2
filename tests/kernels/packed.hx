//! Tensors whose elements lie in blocks, rearranged on the host beforehand.

kernel widen<BN = 32, BK = 64, W: layout = auto, T: type = u4>(w: T[n, k] : W, y: mut f16[n, k])
    grid [cdiv(n, BN), cdiv(k, BK)]
    threads 64
{
    let [bn, bk] = block_idx;
    copy(cast(load(tile(w, [BN, BK])[.., .., bn, bk]), f16), tile(y, [BN, BK])[.., .., bn, bk]);
}

/// The same by way of shared memory, past the registers.
kernel staged<BN = 32, BK = 64, W: layout = auto>(w: u4[n, k] : W, y: mut f16[n, k])
    grid [cdiv(n, BN), cdiv(k, BK)]
    threads 64
{
    let [bn, bk] = block_idx;
    let sw = shared_tensor(u4, [BN, BK]);
    copy_async(tile(w, [BN, BK])[.., .., bn, bk], sw);
    commit();
    wait(0);
    sync();
    copy(cast(load(sw), f16), tile(y, [BN, BK])[.., .., bn, bk]);
}

/// Writes blocks.
kernel narrow<BN = 32, BK = 64, W: layout = auto>(x: f16[n, k], w: mut i8[n, k] : W)
    grid [cdiv(n, BN), cdiv(k, BK)]
    threads 64
{
    let [bn, bk] = block_idx;
    copy(cast(load(tile(x, [BN, BK])[.., .., bn, bk]), i8), tile(w, [BN, BK])[.., .., bn, bk]);
}

test "blocks" for (n, k) in [(32, 64), (96, 192), (64, 320)] {
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 1);
    let y = empty(f16, [n, k]);
    // Whole tiles one after the other, rows of 16 elements together, and blocks smaller than a tile.
    let tiles = (32, 64) : (64, 1);
    widen<W = tiles>(pack(w, tiles), y);
    assert_eq(y, w);
    assert_eq(unpack(pack(w, tiles), tiles), w);
    let chunks = (32, (16, 4)) : (16, (1, 512));
    widen<W = chunks>(pack(w, chunks), y);
    assert_eq(y, w);
    staged<W = chunks>(pack(w, chunks), y);
    assert_eq(y, w);
    assert_eq(unpack(pack(w, chunks), chunks), w);
    let small = (8, 32) : (32, 1);
    widen<W = small>(pack(w, small), y);
    assert_eq(y, w);
    staged<W = small>(pack(w, small), y);
    assert_eq(y, w);
    let b = uniform(u8, [n, k], low: 0, high: 256, seed: 2);
    let columns = ((2, 16), 64) : ((1, 128), 2);
    widen<W = columns>(pack(b, columns), y);
    assert_eq(y, b);
    let x = cast(uniform(i8, [n, k], low: -100, high: 100, seed: 3), f16);
    let z = empty(i8, [n, k]);
    narrow<W = chunks>(x, z);
    assert_eq(unpack(z, chunks), x);
}
