//! Parts of register tensors, scans, reductions by any operator, gathered rows and sums in memory, each against a reference.

/// Halves of the columns change places, and the last row is added to all.
kernel parts<BM = 32, BN = 64>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let rx = load(tile(x, [BM, BN])[.., .., bm, bn]);
    let left = rx[.., ..BN / 2];
    let right = rx[.., BN / 2..];
    let last = rx[BM - 1.., ..];
    let out = tile(y, [BM, BN / 2]);
    copy(right + last[.., ..BN / 2], out[.., .., bm, 2 * bn]);
    copy(left + last[.., BN / 2..], out[.., .., bm, 2 * bn + 1]);
}

test "parts of register tensors" {
    let x = randn(f32, [64, 128], seed: 1);
    let y = empty(f32, [64, 128]);
    parts(x, y);
    for i in 0..2 {
        for j in 0..2 {
            let t = x[i * 32..i * 32 + 32, j * 64..j * 64 + 64];
            let a = y[i * 32..i * 32 + 32, j * 64..j * 64 + 32];
            let b = y[i * 32..i * 32 + 32, j * 64 + 32..j * 64 + 64];
            assert_close(a, t[.., 32..] + t[31.., ..32], rtol: 1e-6, atol: 1e-6);
            assert_close(b, t[.., ..32] + t[31.., 32..], rtol: 1e-6, atol: 1e-6);
        }
    }
}

/// Each row of a tile, scaled by one of its own elements, summed by a written-out loop.
kernel columns<BM = 16, BN = 8>(x: f32[m, n], y: mut f32[m, 1])
    grid [cdiv(m, BM)]
    threads 32
{
    let rx = load(tile(x, [BM, BN])[.., .., block_idx, 0]);
    let sum = register_tensor(f32, [BM, 1]);
    fill(sum, 0.0);
    #[unroll]
    for j in 0..BN / 2 {
        sum = sum + rx[.., 2 * j..2 * j + 1] * rx[.., 2 * j + 1, new];
    }
    copy(sum, tile(y, [BM, 1])[.., .., block_idx, 0]);
}

test "columns by the counter of an unrolled loop" {
    let x = randn(f32, [37, 8], seed: 2);
    let y = empty(f32, [37, 1]);
    columns(x, y);
    let sum = zeros(f64, [37]);
    for j in 0..4 {
        sum = sum + x[.., 2 * j] * x[.., 2 * j + 1];
    }
    assert_close(y[.., 0], sum, rtol: 1e-5, atol: 1e-5);
}

/// aᵀ · b from register tensors, and the transposed product.
kernel transposed<M = 32, K = 32>(a: f16[K, M], b: f16[K, M], c: mut f32[M, M], d: mut f32[M, M])
    grid [1]
    threads 64
{
    let ra = load(a);
    let rb = load(b);
    let rc = register_tensor(f32, [M, M]);
    fill(rc, 0.0);
    gemm(rc, ra.T, rb.T);
    copy(rc, c);
    let turned = rc.T + 0.0;
    copy(turned, d);
}

test "transposed register operands" {
    let a = randn(f16, [32, 32], seed: 1);
    let b = randn(f16, [32, 32], seed: 2);
    let c = empty(f32, [32, 32]);
    let d = empty(f32, [32, 32]);
    transposed(a, b, c, d);
    assert_close(c, a.T @ b, rtol: 1e-3, atol: 1e-3);
    assert_close(d, b.T @ a, rtol: 1e-3, atol: 1e-3);
}

/// The largest magnitude of a tensor, as a number of the block, halves it until it is below 1.
kernel normalized<B = 64>(x: f32[m], y: mut f32[m], steps: mut i32[g])
    grid [g]
    threads 32
{
    let rx = load(tile(x, [B])[.., block_idx]);
    let count = 0;
    while scalar(max(abs(rx), axis: 0)) > 1.0 {
        rx = rx * 0.5;
        count += 1;
    }
    copy(rx, tile(y, [B])[.., block_idx]);
    let n = register_tensor(i32, [1]);
    fill(n, count);
    copy(n, tile(steps, [1])[.., block_idx]);
}

test "a tensor decides a loop" {
    let x = randn(f32, [192], seed: 1) * 5.0;
    let x = cast(x, f32);
    let y = empty(f32, [192]);
    let steps = empty(i32, [3]);
    normalized(x, y, steps);
    for i in 0..3 {
        let t = x[i * 64..i * 64 + 64];
        let n = 0;
        while max(abs(t)) > 1.0 {
            t = t * 0.5;
            n += 1;
        }
        assert_eq(steps[i], n);
        assert_close(y[i * 64..i * 64 + 64], t, rtol: 1e-6, atol: 0.0);
    }
}

/// Sums of everything before, along the rows.
kernel cumulated<T: type = f32, BM = 4, BN = 128, W = 4>(x: T[m, n], y: mut T[m, n])
    grid [cdiv(m, BM)]
    threads 32 * W
{
    let carry = register_tensor(T, [BM, 1]);
    fill(carry, 0);
    for i in 0..cdiv(n, BN) {
        let rx = load(tile(x, [BM, BN])[.., .., block_idx, i]);
        let sums = scan(rx, axis: 1, op: |a, b| a + b) + carry;
        carry = sums[.., BN - 1..];
        copy(sums, tile(y, [BM, BN])[.., .., block_idx, i]);
    }
}

test "scans along rows" for (m, n) in [(4, 128), (5, 200), (9, 77), (1, 1)] {
    let x = randn(f32, [m, n], seed: 1);
    let sum = zeros(f64, [m]);
    let y = empty(f32, [m, n]);
    let z = empty(f32, [m, n]);
    let v = empty(f32, [m, n]);
    let i = cast(uniform(f32, [m, n], seed: 2, low: -100.0, high: 100.0), i32);
    let j = empty(i32, [m, n]);
    cumulated(x, y);
    cumulated<BM = 1, BN = 512>(x, z);
    cumulated<BM = 8, BN = 96, W = 1>(x, v);
    cumulated<T = i32>(i, j);
    let d = empty(f64, [m, n]);
    cumulated<T = f64, BN = 64>(cast(x, f64), d);
    let whole = zeros(f64, [m]);
    for c in 0..n {
        sum = sum + x[.., c];
        whole = whole + i[.., c];
        assert_close(y[.., c], sum, rtol: 1e-5, atol: 1e-4);
        assert_close(z[.., c], sum, rtol: 1e-5, atol: 1e-4);
        assert_close(v[.., c], sum, rtol: 1e-5, atol: 1e-4);
        assert_close(d[.., c], sum, rtol: 1e-12, atol: 1e-10);
        assert_eq(j[.., c], whole);
    }
}

/// A linear recurrence h = a · h + b down the columns, as one scan of pairs.
kernel recurrence<BM = 96, BN = 8>(a: f32[m, n], b: f32[m, n], h: mut f32[m, n])
    where m <= BM
    grid [cdiv(n, BN)]
    threads 96
{
    let ra = load(tile(a, [BM, BN])[.., .., 0, block_idx]);
    let rb = load(tile(b, [BM, BN])[.., .., 0, block_idx]);
    let (_, s) = scan((ra, rb), axis: 0, op: |(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1));
    copy(s, tile(h, [BM, BN])[.., .., 0, block_idx]);
}

test "scans of pairs" for (m, n) in [(96, 8), (70, 19), (3, 1)] {
    let a = uniform(f32, [m, n], seed: 1, low: 0.5, high: 1.0);
    let b = randn(f32, [m, n], seed: 2);
    let h = empty(f32, [m, n]);
    recurrence(a, b, h);
    let state = zeros(f64, [n]);
    for i in 0..m {
        state = a[i] * state + b[i];
        assert_close(h[i], state, rtol: 1e-5, atol: 1e-5);
    }
}

/// Where the largest element of each row is: a reduction of pairs.
kernel largest<BM = 4, BN = 128>(x: f32[m, n], y: mut i32[m])
    where n <= BN
    grid [cdiv(m, BM)]
    threads 128
{
    let rx = load(tile(x, [BM, BN], pad: -inf)[.., .., block_idx, 0]);
    let (_, at) = reduce(
        (rx, index(rx, 1) + 0),
        axis: 1,
        op: |(x0, i0), (x1, i1)| (max(x0, x1), where(isnan(x0) || x1 > x0, i1, i0)),
    );
    copy(at[.., 0], tile(y, [BM])[.., block_idx]);
}

test "reductions of pairs" for (m, n) in [(4, 128), (7, 100), (1, 3)] {
    let x = randn(f32, [m, n], seed: 3);
    let y = empty(i32, [m]);
    largest(x, y);
    assert_eq(y, argmax(x, axis: 1));
    x[0, 0..2] = [nan, 5.0];
    largest(x, y);
    assert_eq(y, argmax(x, axis: 1));
}

/// y = x[rows], tile by tile; rows that are none read as the padding.
kernel gathered<BM = 32, BN = 64>(x: f16[k, n], rows: i32[m], y: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let gx = tile(gather(x, tile(rows, [BM])[.., bm]), [BM, BN], pad: -1.0)[.., .., 0, bn];
    copy(gx, tile(y, [BM, BN])[.., .., bm, bn]);
}

/// The same through shared memory: the table in shared memory, rows by asynchronous copies.
kernel gathered_async<BM = 32, BN = 64>(x: f16[k, n], rows: i32[m], y: mut f16[m, n])
    where n % 8 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let table = shared_tensor(i32, [BM]);
    copy(tile(rows, [BM], pad: -1)[.., bm], table);
    let sx = shared_tensor(f16, [BM, BN]);
    sync();
    copy_async(tile(gather(x, table), [BM, BN])[.., .., 0, bn], sx);
    commit();
    wait(0);
    sync();
    copy(sx, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "gathered rows" for (m, n, k) in [(32, 64, 40), (50, 96, 17), (7, 200, 3)] {
    let x = randn(f16, [k, n], seed: 1);
    let rows = cast(uniform(f32, [m], seed: 2, low: -1.0, high: k + 1.0), i32);
    let y = empty(f16, [m, n]);
    let z = empty(f16, [m, n]);
    gathered(x, rows, y);
    gathered_async(x, rows, z);
    for i in 0..m {
        let r = rows[i];
        if r >= 0 && r < k {
            assert_eq(y[i], x[r]);
            assert_eq(z[i], x[r]);
        } else {
            assert_eq(y[i], full(f16, [n], -1.0));
            assert_eq(z[i], zeros(f16, [n]));
        }
    }
}

/// Sums of the rows of each block of columns, added up in memory.
kernel row_sums<T: type = f32, BM = 16, BN = 64>(x: T[m, n], y: mut T[m])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let rx = load(tile(x, [BM, BN])[.., .., bm, bn]);
    atomic_add(tile(y, [BM])[.., bm], sum(rx, axis: 1)[.., 0]);
}

/// Every tile of a matrix added to one.
kernel folded<T: type = f32, BM = 16, BN = 64>(x: T[m, n], y: mut T[BM, BN])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    atomic_add(y, load(tile(x, [BM, BN])[.., .., bm, bn]));
}

test "sums in memory" for (m, n) in [(16, 64), (50, 200), (3, 1000)] {
    let x = randn(f32, [m, n], seed: 1);
    let y = zeros(f32, [m]);
    row_sums(x, y);
    assert_close(y, sum(x, axis: 1), rtol: 1e-4, atol: 1e-4);
    let d = zeros(f64, [m]);
    row_sums<T = f64>(cast(x, f64), d);
    assert_close(d, sum(x, axis: 1), rtol: 1e-12, atol: 1e-10);
    let i = cast(uniform(f32, [m, n], seed: 2, low: -100.0, high: 100.0), i32);
    let j = zeros(i32, [m]);
    row_sums<T = i32>(i, j);
    assert_eq(j, sum(i, axis: 1));
}

test "sums of tiles in memory" {
    let x = randn(f32, [32, 128], seed: 1);
    let y = zeros(f32, [16, 64]);
    let h = zeros(f16, [16, 64]);
    folded(x, y);
    folded<T = f16>(cast(x, f16), h);
    let want = x[..16, ..64] + x[16.., ..64] + x[..16, 64..] + x[16.., 64..];
    assert_close(y, want, rtol: 1e-5, atol: 1e-5);
    assert_close(h, want, rtol: 1e-2, atol: 2e-2);
    let i = cast(uniform(f32, [50, 200], seed: 2, low: -100.0, high: 100.0), i32);
    let j = zeros(i32, [16, 64]);
    folded<T = i32>(i, j);
    assert_eq(sum(j), sum(i));
}

/// Rows that a part of a table names. A row past the end of the part reads as zeros, and is not written.
kernel named_by_part<B = 16, D = 64>(
    x: f32[v, D],
    rows: i32[z],
    first: i32,
    end: i32,
    y: mut f32[B, D],
    s: mut f32[v, D],
)
    grid [1]
    threads 64
{
    let table = tile(rows[first..end], [B])[.., 0];
    let t = load(gather(x, table));
    copy(t, y);
    atomic_add(scatter(s, table), t + 1.0);
}

test "a table ends where its part ends" {
    let (x, rows) = (randn(f32, [8, 64], seed: 1), cast([7, 1, 2, 3, 4, 5], i32));
    let (y, s) = (empty(f32, [16, 64]), zeros(f32, [8, 64]));
    named_by_part(x, rows, 1, 4, y, s);
    assert_eq(y[..3], x[1..4]);
    assert_eq(y[3..], zeros(f32, [13, 64]));
    assert_close(s[1..4], x[1..4] + 1.0, ulp: 1);
    assert_eq(s[0], zeros(f32, [64]));
    assert_eq(s[4..], zeros(f32, [4, 64]));
}
