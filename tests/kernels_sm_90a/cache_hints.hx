//! Hints for L2 of copies in boxes and runs: of loads into a ring, of loads for a cluster, of stores and of sums.

/// y = x + x through a ring of stages, and `total` + x by sums of boxes.
kernel doubled<BM = 64, BN = 64, S = 2>(x: f32[m, n], y: mut f32[m, n], total: mut f32[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    let stages = shared_tensor(f32, [BM, BN, S]);
    let out = shared_tensor(f32, [BM, BN]);
    let pipe = pipeline(S);
    for j in 0..cdiv(n, BN) {
        let s = pipe.acquire();
        copy_async(
            tile(x, [BM, BN])[.., .., block_idx, j],
            stages[.., .., s],
            signal: pipe,
            l2: "evict_first",
        );
        let s = pipe.wait();
        let t = load(stages[.., .., s]);
        pipe.release();
        wait_stores(0);
        sync();
        copy(t + t, out);
        sync();
        copy_async(out, tile(y, [BM, BN])[.., .., block_idx, j], l2: "evict_last");
        copy_async(out, tile(total, [BM, BN])[.., .., block_idx, j], add: true, l2: "evict_last");
    }
}

test "boxes" for (m, n) in [(64, 64), (100, 132), (7, 8)] {
    let x = uniform(f32, [m, n], low: -8.0, high: 8.0, seed: 1);
    let (y, total) = (empty(f32, [m, n]), ones(f32, [m, n]));
    doubled(x, y, total);
    assert_eq(y, x + x);
    assert_close(total, x + x + 1.0, atol: 0.00001);
    assert(uses("tma.load") && uses("tma.store") && uses("tma.reduce.add"));
    assert(uses("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint"));
}

/// Both blocks of a cluster read the same rows of b.
kernel shared_tile<BM = 64, BN = 64>(a: f16[m, n], b: f16[16, n], c: mut f16[m, n])
    where n <= 64
    grid [cdiv(m, BM)]
    cluster [2]
    threads 128
{
    let s = shared_tensor(f16, [16, BN]);
    let pipe = pipeline(1);
    pipe.acquire();
    copy_async(tile(b, [16, BN])[.., .., 0, 0], s, signal: pipe, multicast: 0, l2: "evict_last");
    pipe.wait();
    let t = load(tile(a, [BM, BN])[.., .., block_idx, 0], l1: "no_allocate");
    copy(t + load(s[5, ..])[new, ..], tile(c, [BM, BN])[.., .., block_idx, 0]);
    pipe.release();
}

test "boxes for a cluster" {
    let (a, b) = (randn(f16, [256, 64], seed: 1), randn(f16, [16, 64], seed: 2));
    let c = empty(f16, [256, 64]);
    shared_tile(a, b, c);
    assert_eq(c, cast(a + b[5][new, ..], f16));
    assert(uses("tma.load.multicast"));
}

/// y = x in runs of bytes: a row is no multiple of 16 bytes.
kernel runs(x: f16[m, 33], y: mut f16[m, 33])
    where m % 16 == 0
    grid [m / 16]
    threads 64
{
    let s = shared_tensor(f16, [16, 33, 1]);
    let o = shared_tensor(f16, [16, 33]);
    let pipe = pipeline(1);
    let i = pipe.acquire();
    copy_async(tile(x, [16, 33])[.., .., block_idx, 0], s[.., .., i], signal: pipe, l2: "evict_first");
    let i = pipe.wait();
    copy(load(s[.., .., i]), o);
    pipe.release();
    sync();
    copy_async(o, tile(y, [16, 33])[.., .., block_idx, 0], l2: "evict_first");
}

test "runs" {
    let (x, y) = (randn(f16, [64, 33], seed: 1), empty(f16, [64, 33]));
    runs(x, y);
    assert_eq(x, y);
    assert(uses("bulk.load") && uses("bulk.store"));
}
