//! Elements narrower than a byte by the copy unit: boxes of bytes, and whole blocks as runs of bytes. Rows and columns end within
//! tiles, where a load brings zeros and a store writes nothing.

/// Widens tiles, with the zeros around the tensor: `y` may be larger than `x`.
kernel widened<T: type = u4, U: type = u8, BM = 32, BN = 64, STAGES = 2>(x: T[m, n] : [l, 1], y: mut U[p, q])
    where l % 32 == 0, n % 2 == 0
    grid [cdiv(p, BM)]
    threads 128
{
    let (s, pipe) = (shared_tensor(T, [BM, BN, STAGES]), pipeline(STAGES));
    for j in 0..cdiv(q, BN) {
        let k = pipe.acquire();
        copy_async(tile(x, [BM, BN])[.., .., block_idx, j], s[.., .., k], signal: pipe);
        let k = pipe.wait();
        copy(cast(load(s[.., .., k]), U), tile(y, [BM, BN])[.., .., block_idx, j]);
        pipe.release();
    }
}

test "tiles in boxes of bytes" for (m, n, p, q) in [
    (32, 64, 32, 64),
    (64, 256, 64, 256),
    (45, 96, 64, 128),
    (7, 224, 32, 256),
    (33, 32, 64, 64),
] {
    let u = uniform(u4, [m, n], low: 0, high: 16, seed: 1);
    let y = empty(u8, [p, q]);
    widened(u, y);
    assert_eq(y[0..m, 0..n], u);
    assert_eq(sum(cast(y, i64)), sum(cast(u, i64)));
    assert(uses("tma.load"));
    let i = uniform(i4, [m, n], low: -8, high: 8, seed: 2);
    let z = empty(i8, [p, q]);
    widened<T = i4, U = i8>(i, z);
    assert_eq(z[0..m, 0..n], i);
    assert_eq(sum(abs(cast(z, i64))), sum(abs(cast(i, i64))));
    assert(uses("tma.load"));
    let f = cast(randn(f32, [m, n], seed: 3), f4e2m1);
    let h = empty(f16, [p, q]);
    widened<T = f4e2m1, U = f16>(f, h);
    assert_eq(h[0..m, 0..n], f);
    assert_eq(sum(abs(cast(h, f64))), sum(abs(cast(f, f64))));
    assert(uses("tma.load"));
}

test "rows of 64 and 128 bytes, and of one and two bits" for (m, n, p, q) in [
    (64, 512, 64, 512),
    (37, 384, 64, 512),
] {
    let u = uniform(u4, [m, n], low: 0, high: 16, seed: 1);
    let y = empty(u8, [p, q]);
    widened<BN = 128>(u, y);
    assert_eq(y[0..m, 0..n], u);
    assert_eq(sum(cast(y, i64)), sum(cast(u, i64)));
    widened<BN = 256, STAGES = 3>(u, y);
    assert_eq(y[0..m, 0..n], u);
    assert_eq(sum(cast(y, i64)), sum(cast(u, i64)));
    assert(uses("tma.load"));
    // Rows wider than any swizzle.
    widened<BN = 512, BM = 16>(u, y);
    assert_eq(y[0..m, 0..n], u);
    assert(uses("tma.load"));
    let two = uniform(u2, [m, n], low: 0, high: 4, seed: 2);
    widened_in_bits<T = u2>(two, y);
    assert_eq(y[0..m, 0..n], two);
    assert_eq(sum(cast(y, i64)), sum(cast(two, i64)));
    assert(uses("tma.load"));
    let one = uniform(u1, [m, n], low: 0, high: 2, seed: 3);
    widened_in_bits<T = u1>(one, y);
    assert_eq(y[0..m, 0..n], one);
    assert_eq(sum(cast(y, i64)), sum(cast(one, i64)));
    assert(uses("tma.load"));
}

/// As [`widened`], of rows of tensors of one or two bits.
kernel widened_in_bits<T: type = u2, BM = 32, BN = 256>(x: T[m, n], y: mut u8[p, q])
    where n % 128 == 0
    grid [cdiv(p, BM)]
    threads 128
{
    let (s, pipe) = (shared_tensor(T, [BM, BN, 2]), pipeline(2));
    for j in 0..cdiv(q, BN) {
        let k = pipe.acquire();
        copy_async(tile(x, [BM, BN])[.., .., block_idx, j], s[.., .., k], signal: pipe);
        let k = pipe.wait();
        copy(cast(load(s[.., .., k]), u8), tile(y, [BM, BN])[.., .., block_idx, j]);
        pipe.release();
    }
}

/// y[n, m] = w[n, k] · x[m, k]ᵀ: one thread of the producer brings both operands in boxes.
kernel product<BM = 64, BN = 128, BK = 64, STAGES = 3, T: type = u4>(
    x: f16[m, k],
    w: T[n, k],
    y: mut f16[n, m],
)
    where k % 32 == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(T, [BN, BK, STAGES]);
    let sx = shared_tensor(f16, [BM, BK, STAGES]);
    let full = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..cdiv(k, BK) {
                let s = full.acquire();
                copy_async(tile(w, [BN, BK])[.., .., bn, i], sw[.., .., s], signal: full);
                copy_async(tile(x, [BM, BK])[.., .., bm, i], sx[.., .., s], signal: full);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for _i in 0..cdiv(k, BK) {
                let s = full.wait();
                gemm(acc, cast(load(sw[.., .., s]), f16), sx[.., .., s]);
                full.release();
            }
            copy(cast(acc, f16), tile(y, [BN, BM])[.., .., bn, bm]);
        }
    }
}

test "products of weights in boxes" for (m, n, k) in [(64, 128, 256), (100, 200, 224), (30, 70, 96)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let y = empty(f16, [n, m]);
    product(x, w, y);
    assert_close(y, w @ x.T, ulp: 4);
    assert(uses("tma.load") && !uses("cp.async.cg") && !uses("cp.async.ca"));
    let i = uniform(i4, [n, k], low: -8, high: 8, seed: 3);
    product<T = i4>(x, i, y);
    assert_close(y, i @ x.T, ulp: 4);
    let f = cast(randn(f32, [n, k], seed: 4), f4e2m1);
    product<T = f4e2m1, BK = 128, STAGES = 2>(x, f, y);
    assert_close(y, f @ x.T, ulp: 4);
    assert(uses("tma.load") && !uses("cp.async.cg") && !uses("cp.async.ca"));
}

/// The rows `first..end` of a matrix, of which the launch knows nothing.
kernel part<BM = 32, BN = 64>(x: u4[m, n], ends: i32[2], y: mut u8[p, n])
    where n % 32 == 0
    grid [cdiv(p, BM)]
    threads 128
{
    let (s, pipe) = (shared_tensor(u4, [BM, BN, 2]), pipeline(2));
    let (first, end) = (max(0, ends[0]), min(m, ends[1]));
    for j in 0..cdiv(n, BN) {
        let k = pipe.acquire();
        copy_async(tile(x[first..end, ..], [BM, BN])[.., .., block_idx, j], s[.., .., k], signal: pipe);
        let k = pipe.wait();
        copy(cast(load(s[.., .., k]), u8), tile(y, [BM, BN])[.., .., block_idx, j]);
        pipe.release();
    }
}

test "a part whose end the kernel reads" for (first, end) in [(0, 100), (10, 45), (64, 71)] {
    let x = uniform(u4, [100, 96], low: 1, high: 16, seed: 1);
    let y = empty(u8, [128, 96]);
    part(x, cast([first, end], i32), y);
    assert_eq(y[0..end - first, ..], x[first..end, ..]);
    assert_eq(sum(cast(y, i64)), sum(cast(x[first..end, ..], i64)));
    assert(uses("tma.load"));
}

/// Narrows tiles, and stores them in boxes.
kernel narrowed<T: type = u4, U: type = u8, BM = 32, BN = 64>(x: U[m, n], y: mut T[m, n] : [l, 1])
    where l % 32 == 0, n % 32 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy(cast(load(tile(x, [BM, BN])[.., .., i, j]), T), s);
    sync();
    copy_async(s, tile(y, [BM, BN])[.., .., i, j]);
    wait_stores(0);
}

test "stores in boxes of bytes" for (m, n) in [(32, 64), (100, 224), (45, 96)] {
    let u = uniform(u8, [m, n], low: 0, high: 16, seed: 1);
    let y = uniform(u4, [m + 5, n + 32], low: 0, high: 16, seed: 2);
    let before = cast(y, u8);
    narrowed(u, y[0..m, 0..n]);
    assert_eq(y[0..m, 0..n], u);
    assert_eq(y[m.., ..], before[m.., ..]);
    assert_eq(y[.., n..], before[.., n..]);
    assert(uses("tma.store"));
    let f = randn(f16, [m, n], seed: 3);
    let z = empty(f4e2m1, [m, n]);
    narrowed<T = f4e2m1, U = f16>(f, z);
    assert_eq(z, cast(f, f4e2m1));
    assert(uses("tma.store"));
}

/// y[n, m] = w[n, k] · x[m, k]ᵀ with weights in the order that the compiler infers. All blocks are inside of the tensor, and each of
/// them is a run.
kernel in_runs<BM = 64, BN = 128, BK = 64, STAGES = 3, T: type = u4, W: layout = infer>(
    x: f16[m, k],
    w: T[n, k] : W,
    y: mut f16[n, m],
)
    where k % BK == 0, n % BN == 0
    grid [n / BN, cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(T, [BN, BK, STAGES]);
    let sx = shared_tensor(f16, [BM, BK, STAGES]);
    let full = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..k / BK {
                let s = full.acquire();
                copy_async(tile(w, [BN, BK])[.., .., bn, i], sw[.., .., s], signal: full);
                copy_async(tile(x, [BM, BK])[.., .., bm, i], sx[.., .., s], signal: full);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for _i in 0..k / BK {
                let s = full.wait();
                gemm(acc, cast(load(sw[.., .., s]), f16), sx[.., .., s]);
                full.release();
            }
            copy(cast(acc, f16), tile(y, [BN, BM])[.., .., bn, bm]);
        }
    }
}

test "whole blocks as runs" for (m, n, k) in [(64, 128, 256), (100, 256, 192)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let y = empty(f16, [n, m]);
    in_runs(x, pack(w, in_runs), y);
    assert_close(y, w @ x.T, ulp: 4);
    assert(uses("bulk.load") && !uses("cp.async.cg") && !uses("cp.async.ca"));
    let i = uniform(i4, [n, k], low: -8, high: 8, seed: 3);
    in_runs<T = i4>(x, pack(i, in_runs<T = i4>), y);
    assert_close(y, i @ x.T, ulp: 4);
}

/// Copies tiles of blocks through a ring, and stores them as they lie.
kernel blocks<BN = 32, BK = 64, W: layout = auto, T: type = u4>(w: T[n, k] : W, y: mut T[n, k] : W)
    where n % BN == 0, k % BK == 0
    grid [n / BN]
    threads 64
{
    let (s, pipe) = (shared_tensor(T, [BN, BK, 2]), pipeline(2));
    let out = shared_tensor(T, [BN, BK]);
    for j in 0..k / BK {
        let i = pipe.acquire();
        copy_async(tile(w, [BN, BK])[.., .., block_idx, j], s[.., .., i], signal: pipe);
        let i = pipe.wait();
        wait_stores(0);
        sync();
        copy(load(s[.., .., i]), out);
        pipe.release();
        sync();
        copy_async(out, tile(y, [BN, BK])[.., .., block_idx, j]);
    }
    wait_stores(0);
}

test "blocks in and out" for (n, k) in [(32, 64), (96, 192), (64, 320)] {
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 1);
    let (y, z) = (empty(u4, [n, k]), empty(u8, [n, k]));
    // Whole tiles, rows of 32 elements together, blocks smaller than a tile, and blocks whose neighbours lie in two dimensions.
    let tiles = (32, 64) : (64, 1);
    blocks<W = tiles>(pack(w, tiles), y);
    assert_eq(unpack(y, tiles), w);
    assert(uses("bulk.load") && uses("bulk.store"));
    let chunks = (32, (32, 2)) : (32, (1, 1024));
    blocks<W = chunks>(pack(w, chunks), y);
    assert_eq(unpack(y, chunks), w);
    let small = (8, 32) : (32, 1);
    blocks<W = small>(pack(w, small), y);
    assert_eq(unpack(y, small), w);
    let crossed = ((4, 4), (2, 8)) : ((2, 64), (1, 8));
    blocks<W = crossed>(pack(w, crossed), y);
    assert_eq(unpack(y, crossed), w);
    assert(uses("bulk.load") && uses("bulk.store"));
    let b = uniform(u8, [n, k], low: 0, high: 256, seed: 2);
    let columns = ((2, 16), 64) : ((1, 128), 2);
    blocks<W = columns, T = u8>(pack(b, columns), z);
    assert_eq(unpack(z, columns), b);
    assert(uses("bulk.load") && uses("bulk.store"));
}

/// Copies whole tiles that are contiguous, but whose rows no box takes: 20 bytes each.
kernel short_rows<BM = 8>(x: u4[m, 40], y: mut u8[m, 40])
    where m % BM == 0
    grid [1]
    threads 32
{
    let (s, pipe) = (shared_tensor(u4, [BM, 40, 2]), pipeline(2));
    for i in 0..m / BM {
        let k = pipe.acquire();
        copy_async(tile(x, [BM, 40])[.., .., i, 0], s[.., .., k], signal: pipe);
        let k = pipe.wait();
        copy(cast(load(s[.., .., k]), u8), tile(y, [BM, 40])[.., .., i, 0]);
        pipe.release();
    }
}

test "runs of short rows" for m in [8, 40] {
    let x = uniform(u4, [m, 40], low: 0, high: 16, seed: 1);
    let y = empty(u8, [m, 40]);
    short_rows(x, y);
    assert_eq(y, x);
    assert(uses("bulk.load"));
}

/// The blocks of a pair widen one tile of each matrix of a batch, which they share.
kernel shared_by_two<BM = 32, BN = 64>(x: u4[b, m, n], y: mut u8[2, b, m, n])
    where n % 32 == 0
    grid [2 * cdiv(m, BM), cdiv(n, BN)]
    cluster [2, 1]
    threads 64
{
    let [i, j] = block_idx;
    let (rank, pair) = (i % 2, i / 2);
    let (s, pipe) = (shared_tensor(u4, [BM, BN, 2]), pipeline(2));
    for k in 0..b {
        let at = pipe.acquire();
        copy_async(tile(x[k], [BM, BN])[.., .., pair, j], s[.., .., at], signal: pipe, multicast: 0);
        let at = pipe.wait();
        copy(cast(load(s[.., .., at]), u8), tile(y[rank, k], [BM, BN])[.., .., pair, j]);
        pipe.release();
    }
}

test "boxes of a batch that a pair of blocks shares" for (b, m, n) in [(1, 32, 64), (3, 50, 96)] {
    let x = uniform(u4, [b, m, n], low: 0, high: 16, seed: 1);
    let y = empty(u8, [2, b, m, n]);
    shared_by_two(x, y);
    assert_eq(y[0], x);
    assert_eq(y[1], x);
    assert(uses("tma.load.multicast"));
}

/// Tiles that begin before the tensor, where elements read as zeros.
kernel shifted<BM = 16, BN = 64>(x: i4[m, n], y: mut i8[m, n])
    where n % 32 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [i, j] = block_idx;
    let (s, pipe) = (shared_tensor(i4, [BM, BN, 1]), pipeline(1));
    let k = pipe.acquire();
    copy_async(x[i * BM - 1..i * BM - 1 + BM, j * BN - 32..j * BN - 32 + BN], s[.., .., k], signal: pipe);
    let k = pipe.wait();
    copy(cast(load(s[.., .., k]), i8), tile(y, [BM, BN])[.., .., i, j]);
    pipe.release();
}

test "boxes that begin before the tensor" for (m, n) in [(16, 64), (40, 160)] {
    let x = uniform(i4, [m, n], low: -8, high: 8, seed: 1);
    let y = empty(i8, [m, n]);
    shifted(x, y);
    assert_eq(y[1.., 32..], x[..m - 1, ..n - 32]);
    assert_eq(y[0, ..], zeros(i8, [n]));
    assert_eq(y[.., ..32], zeros(i8, [m, 32]));
}
