//! Products with weights of 4 bits: y = x · dequant(w)ᵀ for few rows of `x`, where reading the weights is all that takes time.
//!
//! The weights are the instruction's M side. They go to shared memory and into registers once, are widened there, and lie in the
//! fragments that the matrix instruction wants: no thread exchanges anything with another. A weight less its zero is exact; the scale
//! is the same for a whole step, so it multiplies the step's sum, in f32.
//!
//! Few rows give few tiles, so K is dealt to the warps of a block: each multiplies its own slice, a product of a batch, and copies what
//! it needs itself. Warps then wait for nobody but themselves until their sums are added at the end.

/// y[m, n] = the sum over k of x[m, k] · (w[n, k] − zero[n, k / G]) · scale[n, k / G].
///
/// `w` holds 4-bit weights, row by row or in blocks `W`, as `pack(w, W)` makes it: each tile in one piece with `W = (BN, G) : (G, 1)`,
/// and the even weights of each word before its odd ones with `W = (BN, (2, 4, G / 8)) : (G, (4, 1, 8))`, which takes the fewest
/// instructions to widen. Every `G` steps of K have their scale and their zero. Each of `S` warps takes `KS` steps of K at a time.
kernel w4a16<BM = 16, BN = 64, G = 128, KS = 1024, S = 4, STAGES = 2, T: type = f16, W: layout = auto>(
    x: T[m, k],
    w: u4[n, k] : W,
    scale: T[n, g],
    zero: T[n, g],
    y: mut T[m, n],
)
    where k % (2 * G) == 0,
        KS % (G * STAGES) == 0,
        g == k / G,
        cdiv(cdiv(k, KS), S) <= cdiv(cdiv(g, KS / G), S)
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 32 * S
{
    let [bn, bm] = block_idx;
    let steps = KS / G;
    // A tile for each warp: [.., .., slice, step, part].
    let gx = tile(tile(x, [BM, KS])[.., .., bm, ..], [BM, G, S])[.., .., .., 0, .., ..];
    let gw = tile(tile(w, [BN, KS])[.., .., bn, ..], [BN, G, S])[.., .., .., 0, .., ..];
    let gs = tile(tile(scale, [BN, steps])[.., .., bn, ..], [BN, steps, S])[.., .., .., 0, 0, ..];
    let gz = tile(tile(zero, [BN, steps])[.., .., bn, ..], [BN, steps, S])[.., .., .., 0, 0, ..];
    let sx = shared_tensor(T, [BM, G, S, STAGES]);
    let sw = shared_tensor(u4, [BN, G, S, STAGES]);
    let ss = shared_tensor(T, [BN, steps, S]);
    let sz = shared_tensor(T, [BN, steps, S]);
    let acc = register_tensor(f32, [BN, BM, S]);
    fill(acc, 0.0);
    for part in 0..cdiv(cdiv(k, KS), S) {
        // The scales of the part before have been read.
        sync_warp();
        copy_async(gs[.., .., .., part], ss);
        copy_async(gz[.., .., .., part], sz);
        for i in 0..STAGES - 1 {
            copy_async(gw[.., .., .., i, part], sw[.., .., .., i]);
            copy_async(gx[.., .., .., i, part], sx[.., .., .., i]);
            commit();
        }
        for round in 0..steps / STAGES {
            #[unroll]
            for slot in 0..STAGES {
                let i = round * STAGES + slot;
                wait(STAGES - 2);
                sync_warp();
                let next = i + STAGES - 1;
                if next < steps {
                    copy_async(gw[.., .., .., next, part], sw[.., .., .., (slot + STAGES - 1) % STAGES]);
                    copy_async(gx[.., .., .., next, part], sx[.., .., .., (slot + STAGES - 1) % STAGES]);
                }
                commit();
                let weights = cast(load(sw[.., .., .., slot]), T) - load(sz[.., i, ..])[.., new, ..];
                let group = register_tensor(f32, [BN, BM, S]);
                fill(group, 0.0);
                gemm(group, weights, sx[.., .., .., slot], warps: [1, 1, S]);
                acc = acc + group * cast(load(ss[.., i, ..]), f32)[.., new, ..];
            }
        }
    }
    wait(0);
    sync();
    let sums = shared_tensor(f32, [S, BM, BN]);
    copy(acc, permute(sums, [2, 1, 0]));
    sync();
    copy(cast(sum(load(sums), axis: 0), T)[0], tile(y, [BM, BN])[.., .., bm, bn]);
}

/// y[m, n] = the sum over k of x[m, k] · w[n, k] · scale[n, k / G], with signed weights: [`w4a16`] without zeros.
/// Where all warps always have as many steps, `K = KS * S` says so, and no access looks for the end of K.
kernel w4a16_symmetric<
    BM = 16,
    BN = 64,
    G = 128,
    KS = 1024,
    S = 4,
    STAGES = 2,
    K = 1,
    T: type = f16,
    W: layout = auto,
>(x: T[m, k], w: i4[n, k] : W, scale: T[n, g], y: mut T[m, n])
    where k % (2 * G) == 0,
        k % K == 0,
        KS % (G * STAGES) == 0,
        g == k / G,
        cdiv(cdiv(k, KS), S) <= cdiv(cdiv(g, KS / G), S)
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 32 * S
{
    let [bn, bm] = block_idx;
    let steps = KS / G;
    // A tile for each warp: [.., .., slice, step, part].
    let gx = tile(tile(x, [BM, KS])[.., .., bm, ..], [BM, G, S])[.., .., .., 0, .., ..];
    let gw = tile(tile(w, [BN, KS])[.., .., bn, ..], [BN, G, S])[.., .., .., 0, .., ..];
    let gs = tile(tile(scale, [BN, steps])[.., .., bn, ..], [BN, steps, S])[.., .., .., 0, 0, ..];
    let sx = shared_tensor(T, [BM, G, S, STAGES]);
    let sw = shared_tensor(i4, [BN, G, S, STAGES]);
    let ss = shared_tensor(T, [BN, steps, S]);
    let acc = register_tensor(f32, [BN, BM, S]);
    fill(acc, 0.0);
    for part in 0..cdiv(cdiv(k, KS), S) {
        // The scales of the part before have been read.
        sync_warp();
        copy_async(gs[.., .., .., part], ss);
        for i in 0..STAGES - 1 {
            copy_async(gx[.., .., .., i, part], sx[.., .., .., i]);
            copy_async(gw[.., .., .., i, part], sw[.., .., .., i]);
            commit();
        }
        for round in 0..steps / STAGES {
            #[unroll]
            for slot in 0..STAGES {
                let i = round * STAGES + slot;
                wait(STAGES - 2);
                sync_warp();
                let next = i + STAGES - 1;
                if next < steps {
                    copy_async(gx[.., .., .., next, part], sx[.., .., .., (slot + STAGES - 1) % STAGES]);
                    copy_async(gw[.., .., .., next, part], sw[.., .., .., (slot + STAGES - 1) % STAGES]);
                }
                commit();
                let weights = cast(load(sw[.., .., .., slot]), T);
                let group = register_tensor(f32, [BN, BM, S]);
                fill(group, 0.0);
                gemm(group, weights, sx[.., .., .., slot], warps: [1, 1, S]);
                acc = acc + group * cast(load(ss[.., i, ..]), f32)[.., new, ..];
            }
        }
    }
    wait(0);
    sync();
    let sums = shared_tensor(f32, [S, BM, BN]);
    copy(acc, permute(sums, [2, 1, 0]));
    sync();
    copy(cast(sum(load(sums), axis: 0), T)[0], tile(y, [BM, BN])[.., .., bm, bn]);
}

test "w4a16" for (m, n, k, gs) in [
    (16, 128, 1024, 128),
    (5, 136, 2048, 64),
    (17, 72, 768, 128),
    (1, 40, 9216, 128),
] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / gs], low: 0.02, high: 0.1, seed: 3), f16);
    let zero = cast(floor(uniform(f64, [n, k / gs], low: 0.0, high: 16.0, seed: 4)), f16);
    let y = empty(f16, [m, n]);
    if gs == 128 {
        w4a16(x, w, scale, zero, y);
    } else {
        w4a16<G = 64, KS = 512, STAGES = 4>(x, w, scale, zero, y);
    }
    let weights = reshape((reshape(w, [n, k / gs, gs]) - zero[.., .., new]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16_symmetric" for (m, n, k, gs) in [(16, 128, 1024, 128), (37, 136, 640, 64), (1, 72, 256, 128)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let scale = cast(uniform(f64, [n, k / gs], low: 0.02, high: 0.1, seed: 3), f16);
    let y = empty(f16, [m, n]);
    if gs == 128 {
        w4a16_symmetric(x, w, scale, y);
    } else {
        w4a16_symmetric<G = 64, BM = 32, BN = 32, STAGES = 4>(x, w, scale, y);
    }
    let weights = reshape(reshape(w, [n, k / gs, gs]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16_symmetric in blocks" for (m, n, k) in [(16, 128, 1024), (3, 64, 2560)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let scale = cast(uniform(f64, [n, k / 128], low: 0.02, high: 0.1, seed: 3), f16);
    let y = empty(f16, [m, n]);
    // Eight warps, as in the benches, with tiles that the shared memory of every target holds.
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    w4a16_symmetric<BM = 8, KS = 256, S = 8, W = pairs>(x, pack(w, pairs), scale, y);
    let weights = reshape(reshape(w, [n, k / 128, 128]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
    assert(uses("cvt.f16x8.i4.even_odd") && redistributions() == 0);
}

test "w4a16 in bf16" for (m, n, k) in [(16, 128, 512), (5, 72, 768)] {
    let x = randn(bf16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / 128], low: 0.02, high: 0.1, seed: 3), bf16);
    let zero = cast(floor(uniform(f64, [n, k / 128], low: 0.0, high: 16.0, seed: 4)), bf16);
    let y = empty(bf16, [m, n]);
    w4a16(x, w, scale, zero, y);
    let weights = reshape((reshape(w, [n, k / 128, 128]) - zero[.., .., new]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16 moves 16 bytes at a time and exchanges no weights" {
    let x = randn(f16, [16, 1024], seed: 1);
    let w = uniform(u4, [128, 1024], low: 0, high: 16, seed: 2);
    let scale = full(f16, [128, 8], 0.5);
    let y = empty(f16, [16, 128]);
    w4a16(x, w, scale, scale, y);
    assert(bytes_per_access("w") == 16 && bytes_per_access("x") == 16);
    assert(bytes_per_access("sw") == 16 && bytes_per_access("sx") == 16);
    // Eight nibbles of a word are widened where they lie.
    assert(uses("cvt.f16x8.u4") && uses("mma.m16n8k16") && !uses("shfl"));
    assert(redistributions() == 0 && spills() == 0);
}

test "w4a16 in blocks" for (m, n, k) in [(16, 128, 1024), (3, 256, 512)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / 128], low: 0.02, high: 0.1, seed: 3), f16);
    let zero = cast(floor(uniform(f64, [n, k / 128], low: 0.0, high: 16.0, seed: 4)), f16);
    let plain = empty(f16, [m, n]);
    w4a16(x, w, scale, zero, plain);
    let y = empty(f16, [m, n]);
    let tiles = (64, 128) : (128, 1);
    w4a16<W = tiles>(x, pack(w, tiles), scale, zero, y);
    assert_eq(y, plain);
    let rows = (8, (32, 4)) : (32, (1, 256));
    w4a16<W = rows>(x, pack(w, rows), scale, zero, y);
    assert_eq(y, plain);
    // The even weights of a word first, then the odd ones: a mask takes the two that a register of f16 holds.
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    w4a16<W = pairs>(x, pack(w, pairs), scale, zero, y);
    assert_eq(y, plain);
    assert(uses("cvt.f16x8.u4.even_odd") && !uses("shfl"));
    assert(bytes_per_access("w") == 16 && bytes_per_access("sw") == 16);
}

test "w4a16_symmetric with the tiles of a step of K side by side" {
    let x = randn(f16, [16, 4096], seed: 1);
    let w = uniform(i4, [128, 4096], low: -8, high: 8, seed: 2);
    let scale = cast(uniform(f64, [128, 32], low: 0.02, high: 0.1, seed: 3), f16);
    let weights = reshape(reshape(w, [128, 32, 128]) * scale[.., .., new], [128, 4096]);
    let y = empty(f16, [16, 128]);
    let tiles = ((64, 2), (2, 4, 16)) : ((128, 8192), (4, 1, 8));
    w4a16_symmetric<K = 4096, W = tiles>(x, pack(w, tiles), scale, y);
    assert_close(y, x @ weights.T, ulp: 2);
    assert(uses("cvt.f16x8.i4.even_odd") && redistributions() == 0);
    assert(bytes_per_access("w") == 16 && bytes_per_access("sw") == 16);
}

bench "w4a16 16 × 8192 × 8192" {
    let x = randn(f16, [16, 8192]);
    let w = uniform(i4, [8192, 8192], low: -8, high: 8);
    let scale = cast(uniform(f32, [8192, 64], low: 0.01, high: 0.02), f16);
    let y = empty(f16, [16, 8192]);
    let f = randn(f16, [8192, 8192]);
    let other = empty(f16, [16, 8192]);
    // Every tile in one piece, with the even weights of a word first; the tiles that all blocks read at a time lie side by side.
    let tiles = ((64, 128), (2, 4, 16)) : ((128, 8192), (4, 1, 8));
    let packed = pack(w, tiles);
    measure bytes 8192 * 8192 / 2 { w4a16_symmetric<S = 8, K = 8192, W = tiles>(x, packed, scale, y) }
    baseline cublas::gemm(x, f.T, other)
}

bench "w4a16 16 × 8192 × 8192, with zeros, and row by row" {
    let x = randn(f16, [16, 8192]);
    let w = uniform(u4, [8192, 8192], low: 0, high: 16);
    let scale = cast(uniform(f32, [8192, 64], low: 0.01, high: 0.02), f16);
    let zero = cast(floor(uniform(f32, [8192, 64], low: 0.0, high: 16.0)), f16);
    let signed = uniform(i4, [8192, 8192], low: -8, high: 8);
    let y = empty(f16, [16, 8192]);
    let f = randn(f16, [8192, 8192]);
    let other = empty(f16, [16, 8192]);
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    let packed = pack(w, pairs);
    measure bytes 8192 * 8192 / 2 { w4a16<S = 8, W = pairs>(x, packed, scale, zero, y) }
    measure bytes 8192 * 8192 / 2 { w4a16<S = 8>(x, w, scale, zero, y) }
    measure bytes 8192 * 8192 / 2 { w4a16_symmetric<S = 8>(x, signed, scale, y) }
    baseline cublas::gemm(x, f.T, other)
}

// In a model no launch waits for the host, and no layer finds its weights in the cache.
bench "w4a16 16 × 8192 × 8192, four layers" {
    let x = randn(f16, [16, 8192]);
    let scale = cast(uniform(f32, [8192, 64], low: 0.01, high: 0.02), f16);
    let zero = cast(floor(uniform(f32, [8192, 64], low: 0.0, high: 16.0)), f16);
    let y = empty(f16, [16, 8192]);
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    let tiles = ((64, 128), (2, 4, 16)) : ((128, 8192), (4, 1, 8));
    let u0 = pack(uniform(u4, [8192, 8192], low: 0, high: 16, seed: 0), pairs);
    let u1 = pack(uniform(u4, [8192, 8192], low: 0, high: 16, seed: 1), pairs);
    let u2 = pack(uniform(u4, [8192, 8192], low: 0, high: 16, seed: 2), pairs);
    let u3 = pack(uniform(u4, [8192, 8192], low: 0, high: 16, seed: 3), pairs);
    let i0 = pack(uniform(i4, [8192, 8192], low: -8, high: 8, seed: 0), tiles);
    let i1 = pack(uniform(i4, [8192, 8192], low: -8, high: 8, seed: 1), tiles);
    let i2 = pack(uniform(i4, [8192, 8192], low: -8, high: 8, seed: 2), tiles);
    let i3 = pack(uniform(i4, [8192, 8192], low: -8, high: 8, seed: 3), tiles);
    let f0 = randn(f16, [8192, 8192], seed: 0);
    let f1 = randn(f16, [8192, 8192], seed: 1);
    measure bytes 4 * 8192 * 8192 / 2 {
        w4a16<S = 8, W = pairs>(x, u0, scale, zero, y);
        w4a16<S = 8, W = pairs>(x, u1, scale, zero, y);
        w4a16<S = 8, W = pairs>(x, u2, scale, zero, y);
        w4a16<S = 8, W = pairs>(x, u3, scale, zero, y)
    }
    measure bytes 4 * 8192 * 8192 / 2 {
        w4a16_symmetric<S = 8, K = 8192, W = tiles>(x, i0, scale, y);
        w4a16_symmetric<S = 8, K = 8192, W = tiles>(x, i1, scale, y);
        w4a16_symmetric<S = 8, K = 8192, W = tiles>(x, i2, scale, y);
        w4a16_symmetric<S = 8, K = 8192, W = tiles>(x, i3, scale, y)
    }
    // What they are to be compared with: 134 MB of weights each, more than the cache holds.
    measure bytes 4 * 8192 * 8192 * 2 {
        cublas::gemm(x, f0.T, y);
        cublas::gemm(x, f1.T, y);
        cublas::gemm(x, f0.T, y);
        cublas::gemm(x, f1.T, y)
    }
}
