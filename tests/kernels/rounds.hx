//! Copies of tiles that the registers of a block do not hold: they move in rounds.

/// y = x, in tiles of 20,000 elements that 128 threads move in five rounds.
kernel long_rows<N = 20000>(x: f32[n], y: mut f32[n])
    grid [cdiv(n, N)]
    threads 128
{
    let s = shared_tensor(f32, [N]);
    copy(tile(x, [N])[.., block_idx], s);
    sync();
    copy(s, tile(y, [N])[.., block_idx]);
}

test "a long tile through registers" for n in [20000, 45001, 7] {
    let (x, y) = (randn(f32, [n], seed: 1), empty(f32, [n]));
    long_rows(x, y);
    assert_eq(y, x);
}

/// y = xᵀ, by way of a tile whose rows other threads read.
kernel turned<BM = 100, BN = 130, T: type = f32>(x: T[m, n], y: mut T[n, m])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 96
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy(tile(x, [BM, BN])[.., .., bm, bn], s);
    sync();
    copy(s.T, tile(y, [BN, BM])[.., .., bn, bm]);
}

test "a tile with rows of no power of two" for (m, n) in [(100, 130), (203, 137), (9, 260)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f32, [n, m]));
    turned(x, y);
    assert_eq(y, x.T);
}

test "a tile of bytes" {
    let (x, y) = (uniform(i8, [260, 333], low: -128, high: 128, seed: 1), empty(i8, [333, 260]));
    turned<BM = 256, BN = 160, T = i8>(x, y);
    assert_eq(y, x.T);
}

/// y = x in f16. Each round converts what it moves.
kernel converted<BM = 256, BN = 96>(x: f32[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f16, [BM, BN]);
    copy(cast(tile(x, [BM, BN])[.., .., bm, bn], f16), s);
    sync();
    copy(s, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "a conversion in rounds" for (m, n) in [(256, 96), (300, 101)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f16, [m, n]));
    converted(x, y);
    assert_eq(y, cast(x, f16));
}

/// y[i] = x[rows[i]], for more rows than the registers hold.
kernel picked<BM = 128, C = 192>(x: f32[m, C], rows: i32[n], y: mut f32[n, C])
    grid [cdiv(n, BM)]
    threads 128
{
    let i = block_idx * BM;
    let s = shared_tensor(f32, [BM, C]);
    copy(gather(x, rows[i..i + BM]), s);
    sync();
    copy(s, y[i..i + BM, ..]);
}

test "picked rows in rounds" for n in [128, 173] {
    let (x, y) = (randn(f32, [50, 192], seed: 1), empty(f32, [n, 192]));
    let rows = uniform(i32, [n], low: 0, high: 50, seed: 2);
    picked(x, rows, y);
    for i in 0..n {
        assert_eq(y[i], x[rows[i]]);
    }
}

/// y = x, in tiles of 48,000 elements. An asynchronous copy takes no registers, and its 47 instructions are a loop.
kernel long_asynchronous<N = 48000>(x: f16[n], y: mut f16[n])
    grid [cdiv(n, N)]
    threads 128
{
    let s = shared_tensor(f16, [N]);
    copy_async(tile(x, [N])[.., block_idx], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [N])[.., block_idx]);
}

test "a long tile without registers" for n in [48000, 70008] {
    let (x, y) = (randn(f16, [n], seed: 1), empty(f16, [n]));
    long_asynchronous(x, y);
    assert_eq(y, x);
}
