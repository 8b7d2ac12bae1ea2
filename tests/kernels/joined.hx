//! Tiles that are joined of others and cut into parts, and assignments of tiles to parts of tiles.

/// c = a beside b, and d = a above b, for tiles of several extents.
kernel beside<N = 32, K = 32>(a: f32[m, N], b: f32[m, K], c: mut f32[m, N + K], d: mut f32[2 * m, N])
    where m % 16 == 0
    grid [m / 16]
    threads 64
{
    let i = block_idx;
    let (x, y) = (load(tile(a, [16, N])[.., .., i, 0]), load(tile(b, [16, K])[.., .., i, 0]));
    copy(concat(x, y, axis: 1), tile(c, [16, N + K])[.., .., i, 0]);
    copy(concat(x, x * 2.0, axis: 0), tile(d, [32, N])[.., .., i, 0]);
}

test "tiles beside and above each other" for m in [16, 48] {
    let (a, b) = (randn(f32, [m, 32], seed: 1), randn(f32, [m, 32], seed: 2));
    let (c, d) = (zeros(f32, [m, 64]), zeros(f32, [2 * m, 32]));
    beside(a, b, c, d);
    assert_eq(c[.., ..32], a);
    assert_eq(c[.., 32..], b);
    for i in 0..m / 16 {
        assert_eq(d[i * 32..i * 32 + 16], a[i * 16..i * 16 + 16]);
        assert_eq(d[i * 32 + 16..i * 32 + 32], a[i * 16..i * 16 + 16] * 2.0);
    }
}

test "of two extents" for (n, k) in [(32, 64), (48, 16), (8, 24), (20, 12), (7, 3)] {
    let (a, b) = (randn(f32, [32, n], seed: 1), randn(f32, [32, k], seed: 2));
    let (c, d) = (zeros(f32, [32, n + k]), zeros(f32, [64, n]));
    beside<N = n, K = k>(a, b, c, d);
    assert_eq(c[.., ..n], a);
    assert_eq(c[.., n..], b);
}

/// The halves of each row change places, and the rows of four columns are joined of single columns.
kernel halves<N = 32>(x: f16[m, N], y: mut f16[m, N], z: mut f16[m, 4])
    grid [cdiv(m, 16)]
    threads 128
{
    let i = block_idx;
    let t = load(tile(x, [16, N])[.., .., i, 0]);
    let (left, right) = split(t, 2, axis: 1);
    copy(concat(right, left, axis: 1), tile(y, [16, N])[.., .., i, 0]);
    let (p, q) = (sum(left, axis: 1), sum(right, axis: 1));
    copy(concat(p, q, p + q, p - q, axis: 1), tile(z, [16, 4])[.., .., i, 0]);
}

test "halves" for (m, n) in [(16, 64), (33, 32), (16, 24), (5, 2)] {
    let x = cast(floor(uniform(f64, [m, n], seed: 3) * 8.0), f16);
    let (y, z) = (zeros(f16, [m, n]), zeros(f16, [m, 4]));
    halves<N = n>(x, y, z);
    assert_eq(y[.., ..n / 2], x[.., n / 2..]);
    assert_eq(y[.., n / 2..], x[.., ..n / 2]);
    let (p, q) = (sum(x[.., ..n / 2], axis: 1), sum(x[.., n / 2..], axis: 1));
    assert_eq(z[.., 0], p);
    assert_eq(z[.., 2], p + q);
    assert_eq(z[.., 3], p - q);
}

/// Rotary position embedding of interleaved halves: a rotation of (x1, x2) by an angle of the row and the column.
kernel rotated<D = 64>(x: f32[m, D], angles: f32[m, D / 2], y: mut f32[m, D])
    grid [cdiv(m, 8)]
    threads 64
{
    let i = block_idx;
    let (a, b) = split(load(tile(x, [8, D])[.., .., i, 0]), 2, axis: 1);
    let angle = load(tile(angles, [8, D / 2])[.., .., i, 0]);
    let (c, s) = (cos(angle), sin(angle));
    copy(concat(a * c - b * s, a * s + b * c, axis: 1), tile(y, [8, D])[.., .., i, 0]);
}

test "rotations" for m in [8, 21] {
    let (x, angles) = (randn(f32, [m, 64], seed: 1), randn(f32, [m, 32], seed: 2));
    let y = zeros(f32, [m, 64]);
    rotated(x, angles, y);
    let (a, b, c, s) = (x[.., ..32], x[.., 32..], cos(angles), sin(angles));
    assert_close(y[.., ..32], a * c - b * s, atol: 1e-5);
    assert_close(y[.., 32..], a * s + b * c, atol: 1e-5);
}

/// Parts of a tile are set to other tiles, and changed by them.
kernel patched<N = 32>(x: f32[32, N], w: f32[32, N / 2], y: mut f32[32, N], z: mut f32[32, N])
    grid [1]
    threads 64
{
    let (v, half) = (load(x), load(w));
    v[.., ..N / 2] = half;
    v[.., N / 4..N / 2 + N / 4] += half;
    copy(v, y);
    let u = load(x);
    u[16.., ..N / 2] *= half[..16];
    u[3, N / 2..] = half[5];
    u[..16, ..] -= u[16.., ..];
    copy(u, z);
}

test "parts" for n in [64, 32, 16] {
    let (x, w) = (randn(f32, [32, n], seed: 1), randn(f32, [32, n / 2], seed: 2));
    let (y, z) = (zeros(f32, [32, n]), zeros(f32, [32, n]));
    patched<N = n>(x, w, y, z);
    let v = x + 0.0;
    v[.., ..n / 2] = w;
    v[.., n / 4..n / 2 + n / 4] = v[.., n / 4..n / 2 + n / 4] + w;
    assert_close(y, v, ulp: 1);
    let u = x + 0.0;
    u[16.., ..n / 2] = u[16.., ..n / 2] * w[..16];
    u[3, n / 2..] = w[5];
    u[..16] = u[..16] - u[16..];
    assert_close(z, u, ulp: 2);
}

/// Rows of a batch lie one after the other in shared memory: the same memory as a stack of matrices.
kernel restacked<N = 32>(x: f32[64, N], y: mut f32[4, 16, N], z: mut f32[16, N])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [64, N]);
    copy(load(x), s);
    sync();
    let stack = reshape(s, [4, 16, N]);
    copy(load(stack), y);
    let (first, second) = (load(stack[1]), load(stack[3]));
    copy(first + second, z);
    sync();
    let (top, bottom) = split(s, 2, axis: 0);
    copy(load(top), bottom);
}

test "stacks" for n in [32, 20] {
    let x = randn(f32, [64, n], seed: 1);
    let (y, z) = (zeros(f32, [4, 16, n]), zeros(f32, [16, n]));
    restacked<N = n>(x, y, z);
    assert_eq(y, reshape(x, [4, 16, n]));
    assert_close(z, x[16..32] + x[48..], ulp: 1);
}

/// Joined modes: a stack in shared memory as one matrix, and each matrix transposed.
kernel joined_modes(x: f16[4, 16, 32], y: mut f16[64, 32], z: mut f32[64, 64])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [4, 16, 32]);
    copy(load(x), s);
    sync();
    copy(load(reshape(s, [64, 32])), y);
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    let m = load(reshape(s, [64, 32]));
    gemm(acc, m, m);
    copy(acc, z);
}

test "joined modes" {
    let x = randn(f16, [4, 16, 32], seed: 1);
    let (y, z) = (zeros(f16, [64, 32]), zeros(f32, [64, 64]));
    joined_modes(x, y, z);
    let m = reshape(x, [64, 32]);
    assert_eq(y, m);
    assert_close(z, m @ m.T, ulp: 64);
}

/// Moves all columns to the left, one by one: each move goes through the same shared memory.
kernel shifted(x: f32[32, 64], y: mut f32[32, 64])
    grid [1]
    threads 64
{
    let v = load(x);
    #[unroll]
    for _ in 0..16 {
        v[.., 0..63] = v[.., 1..64];
    }
    copy(v, y);
}

test "columns move" {
    let x = randn(f32, [32, 64], seed: 1);
    let y = empty(f32, [32, 64]);
    shifted(x, y);
    assert_eq(y[.., 0..48], x[.., 16..64]);
    assert_eq(y[.., 48..64], x[.., 63..64] + zeros(f32, [32, 16]));
}
