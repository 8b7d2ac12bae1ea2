//! Tiles that begin before their tensor or reach past its end: stencils with a halo. Such reads give the padding, and such
//! writes are dropped.

/// y = the sum of the four neighbours of each element of x, less four times the element: the discrete Laplacian, with zeros
/// around x.
kernel laplacian<BM = 16, BN = 32>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let (i, j) = (bm * BM, bn * BN);
    let sides = load(x[i..i + BM, j - 1..j - 1 + BN]) + load(x[i..i + BM, j + 1..j + 1 + BN]);
    let ends = load(x[i - 1..i - 1 + BM, j..j + BN]) + load(x[i + 1..i + 1 + BM, j..j + BN]);
    copy(sides + ends - 4.0 * load(x[i..i + BM, j..j + BN]), y[i..i + BM, j..j + BN]);
}

/// As `laplacian`. The tile and its halo are read once, into shared memory.
kernel laplacian_shared<BM = 16, BN = 32>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let (i, j) = (bm * BM, bn * BN);
    let s = shared_tensor(f32, [BM + 2, BN + 2]);
    copy_async(global_view(x[i - 1.., j - 1..], (BM + 2, BN + 2) : (n, 1)), s);
    commit();
    wait(0);
    sync();
    let sides = load(s[1..BM + 1, ..BN]) + load(s[1..BM + 1, 2..]);
    let ends = load(s[..BM, 1..BN + 1]) + load(s[2.., 1..BN + 1]);
    copy(sides + ends - 4.0 * load(s[1..BM + 1, 1..BN + 1]), y[i..i + BM, j..j + BN]);
}

test "the Laplacian of ragged tensors" for (m, n) in [(16, 32), (33, 70), (1, 1), (5, 100), (48, 96)] {
    let x = randn(f32, [m, n], seed: 1);
    let p = zeros(f64, [m + 2, n + 2]);
    p[1..m + 1, 1..n + 1] = x;
    let sides = p[1..m + 1, ..n] + p[1..m + 1, 2..];
    let ends = p[..m, 1..n + 1] + p[2.., 1..n + 1];
    let expected = sides + ends - 4.0 * p[1..m + 1, 1..n + 1];
    let (y, z) = (empty(f32, [m, n]), empty(f32, [m, n]));
    laplacian(x, y);
    laplacian_shared(x, z);
    assert_close(y, expected, ulp: 8);
    assert_eq(z, y);
}

/// y = the largest of the 3 × 3 elements around each. The padding loses against every element.
kernel peaks<BM = 8, BN = 64>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let (i, j) = (bm * BM, bn * BN);
    let best = register_tensor(f16, [BM, BN]);
    fill(best, -inf);
    #[unroll]
    for d in 0..9 {
        best = max(
            best,
            load(global_view(x[i + d / 3 - 1.., j + d % 3 - 1..], (BM, BN) : (n, 1), pad: -inf)),
        );
    }
    copy(best, y[i..i + BM, j..j + BN]);
}

test "peaks" for (m, n) in [(8, 64), (9, 65), (3, 2)] {
    let x = randn(f16, [m, n], seed: 1);
    let p = full(f16, [m + 2, n + 2], -inf);
    p[1..m + 1, 1..n + 1] = x;
    let expected = p[..m, ..n];
    for d in 0..9 {
        expected = max(expected, p[d / 3..d / 3 + m, d % 3..d % 3 + n]);
    }
    let y = empty(f16, [m, n]);
    peaks(x, y);
    assert_eq(y, expected);
}

/// y[i] = x[i + by]. Tiles of `y` begin up to a tile before it.
kernel moved<B = 64, T: type = f32>(x: T[m], y: mut T[m], by: i32)
    where by >= 0, by < 1000
    grid [cdiv(m + by, B)]
    threads 32
{
    let i = block_idx * B;
    copy(load(x[i..i + B]), y[i - by..i - by + B]);
}

test "elements before the start of a tensor are not written" for by in [0, 1, 4, 63, 64, 199, 300] {
    let x = arange(f32, [200]);
    let y = full(f32, [200], 7.0);
    moved(x, y, by);
    let left = max(200 - by, 0);
    assert_eq(y[..left], x[200 - left..]);
    assert_eq(y[left..], zeros(f32, [200 - left]));
}

/// Rows of `x` from the one before `first`. The first and the last belong to the neighbours of a part of `x`.
kernel around<BM = 8, N = 32>(x: f32[m, N], y: mut f32[rows, N], first: i32)
    where first >= 1
    grid [cdiv(rows, BM)]
    threads 32
{
    let part = x[first - 1..first - 1 + rows, ..];
    copy(load(tile(part, [BM, N])[.., .., block_idx, 0]), tile(y, [BM, N])[.., .., block_idx, 0]);
}

test "a part with the rows around it" for (first, p) in [(1, 6), (3, 17), (29, 10)] {
    let x = randn(f32, [40, 32], seed: 1);
    let y = empty(f32, [p + 2, 32]);
    around(x, y, first);
    assert_eq(y, x[first - 1..first + p + 1]);
}
