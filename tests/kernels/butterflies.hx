//! Transforms whose steps combine elements at distances of powers of two: Hadamard, Fourier, wavelets.

/// The Hadamard transform of rows of `N` elements, divided by √N, and rounded to 8 bits with a scale for each row:
/// `q[i, ..] * scales[i]` is near `x[i, ..] @ H / √N`.
kernel hadamard_int8<N = 256>(x: f16[m, N], q: mut i8[m, N], scales: mut f32[m])
    where N & N - 1 == 0
    grid [m]
    threads max(32, N / 8)
{
    let s = shared_tensor(f32, [N]);
    let v = cast(load(x[block_idx]), f32);
    let i = index(v, 0);
    let distance = 1;
    while distance < N {
        copy(v, s);
        sync();
        let other = load(gather(s, i ^ distance));
        v = where(i & distance == 0, other + v, other - v);
        sync();
        distance = distance * 2;
    }
    let scale = max(abs(v), axis: 0) / 127.0;
    copy(cast(round(v / max(scale, 1e-30)), i8), q[block_idx]);
    copy(scale * rsqrt(cast(N, f32)), tile(scales, [1])[.., block_idx]);
}

test "a Hadamard transform in 8 bits" {
    let (x, q, scales) = (randn(f16, [3, 256], seed: 1), empty(i8, [3, 256]), empty(f32, [3]));
    hadamard_int8(x, q, scales);
    let at = arange(i64, [256]);
    let h = 1.0 - 2.0 * (popcount(reshape(at, [256, 1]) & reshape(at, [1, 256])) & 1);
    let expected = x @ h / 16.0;
    let largest = max(abs(expected), axis: 1);
    assert_close(scales, largest / 127.0, rtol: 1e-5);
    for i in 0..3 {
        assert_close(q[i] * scales[i], expected[i], rtol: 0.0, atol: largest[i] / 250.0);
    }
}

/// The discrete Fourier transform of rows of `N` complex numbers: radix 2, decimation in time. `c` and `d` are the real and imaginary
/// parts of the `N`-th roots of one, up to half a turn. The elements begin in the order of their reversed bits, and each step combines
/// those at one distance.
kernel fft<N = 1024>(
    re: f32[m, N],
    im: f32[m, N],
    c: f32[N / 2],
    d: f32[N / 2],
    out_re: mut f32[m, N],
    out_im: mut f32[m, N],
)
    where N & N - 1 == 0
    grid [m]
    threads max(32, N / 8)
{
    let (s, t) = (shared_tensor(f32, [N]), shared_tensor(f32, [N]));
    copy(load(re[block_idx]), s);
    copy(load(im[block_idx]), t);
    sync();
    let i = index(register_tensor(f32, [N]), 0);
    let from = i & 0;
    let bit = 1;
    while bit < N {
        from = from | where(i & bit == 0, 0, cast(N / 2 / bit, i32));
        bit = bit * 2;
    }
    let (a, b) = (load(gather(s, from)), load(gather(t, from)));
    let distance = 1;
    while distance < N {
        sync();
        copy(a, s);
        copy(b, t);
        sync();
        // The root of the upper element is half a turn further: it has the other sign.
        let (low, high) = (i & ~distance, i | distance);
        let root = (i & distance - 1) * (N / 2 / distance);
        let sign = where(i & distance == 0, 1.0, -1.0);
        let (x, y) = (sign * load(gather(c, root)), sign * load(gather(d, root)));
        let (u, v) = (load(gather(s, high)), load(gather(t, high)));
        a = load(gather(s, low)) + x * u - y * v;
        b = load(gather(t, low)) + x * v + y * u;
        distance = distance * 2;
    }
    copy(a, out_re[block_idx]);
    copy(b, out_im[block_idx]);
}

test "a Fourier transform" {
    let (re, im) = (randn(f32, [2, 256], seed: 1), randn(f32, [2, 256], seed: 2));
    let (a, b) = (empty(f32, [2, 256]), empty(f32, [2, 256]));
    let at = arange(i64, [256]);
    let angle = at * (-2.0 * 3.14159265358979 / 256.0);
    let (c, d) = (cos(angle), sin(angle));
    fft<N = 256>(re, im, cast(c[..128], f32), cast(d[..128], f32), a, b);
    let turns = reshape(at, [256, 1]) * reshape(at, [1, 256]) % 256 * (-2.0 * 3.14159265358979 / 256.0);
    let (p, q) = (cos(turns), sin(turns));
    assert_close(a, re @ p - im @ q, rtol: 0.0, atol: 3e-5);
    assert_close(b, re @ q + im @ p, rtol: 0.0, atol: 3e-5);
}

/// One level of Daubechies' wavelet of four coefficients: `low` and `high` get the smooth part and the detail, of half the length. A row
/// has zeros behind it.
kernel daubechies<B = 256>(x: f32[m, n], coefficients: f32[4], low: mut f32[m, h], high: mut f32[m, h])
    where h == cdiv(n, 2)
    grid [cdiv(h, B), m]
    threads 64
{
    let [block, row] = block_idx;
    let windows = load(global_view(x[row, block * B * 2..], (B, 4) : (2, 1)));
    let c = load(coefficients[new, ..]);
    let k = index(c, 1);
    let reversed = load(gather(coefficients, 3 - k));
    let smooth = sum(windows * c, axis: 1)[.., 0];
    let detail = sum(windows * where(k & 1 == 0, reversed, -reversed), axis: 1)[.., 0];
    copy(smooth, tile(low[row], [B])[.., block]);
    copy(detail, tile(high[row], [B])[.., block]);
}

test "a wavelet transform" for (m, n) in [(2, 512), (1, 1000), (3, 77)] {
    let (x, h) = (randn(f32, [m, n], seed: 1), cdiv(n, 2));
    let c = cast([0.4829629131, 0.8365163037, 0.2241438680, -0.1294095226], f32);
    let (low, high) = (empty(f32, [m, h]), empty(f32, [m, h]));
    daubechies(x, c, low, high);
    let p = zeros(f64, [m, n + 4]);
    p[.., ..n] = x;
    for i in 0..h {
        let (p0, p1, p2, p3) = (p[.., 2 * i], p[.., 2 * i + 1], p[.., 2 * i + 2], p[.., 2 * i + 3]);
        assert_close(low[.., i], p0 * c[0] + p1 * c[1] + p2 * c[2] + p3 * c[3], rtol: 0.0, atol: 1e-6);
        assert_close(high[.., i], p0 * c[3] - p1 * c[2] + p2 * c[1] - p3 * c[0], rtol: 0.0, atol: 1e-6);
    }
}
