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

/// As `staged`, from blocks in which eight neighbours in memory are four rows of two columns.
kernel crossed<BN = 32, BK = 64, W: layout = ((4, 4), (2, 8)) : ((2, 64), (1, 8))>(
    w: u4[n, k] : W,
    y: mut f16[n, k],
)
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

test "neighbours in two dimensions" for (n, k) in [(32, 64), (96, 192), (48, 336)] {
    let block = ((4, 4), (2, 8)) : ((2, 64), (1, 8));
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 1);
    let y = empty(f16, [n, k]);
    widen<W = block>(pack(w, block), y);
    assert_eq(y, w);
    crossed(pack(w, block), y);
    assert_eq(y, w);
    // Bytes: two rows first, then the columns.
    let b = uniform(u8, [n, k], low: 0, high: 256, seed: 2);
    let pairs = ((2, 8), 16) : ((1, 32), 2);
    widen<W = pairs, T = u8>(pack(b, pairs), y);
    assert_eq(y, b);
}

/// y = w · xᵀ, with weights in blocks of 16 by 16 in the order of operand A of `mma.m16n8k16`: the eight weights of a lane are four
/// bytes, and lie eight rows and columns apart.
kernel in_fragments<BN = 32, BM = 32, BK = 64, W: layout = ((8, 2), (2, 4, 2)) : ((32, 2), (1, 8, 4))>(
    w: u4[n, k] : W,
    x: f16[m, k],
    y: mut f32[n, m],
)
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 64
{
    let [bn, bm] = block_idx;
    let sx = shared_tensor(f16, [BM, BK]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(x, [BM, BK])[.., .., bm, ki], sx);
        sync();
        gemm(acc, cast(load(tile(w, [BN, BK])[.., .., bn, ki]), f16), load(sx));
        sync();
    }
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
}

test "weights in the order of fragments" for (n, m, k) in [(32, 32, 64), (48, 20, 112), (96, 65, 192)] {
    let block = ((8, 2), (2, 4, 2)) : ((32, 2), (1, 8, 4));
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 1);
    let (x, y) = (randn(f16, [m, k], seed: 2), empty(f32, [n, m]));
    in_fragments(pack(w, block), x, y);
    assert_close(y, cast(w, f64) @ cast(x, f64).T, rtol: 0.001, atol: 0.001);
}
