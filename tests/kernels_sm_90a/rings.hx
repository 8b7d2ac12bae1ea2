//! Rings of stages that are no power of two, whose number an index of the loop gives. The operand of the product lies in the ring, and
//! the loop also accesses shared memory at places that do not change: the zeros change hands through it. Tiles of fewer than 48 rows of
//! `x` would cost less with products of single warps, which read no operand by descriptor.

/// y = (w - zero) · xᵀ, with a zero for every G columns of each row of w.
kernel quantized<BM = 48, BN = 64, G = 128, STAGES = 3>(
    x: f16[m, k],
    w: u4[n, k],
    zero: u4[g, n],
    y: mut f32[n, m],
)
    where k % G == 0, g == k / G
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let sx = shared_tensor(f16, [BM, G, STAGES]);
    let sw = shared_tensor(u4, [BN, G, STAGES]);
    let gx = tile(x, [BM, G])[.., .., bm, ..];
    let gw = tile(w, [BN, G])[.., .., bn, ..];
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(gx[.., .., s], sx[.., .., s]);
        copy_async(gw[.., .., s], sw[.., .., s]);
        commit();
    }
    for i in 0..k / G {
        wait(STAGES - 2);
        sync();
        let next = i + STAGES - 1;
        copy_async(gx[.., .., next], sx[.., .., next % STAGES]);
        copy_async(gw[.., .., next], sw[.., .., next % STAGES]);
        commit();
        let z = cast(load(tile(zero, [1, BN])[0, .., i, bn]), f16)[.., new];
        gemm(acc, cast(load(sw[.., .., i % STAGES]), f16) - z, sx[.., .., i % STAGES]);
    }
    wait(0);
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
}

/// The same with all stages resident: the index is the counter itself.
kernel resident<BM = 48, BN = 64, G = 128, STAGES = 8>(
    x: f16[m, k],
    w: u4[n, k],
    zero: u4[g, n],
    y: mut f32[n, m],
)
    where k % G == 0, g == k / G, k <= G * STAGES
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let sx = shared_tensor(f16, [BM, G, STAGES]);
    let sw = shared_tensor(u4, [BN, G, STAGES]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for s in 0..k / G {
        copy_async(tile(x, [BM, G])[.., .., bm, s], sx[.., .., s]);
        copy_async(tile(w, [BN, G])[.., .., bn, s], sw[.., .., s]);
    }
    commit();
    wait(0);
    sync();
    for i in 0..k / G {
        let z = cast(load(tile(zero, [1, BN])[0, .., i, bn]), f16)[.., new];
        gemm(acc, cast(load(sw[.., .., i]), f16) - z, sx[.., .., i]);
    }
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
}

/// Blocks that take tiles in turns go on in the ring where the last tile left it: the index depends on two loops.
kernel persistent<BM = 64, BN = 64, BK = 64, STAGES = 3>(a: f16[m, k], b: f16[n, k], y: mut f32[m, n])
    where k % BK == 0
    grid [4]
    threads 128
{
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let steps = k / BK;
    for t in 0..cdiv(cdiv(m, BM) * cdiv(n, BN) - block_idx, 4) {
        let tiles = t * 4 + block_idx;
        let (bm, bn) = (tiles / cdiv(n, BN), tiles % cdiv(n, BN));
        let acc = register_tensor(f32, [BM, BN]);
        fill(acc, 0.0);
        for i in 0..steps {
            let stage = (t * 2 + i) % STAGES;
            sync();
            copy_async(tile(a, [BM, BK])[.., .., bm, i], sa[.., .., stage]);
            copy_async(tile(b, [BN, BK])[.., .., bn, i], sb[.., .., stage]);
            commit();
            wait(0);
            sync();
            gemm(acc, sa[.., .., (t * 2 + i) % STAGES], sb[.., .., stage]);
        }
        copy(acc, tile(y, [BM, BN])[.., .., bm, bn]);
    }
}

/// Local numbers that the rounds of a loop count are counters, too: `q` of a loop over `for`, and `r` of a loop over `while`, with
/// remainders and without.
kernel numbered<BM = 48, BN = 64, G = 128, STAGES = 3>(
    x: f16[m, k],
    w: u4[n, k],
    zero: u4[g, n],
    y: mut f32[n, m],
    z: mut f32[n, m],
)
    where k % G == 0, g == k / G, k <= G * 5
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let sx = shared_tensor(f16, [BM, G, 5]);
    let sw = shared_tensor(u4, [BN, G, 5]);
    let acc = register_tensor(f32, [BN, BM]);
    for s in 0..k / G {
        copy_async(tile(x, [BM, G])[.., .., bm, s], sx[.., .., s]);
        copy_async(tile(w, [BN, G])[.., .., bn, s], sw[.., .., s]);
    }
    commit();
    wait(0);
    sync();
    fill(acc, 0.0);
    let q = 0;
    for i in 0..k / G {
        let own = load(tile(zero, [1, BN])[0, .., i, bn]);
        if q < 5 {
            gemm(acc, cast(load(sw[.., .., q]), f16) - cast(own, f16)[.., new], sx[.., .., q]);
        }
        q = q + 1;
    }
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
    fill(acc, 0.0);
    let r = 0;
    while r < k / G {
        let own = load(tile(zero, [1, BN])[0, .., r, bn]);
        let next = (r + 2) % STAGES;
        gemm(acc, cast(load(sw[.., .., next]), f16) - cast(own, f16)[.., new], sx[.., .., r % STAGES]);
        r = r + 1;
    }
    copy(acc, tile(z, [BN, BM])[.., .., bn, bm]);
}

test "rings of any number of stages" for STAGES in [2, 3, 5, 6, 7] {
    for (m, n, k) in [(5, 72, 1280), (16, 64, 128), (20, 100, 384)] {
        let x = randn(f16, [m, k], seed: 1);
        let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
        let zero = uniform(u4, [k / 128, n], low: 0, high: 16, seed: 3);
        let y = empty(f32, [n, m]);
        quantized<STAGES = STAGES>(x, w, zero, y);
        assert(uses("wgmma"));
        let d = reshape(reshape(w, [n, k / 128, 128]) - zero.T[.., .., new], [n, k]);
        assert_close(y, d @ x.T, rtol: 1e-3, atol: 1e-2);
    }
}

test "stages that are all resident" for k in [128, 640, 1024] {
    let (m, n) = (20, 100);
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let zero = uniform(u4, [k / 128, n], low: 0, high: 16, seed: 3);
    let y = empty(f32, [n, m]);
    resident(x, w, zero, y);
    assert(uses("wgmma"));
    let d = reshape(reshape(w, [n, k / 128, 128]) - zero.T[.., .., new], [n, k]);
    assert_close(y, d @ x.T, rtol: 1e-3, atol: 1e-2);
}

test "an index of two loops" for STAGES in [3, 4, 5] {
    let (m, n, k) = (200, 330, 448);
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let y = empty(f32, [m, n]);
    persistent<STAGES = STAGES>(a, b, y);
    assert_close(y, a @ b.T, rtol: 1e-3, atol: 1e-2);
}

test "numbers that loops count" for (STAGES, k) in [(3, 640), (3, 384), (5, 640)] {
    let (m, n) = (20, 100);
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let zero = uniform(u4, [k / 128, n], low: 0, high: 16, seed: 3);
    let (y, z) = (empty(f32, [n, m]), empty(f32, [n, m]));
    numbered<STAGES = STAGES>(x, w, zero, y, z);
    assert(uses("wgmma"));
    let d = reshape(reshape(w, [n, k / 128, 128]) - zero.T[.., .., new], [n, k]);
    assert_close(y, d @ x.T, rtol: 1e-3, atol: 1e-2);
    let expected = zeros(f32, [n, m]);
    for r in 0..k / 128 {
        let (a, b) = ((r + 2) % STAGES * 128, r % STAGES * 128);
        let d = cast(w[.., a..a + 128], f32) - cast(zero[r], f32)[.., new];
        expected = expected + d @ cast(x[.., b..b + 128], f32).T;
    }
    assert_close(z, expected, rtol: 1e-3, atol: 1e-2);
}
