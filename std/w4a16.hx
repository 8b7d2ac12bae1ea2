//! Products with weights of 4 bits: y = x · dequant(w)ᵀ for few rows of `x`, where reading the weights is all that takes time.
//!
//! The weights are the instruction's M side. They go to shared memory and into registers once, are widened there, and lie in the
//! fragments that the matrix instruction wants: no thread exchanges anything with another. A weight less its zero is exact; the scale
//! is the same for a whole group of steps, so it multiplies the group's sum, in f32.

/// y[m, n] = the sum over k of x[m, k] · (w[n, k] − zero[n, k / G]) · scale[n, k / G], in one launch.
///
/// `w` holds 4-bit weights, row by row or in blocks `W`, as `pack(w, W)` makes it: each tile in one piece with `W = (BN, BK) : (BK, 1)`,
/// and the even weights of each word before its odd ones with `W = (BN, (2, 4, BK / 8)) : (BK, (4, 1, 8))`, which takes the fewest
/// instructions to widen. Every `G` steps of K have their scale and their zero.
kernel w4a16<
    BM = 16,
    BN = 128,
    BK = 128,
    G = 128,
    STAGES = 4,
    THREADS = 128,
    T: type = f16,
    W: layout = auto,
>(x: T[m, k], w: u4[n, k] : W, scale: T[n, g], zero: T[n, g], y: mut T[m, n])
    where k % G == 0, G % BK == 0, g == k / G
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads THREADS
{
    let [bn, bm] = block_idx;
    let gx = tile(x, [BM, BK])[.., .., bm, ..];
    let gw = tile(w, [BN, BK])[.., .., bn, ..];
    let gs = tile(scale, [BN, 1])[.., .., bn, ..];
    let gz = tile(zero, [BN, 1])[.., .., bn, ..];
    let sx = shared_tensor(T, [BM, BK, STAGES]);
    let sw = shared_tensor(u4, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(gx[.., .., s], sx[.., .., s]);
        copy_async(gw[.., .., s], sw[.., .., s]);
        commit();
    }
    for ki in 0..k / BK {
        let rs = load(gs[.., .., ki * BK / G]);
        let rz = load(gz[.., .., ki * BK / G]);
        wait(STAGES - 2);
        sync();
        let next = ki + STAGES - 1;
        copy_async(gx[.., .., next], sx[.., .., next % STAGES]);
        copy_async(gw[.., .., next], sw[.., .., next % STAGES]);
        commit();
        let rw = load(sw[.., .., ki % STAGES]);
        let group = register_tensor(f32, [BN, BM]);
        fill(group, 0.0);
        gemm(group, cast(rw, T) - rz, sx[.., .., ki % STAGES]);
        acc = acc + group * cast(rs, f32);
    }
    wait(0);
    copy(cast(acc, T).T, tile(y, [BM, BN])[.., .., bm, bn]);
}

/// part[s, m, n] = the sum over the steps `s · KS .. (s + 1) · KS` of K of x[m, k] · (w[n, k] − zero[n, k / G]) · scale[n, k / G].
///
/// Where there are few rows, a product needs more blocks than it has tiles; `w4a16_sum` adds the parts.
kernel w4a16_parts<
    BM = 16,
    BN = 128,
    BK = 128,
    KS = 1024,
    G = 128,
    STAGES = 4,
    THREADS = 128,
    T: type = f16,
    W: layout = auto,
>(x: T[m, k], w: u4[n, k] : W, scale: T[n, g], zero: T[n, g], part: mut f32[s, m, n])
    where k % G == 0, BK % G == 0, KS % BK == 0, g == k / G, s == cdiv(k, KS)
    grid [cdiv(n, BN), cdiv(m, BM), cdiv(k, KS)]
    threads THREADS
{
    let [bn, bm, bs] = block_idx;
    let gx = tile(x, [BM, BK])[.., .., bm, ..];
    let gw = tile(w, [BN, BK])[.., .., bn, ..];
    let sx = shared_tensor(T, [BM, BK, STAGES]);
    let sw = shared_tensor(u4, [BN, BK, STAGES]);
    let ss = shared_tensor(T, [BN, KS / G]);
    let sz = shared_tensor(T, [BN, KS / G]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    let first = bs * (KS / BK);
    for i in 0..STAGES - 1 {
        copy_async(gw[.., .., first + i], sw[.., .., i]);
        copy_async(gx[.., .., first + i], sx[.., .., i]);
        commit();
    }
    copy(tile(scale, [BN, KS / G])[.., .., bn, bs], ss);
    copy(tile(zero, [BN, KS / G])[.., .., bn, bs], sz);
    for i in 0..KS / BK {
        wait(STAGES - 2);
        sync();
        let next = i + STAGES - 1;
        if next < KS / BK {
            copy_async(gw[.., .., first + next], sw[.., .., next % STAGES]);
            copy_async(gx[.., .., first + next], sx[.., .., next % STAGES]);
        }
        commit();
        let slot = i % STAGES;
        #[unroll]
        for j in 0..BK / G {
            let rw = load(sw[.., j * G..j * G + G, slot]);
            let rs = load(ss[.., i * (BK / G) + j][.., new]);
            let rz = load(sz[.., i * (BK / G) + j][.., new]);
            let group = register_tensor(f32, [BN, BM]);
            fill(group, 0.0);
            gemm(group, cast(rw, T) - rz, sx[.., j * G..j * G + G, slot]);
            acc = acc + group * cast(rs, f32);
        }
    }
    wait(0);
    copy(acc, tile(part[bs], [BM, BN])[.., .., bm, bn].T);
}

/// y[m, n] = the sum of `S` parts.
kernel w4a16_sum<BM = 1, BN = 1024, S = 8, T: type = f16>(part: f32[S, m, n], y: mut T[m, n])
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let parts = tile(part, [S, BM, BN])[.., .., .., 0, bm, bn];
    copy(cast(sum(load(parts), axis: 0), T), tile(y, [BM, BN])[.., .., bm, bn][new, .., ..]);
}

test "w4a16" for (m, n, k, gs) in [
    (16, 128, 1024, 128),
    (5, 136, 2048, 64),
    (17, 72, 384, 128),
    (1, 40, 1152, 128),
] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / gs], low: 0.02, high: 0.1, seed: 3), f16);
    let zero = cast(floor(uniform(f64, [n, k / gs], low: 0.0, high: 16.0, seed: 4)), f16);
    let parts = (k + 1023) / 1024;
    let part = empty(f32, [parts, m, n]);
    if gs == 128 {
        w4a16_parts(x, w, scale, zero, part);
    } else {
        w4a16_parts<G = 64>(x, w, scale, zero, part);
    }
    let y = empty(f16, [m, n]);
    if parts == 1 {
        w4a16_sum<S = 1>(part, y);
    } else {
        w4a16_sum<S = 2>(part, y);
    }
    let weights = reshape((reshape(w, [n, k / gs, gs]) - zero[.., .., new]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16 in one launch" for (m, n, k, gs) in [
    (16, 128, 1024, 128),
    (37, 136, 640, 64),
    (1, 72, 384, 128),
] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / gs], low: 0.02, high: 0.1, seed: 3), f16);
    let zero = cast(floor(uniform(f64, [n, k / gs], low: 0.0, high: 16.0, seed: 4)), f16);
    let y = empty(f16, [m, n]);
    if gs == 128 {
        w4a16(x, w, scale, zero, y);
    } else {
        w4a16<G = 64, BK = 64, BM = 32>(x, w, scale, zero, y);
    }
    let weights = reshape((reshape(w, [n, k / gs, gs]) - zero[.., .., new]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16 in bf16" for (m, n, k) in [(16, 128, 512), (5, 72, 384)] {
    let x = randn(bf16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / 128], low: 0.02, high: 0.1, seed: 3), bf16);
    let zero = cast(floor(uniform(f64, [n, k / 128], low: 0.0, high: 16.0, seed: 4)), bf16);
    let part = empty(f32, [1, m, n]);
    w4a16_parts(x, w, scale, zero, part);
    let y = empty(bf16, [m, n]);
    w4a16_sum<S = 1>(part, y);
    let weights = reshape((reshape(w, [n, k / 128, 128]) - zero[.., .., new]) * scale[.., .., new], [n, k]);
    assert_close(y, x @ weights.T, ulp: 2);
}

test "w4a16 moves 16 bytes at a time and exchanges nothing" {
    let x = randn(f16, [16, 1024], seed: 1);
    let w = uniform(u4, [128, 1024], low: 0, high: 16, seed: 2);
    let scale = full(f16, [128, 8], 0.5);
    let part = empty(f32, [1, 16, 128]);
    w4a16_parts(x, w, scale, scale, part);
    assert(bytes_per_access("w") == 16 && bytes_per_access("x") == 16);
    assert(bytes_per_access("sw") == 16 && bytes_per_access("sx") == 16);
    // Eight nibbles of a word are widened where they lie.
    assert(uses("cvt.f16x8.u4") && uses("mma.m16n8k16") && !uses("shfl"));
    assert(spills() == 0);
}

test "w4a16 in blocks" for (m, n, k) in [(16, 128, 1024), (3, 256, 512)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let scale = cast(uniform(f64, [n, k / 128], low: 0.02, high: 0.1, seed: 3), f16);
    let zero = cast(floor(uniform(f64, [n, k / 128], low: 0.0, high: 16.0, seed: 4)), f16);
    let plain = empty(f32, [1, m, n]);
    w4a16_parts(x, w, scale, zero, plain);
    let part = empty(f32, [1, m, n]);
    let tiles = (128, 128) : (128, 1);
    w4a16_parts<W = tiles>(x, pack(w, tiles), scale, zero, part);
    assert_eq(part, plain);
    let rows = (8, (32, 4)) : (32, (1, 256));
    w4a16_parts<W = rows>(x, pack(w, rows), scale, zero, part);
    assert_eq(part, plain);
    // The even weights of a word first, then the odd ones: a mask takes the two that a register of f16 holds.
    let pairs = (128, (2, 4, 16)) : (128, (4, 1, 8));
    w4a16_parts<W = pairs>(x, pack(w, pairs), scale, zero, part);
    assert_eq(part, plain);
    assert(uses("cvt.f16x8.u4.even_odd") && !uses("shfl"));
    assert(bytes_per_access("w") == 16 && bytes_per_access("sw") == 16);
}

bench "w4a16 16 × 8192 × 8192" {
    let x = randn(f16, [16, 8192]);
    let w = uniform(u4, [8192, 8192], low: 0, high: 16);
    let scale = cast(uniform(f32, [8192, 64], low: 0.01, high: 0.02), f16);
    let zero = cast(floor(uniform(f32, [8192, 64], low: 0.0, high: 16.0)), f16);
    let y = empty(f16, [16, 8192]);
    let f = randn(f16, [8192, 8192]);
    let p4 = empty(f32, [4, 16, 8192]);
    let p8 = empty(f32, [8, 16, 8192]);
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 1024>(x, w, scale, zero, p8);
        w4a16_sum<S = 8>(p8, y)
    }
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 2048>(x, w, scale, zero, p4);
        w4a16_sum<S = 4>(p4, y)
    }
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 2048, BK = 256, STAGES = 3, THREADS = 256>(x, w, scale, zero, p4);
        w4a16_sum<S = 4>(p4, y)
    }
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 1024>(x, w, scale, zero, p8);
    }
    // The same weights with every tile in one piece, then with the even weights of a word first as well.
    let tiles = (128, 128) : (128, 1);
    let packed = pack(w, tiles);
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 1024, W = tiles>(x, packed, scale, zero, p8);
        w4a16_sum<S = 8>(p8, y)
    }
    let pairs = (128, (2, 4, 16)) : (128, (4, 1, 8));
    let paired = pack(w, pairs);
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 1024, W = pairs>(x, paired, scale, zero, p8);
        w4a16_sum<S = 8>(p8, y)
    }
    measure bytes 8192 * 8192 / 2 {
        w4a16_parts<KS = 2048, W = pairs>(x, paired, scale, zero, p4);
        w4a16_sum<S = 4>(p4, y)
    }
    baseline cublas::gemm(x, f.T, y)
}
