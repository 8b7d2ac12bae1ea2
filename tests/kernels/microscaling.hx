//! Floats of 4 bits, and blocks of them that share a scale: `f4e2m1` and `f8e8m0`.

kernel convert<BM = 4, BN = 256, S: type = f4e2m1, D: type = f32>(x: S[m, n], y: mut D[m, n])
    where n % 2 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [BM, BN])[.., .., bm, bn]), D), tile(y, [BM, BN])[.., .., bm, bn]);
}

/// The same, one number after the other.
kernel convert_columns<S: type = f8e8m0, D: type = f32>(x: S[n], y: mut D[n])
    grid [cdiv(n, 32)]
    threads 32
{
    copy(cast(load(tile(x, [32])[.., block_idx]), D), tile(y, [32])[.., block_idx]);
}

/// Each value next to each other one. The quotients tell -0 from 0.
test "every pair of f4e2m1" for D in [f32, f16, bf16, f64, f8e4m3, f8e5m2] {
    let values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
    let all = cast(values, f32);
    let pairs = zeros(f32, [16, 16, 2]);
    pairs[.., .., 0] = all[.., new];
    pairs[.., .., 1] = all[new, ..];
    let wide = reshape(pairs, [2, 256]);
    let x = cast(wide, f4e2m1);
    assert_eq(x, wide);
    let y = empty(D, [2, 256]);
    convert<S = f4e2m1, D = D>(x, y);
    assert_eq(y, x);
    assert_eq(1.0 / cast(y, f32), 1.0 / wide);
}

test "every f8e8m0" for D in [f32, f16, bf16, f64, i32, bool, f8e4m3, f4e2m1] {
    let x = reshape(bitcast(cast(arange(i32, [256]), u8), f8e8m0), [1, 256]);
    let y = empty(D, [1, 256]);
    convert<S = f8e8m0, D = D>(x, y);
    assert_eq(y, cast(x, D));
    if D != f4e2m1 {
        let z = empty(D, [256]);
        convert_columns<S = f8e8m0, D = D>(x[0], z);
        assert_eq(z, y[0]);
    }
}

/// The floats of 16 bits but the last two: simulated memory begins with NaN of all ones.
test "from every float of 16 bits" for (S, D) in [
    (f16, f4e2m1),
    (bf16, f4e2m1),
    (f16, f8e8m0),
    (bf16, f8e8m0),
] {
    let x = reshape(bitcast(cast(arange(i32, [65534]), u16), S), [217, 302]);
    let y = empty(D, [217, 302]);
    convert<S = S, D = D>(x, y);
    assert_eq(y, cast(x, D));
}

/// The upper halves of floats of 32 bits, each with lower halves that are at, next to, and between the middles of neighbours.
test "from floats of 32 bits" for D in [f4e2m1, f8e8m0] {
    for low in [0, 1, 0x5a5a, 0x8000, 0xffff] {
        let bits = (arange(i64, [65534]) << 16) | low;
        let x = reshape(bitcast(cast(bits, u32), f32), [217, 302]);
        let y = empty(D, [217, 302]);
        convert<S = f32, D = D>(x, y);
        assert_eq(y, cast(x, D));
        let wide = cast(x, f64);
        convert<S = f64, D = D>(wide, y);
        assert_eq(y, cast(x, D));
    }
}

/// y[n, k] = w[n, k] · scale[n, k / 32], for weights in rows or in blocks `W`.
kernel dequantize<BN = 32, BK = 256, T: type = bf16, W: layout = auto>(
    w: f4e2m1[n, k] : W,
    scale: f8e8m0[n, g],
    y: mut T[n, k],
)
    where k % 32 == 0, g == k / 32
    grid [cdiv(n, BN), cdiv(k, BK)]
    threads 128
{
    let [i, j] = block_idx;
    let weights = cast(load(tile(w, [BN, BK])[.., .., i, j]), T);
    let scales = cast(load(tile(scale, [BN, BK / 32])[.., .., i, j]), T);
    let scaled = reshape(weights, [BN, BK / 32, 32]) * scales[.., .., new];
    copy(reshape(scaled, [BN, BK]), tile(y, [BN, BK])[.., .., i, j]);
}

test "dequantized" for (T, n, k) in [
    (bf16, 32, 256),
    (bf16, 37, 352),
    (bf16, 1, 32),
    (f16, 100, 1024),
    (f16, 31, 96),
    (f32, 33, 288),
] {
    let w = randn(f4e2m1, [n, k]);
    let exponents = uniform(i32, [n, k / 32], low: 119, high: 136);
    let scale = bitcast(cast(exponents, u8), f8e8m0);
    let y = empty(T, [n, k]);
    dequantize<T = T>(w, scale, y);
    let groups = reshape(cast(w, f32), [n, k / 32, 32]) * cast(scale, f32)[.., .., new];
    assert_eq(y, reshape(groups, [n, k]));
}

/// Scales at both ends: bf16 has them all.
test "the ends of the scales" {
    let exponents = cast([[0, 1, 2, 126, 127, 128, 252, 255]], u8);
    let scale = bitcast(exponents, f8e8m0);
    let w = randn(f4e2m1, [1, 256]);
    let y = empty(bf16, [1, 256]);
    dequantize(w, scale, y);
    let groups = reshape(cast(w, f32), [1, 8, 32]) * cast(scale, f32)[.., .., new];
    assert_eq(y, cast(reshape(groups, [1, 256]), bf16));
}

/// c[m, n] = x · dequant(w)ᵀ. The weights are the M side of the instruction, as of `std::w4a16`: widened in registers, they lie in its
/// fragments. The scales are powers of two, so each product with one is exact. Beyond the end of K a scale is 2^-127, and becomes 0.
kernel product<BM = 16, BN = 64, BK = 128, STAGES = 3, T: type = bf16, W: layout = auto>(
    x: T[m, k],
    w: f4e2m1[n, k] : W,
    scale: f8e8m0[n, g],
    c: mut f32[m, n],
)
    where k % 32 == 0, g == k / 32
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let gx = tile(x, [BM, BK])[.., .., bm, ..];
    let gw = tile(w, [BN, BK])[.., .., bn, ..];
    let gs = tile(scale, [BN, BK / 32])[.., .., bn, ..];
    let sx = shared_tensor(T, [BM, BK, STAGES]);
    let sw = shared_tensor(f4e2m1, [BN, BK, STAGES]);
    let ss = shared_tensor(f8e8m0, [BN, BK / 32, STAGES]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    let steps = cdiv(k, BK);
    for i in 0..STAGES - 1 {
        if i < steps {
            copy_async(gx[.., .., i], sx[.., .., i]);
            copy_async(gw[.., .., i], sw[.., .., i]);
            copy(gs[.., .., i], ss[.., .., i]);
        }
        commit();
    }
    for i in 0..steps {
        wait(STAGES - 2);
        sync();
        let next = i + STAGES - 1;
        if next < steps {
            copy_async(gx[.., .., next], sx[.., .., next % STAGES]);
            copy_async(gw[.., .., next], sw[.., .., next % STAGES]);
            copy(gs[.., .., next], ss[.., .., next % STAGES]);
        }
        commit();
        let block_scales = load(ss[.., .., i % STAGES]);
        let is_inside = index(block_scales, 1) + i * (BK / 32) < g;
        let scales = where(is_inside, cast(block_scales, T), 0.0);
        let weights = cast(load(sw[.., .., i % STAGES]), T);
        let scaled = reshape(weights, [BN, BK / 32, 32]) * scales[.., .., new];
        gemm(acc, reshape(scaled, [BN, BK]), sx[.., .., i % STAGES]);
    }
    copy(acc.T, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "products" for (T, m, n, k) in [
    (bf16, 16, 64, 256),
    (bf16, 5, 100, 352),
    (f16, 33, 70, 416),
    (f16, 1, 64, 32),
] {
    let x = cast(uniform(i32, [m, k], low: -4, high: 5), T);
    let w = randn(f4e2m1, [n, k]);
    let scale = bitcast(cast(uniform(i32, [n, k / 32], low: 125, high: 130), u8), f8e8m0);
    let groups = reshape(cast(w, f32), [n, k / 32, 32]) * cast(scale, f32)[.., .., new];
    let wide = cast(x, f32) @ reshape(groups, [n, k]).T;
    let c = empty(f32, [m, n]);
    product<T = T>(x, w, scale, c);
    assert_eq(c, wide);
}

/// Blocks that keep the even weights of each word before the odd ones.
test "even and odd" for T in [f16, bf16] {
    let (m, n, k) = (7, 128, 512);
    let x = cast(uniform(i32, [m, k], low: -4, high: 5), T);
    let w = randn(f4e2m1, [n, k]);
    let scale = bitcast(cast(uniform(i32, [n, k / 32], low: 125, high: 130), u8), f8e8m0);
    let groups = reshape(cast(w, f32), [n, k / 32, 32]) * cast(scale, f32)[.., .., new];
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    let packed = pack(w, pairs);
    assert_eq(unpack(packed, pairs), w);
    let c = empty(f32, [m, n]);
    product<T = T, W = pairs>(x, packed, scale, c);
    assert_eq(c, cast(x, f32) @ reshape(groups, [n, k]).T);
    let y = empty(T, [n, k]);
    dequantize<T = T, W = pairs>(packed, scale, y);
    assert_eq(y, reshape(groups, [n, k]));
    if T == f16 {
        assert(uses("cvt.f16x8.e2m1.even_odd"));
    } else {
        assert(uses("cvt.bf16x8.e2m1.even_odd"));
    }
}

/// Arithmetic on 4-bit floats is computed in f32 and rounded.
kernel arithmetic(
    x: f4e2m1[64],
    y: mut f4e2m1[64],
    larger: mut f4e2m1[64],
    most: mut f32[1],
    total: mut f32[1],
)
    grid [1]
    threads 32
{
    let t = load(x);
    copy(where(t < 0.0, -t, t * 1.5 + 0.5), y);
    copy(scan(t, 0, |a, b| max(a, b)), larger);
    copy(cast(max(t, axis: 0), f32), most);
    copy(cast(sum(where(index(t, 0) < 8, 0.5, t * 0.0), axis: 0), f32), total);
}

test "arithmetic" {
    let x = randn(f4e2m1, [64]);
    let (y, larger) = (empty(f4e2m1, [64]), empty(f4e2m1, [64]));
    let (most, total) = (empty(f32, [1]), empty(f32, [1]));
    arithmetic(x, y, larger, most, total);
    let wide = cast(x, f32);
    let grown = cast(cast(wide * 1.5, f4e2m1), f32) + 0.5;
    assert_eq(y, cast(where(wide < 0.0, -wide, grown), f4e2m1));
    assert_eq(most[0], max(wide));
    assert_eq(larger[63], max(wide));
    assert_eq(total[0], 4.0);
}
