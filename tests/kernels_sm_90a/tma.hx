//! Copies in boxes: loads that signal a pipeline and stores from shared memory, each against a reference. The extents are no
//! multiples of the tiles, so boxes reach over the edges of their tensors.

/// Copies a vector through a ring of stages.
kernel vector<N = 256, S = 3, T: type = f32>(x: T[m], y: mut T[m])
    grid [1]
    threads 64
{
    let stages = shared_tensor(T, [N, S]);
    let (n, pipe) = (cdiv(m, N), pipeline(S));
    for i in 0..min(n, S - 1) {
        let s = pipe.acquire();
        copy_async(tile(x, [N])[.., i], stages[.., s], signal: pipe);
    }
    for i in 0..n {
        if i + S - 1 < n {
            let s = pipe.acquire();
            copy_async(tile(x, [N])[.., i + S - 1], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        copy(load(stages[.., s]), tile(y, [N])[.., i]);
        pipe.release();
    }
}

test "vectors in boxes" for m in [4, 256, 500, 768, 1789] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    vector(x, y);
    assert_eq(y, x);
    assert(uses("tma.load"));
    let z = empty(f16, [m]);
    vector(cast(x, f16), z);
    assert_eq(z, cast(x, f16));
    let i = uniform(i8, [m], low: -100, high: 100, seed: 2);
    let j = empty(i8, [m]);
    vector(i, j);
    assert_eq(j, i);
}

/// Transposes a matrix tile by tile: boxes write the tiles, and threads read them along the other dimension.
kernel transposed<B = 64, T: type = f32>(x: T[m, n], y: mut T[n, m])
    grid [cdiv(m, B)]
    threads 128
{
    let s = shared_tensor(T, [B, B, 2]);
    let pipe = pipeline(2);
    for j in 0..cdiv(n, B) {
        let i = pipe.acquire();
        copy_async(tile(x, [B, B])[.., .., block_idx, j], s[.., .., i], signal: pipe);
        let i = pipe.wait();
        copy(load(s[.., .., i].T), tile(y, [B, B])[.., .., j, block_idx]);
        pipe.release();
    }
}

test "tiles in boxes" for (m, n) in [(64, 64), (100, 208), (33, 80)] {
    let x = randn(f32, [m, n], seed: 3);
    let y = empty(f32, [n, m]);
    transposed(x, y);
    assert_eq(y, x.T);
    assert(uses("tma.load"));
    let h = empty(f16, [n, m]);
    transposed(cast(x, f16), h);
    assert_eq(h, cast(x, f16).T);
    let i = uniform(i8, [m, n], low: -100, high: 100, seed: 4);
    let j = empty(i8, [n, m]);
    transposed(i, j);
    assert_eq(j, i.T);
}

/// Sums parts of a tensor of rank 3 along its first dimension.
kernel summed<B = 8, R = 16, C = 32, T: type = f32>(x: T[b, r, c], y: mut T[r, c])
    grid [cdiv(r, R), cdiv(c, C)]
    threads 128
{
    let [br, bc] = block_idx;
    let s = shared_tensor(T, [B, R, C, 2]);
    let pipe = pipeline(2);
    let total = register_tensor(T, [1, R, C]);
    fill(total, 0.0);
    for i in 0..cdiv(b, B) {
        let k = pipe.acquire();
        copy_async(tile(x, [B, R, C])[.., .., .., i, br, bc], s[.., .., .., k], signal: pipe);
        let k = pipe.wait();
        total = total + sum(load(s[.., .., .., k]), axis: 0);
        pipe.release();
    }
    copy(total, tile(y[new, .., ..], [1, R, C])[.., .., .., 0, br, bc]);
}

test "boxes of three dimensions" for (b, r, c) in [(8, 16, 32), (13, 20, 40), (3, 5, 8)] {
    let x = randn(f32, [b, r, c], seed: 5);
    let y = empty(f32, [r, c]);
    summed(x, y);
    assert_close(y, sum(x, axis: 0), rtol: 1e-5, atol: 1e-5);
    assert(uses("tma.load"));
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ. All threads fill the ring, and multiply out of it.
kernel product<BM = 64, BN = 64, BK = 64, STAGES = 3, T: type = f16>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let (pipe, steps) = (pipeline(STAGES), cdiv(k, BK));
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..min(steps, STAGES - 1) {
        let s = pipe.acquire();
        copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe);
    }
    for ki in 0..steps {
        let s = pipe.wait();
        gemm(acc, sa[.., .., s], sb[.., .., s]);
        pipe.release();
        if ki + STAGES - 1 < steps {
            let s = pipe.acquire();
            copy_async(tile(a, [BM, BK])[.., .., bm, ki + STAGES - 1], sa[.., .., s], signal: pipe);
            copy_async(tile(b, [BN, BK])[.., .., bn, ki + STAGES - 1], sb[.., .., s], signal: pipe);
        }
    }
    copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "products of tiles in boxes" for (m, n, k) in [(64, 64, 64), (100, 72, 328), (33, 130, 200)] {
    let a = randn(f16, [m, k], seed: 6);
    let b = randn(f16, [n, k], seed: 7);
    let c = empty(f16, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("tma.load"));
}

/// Nothing is copied. The launch makes maps of tensors without elements.
test "products of empty tensors in boxes" {
    let (a, b) = (empty(f16, [100, 0]), empty(f16, [72, 0]));
    let c = empty(f16, [100, 72]);
    product(a, b, c);
    assert_eq(c, zeros(f16, [100, 72]));
    assert(uses("tma.load"));
    let (x, y) = (empty(f32, [0]), empty(f32, [0]));
    vector(x, y);
    assert(uses("tma.load"));
}

/// c[m, n] = a[m, k] · b[k, n]. If `k` is odd, no box has the rows of `a`: threads copy them into the stages that boxes of `b` fill.
kernel mixed<BM = 64, BN = 64, BK = 32, STAGES = 2, T: type = f32>(a: T[m, k], b: T[k, n], c: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BK, BN, STAGES]);
    let pipe = pipeline(STAGES);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, BK) {
        let s = pipe.acquire();
        copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [BK, BN])[.., .., ki, bn], sb[.., .., s], signal: pipe);
        let s = pipe.wait();
        gemm(acc, sa[.., .., s], sb[.., .., s].T);
        pipe.release();
    }
    copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "stages of boxes and of copies by threads" for (m, n, k) in [
    (64, 64, 64),
    (70, 72, 33),
    (40, 100, 101),
] {
    let a = randn(f32, [m, k], seed: 8);
    let b = randn(f32, [k, n], seed: 9);
    let c = empty(f32, [m, n]);
    mixed(a, b, c);
    assert_close(c, a @ b, rtol: 1e-4, atol: 1e-4);
    assert(uses("tma.load") && (k % 4 == 0) != uses("cp.async.ca.4"));
}

/// Doubles a matrix. Slices of 32 columns leave through two slots of shared memory, one of which is filled while the other is read.
kernel doubled<BM = 64, W = 32, T: type = f16>(x: T[m, n], y: mut T[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    let slots = shared_tensor(T, [BM, W, 2]);
    for j in 0..cdiv(n, W) {
        let v = load(tile(x, [BM, W])[.., .., block_idx, j]);
        wait_stores(1);
        sync();
        copy(v + v, slots[.., .., j % 2]);
        sync();
        copy_async(slots[.., .., j % 2], tile(y, [BM, W])[.., .., block_idx, j]);
    }
}

test "stores in boxes" for (m, n) in [(64, 32), (100, 264), (33, 80)] {
    let x = randn(f16, [m, n], seed: 10);
    let y = empty(f16, [m, n]);
    doubled(x, y);
    assert_eq(y, x + x);
    assert(uses("tma.store"));
    let f = cast(x, f32);
    let g = empty(f32, [m, n]);
    doubled(f, g);
    assert_eq(g, f + f);
}

/// Doubles the rows of a matrix whose length no tensor map can have: a tile of whole rows is one run of bytes on both sides.
kernel whole_rows<B = 8, N = 33, S = 2, T: type = f32>(x: T[m, N], y: mut T[m, N])
    where m % B == 0
    grid [1]
    threads 64
{
    let stages = shared_tensor(T, [B, N, S]);
    let (pipe, out) = (pipeline(S), shared_tensor(T, [B, N]));
    for i in 0..m / B {
        let s = pipe.acquire();
        copy_async(tile(x, [B, N])[.., .., i, 0], stages[.., .., s], signal: pipe);
        let s = pipe.wait();
        let v = load(stages[.., .., s]);
        pipe.release();
        wait_stores(0);
        sync();
        copy(v + v, out);
        sync();
        copy_async(out, tile(y, [B, N])[.., .., i, 0]);
    }
}

test "runs of whole rows" for m in [8, 40] {
    let (x, y) = (randn(f32, [m, 33], seed: 11), empty(f32, [m, 33]));
    whole_rows(x, y);
    assert_eq(y, x + x);
    assert(uses("bulk.load") && uses("bulk.store") && !uses("tma"));
    let (h, g) = (cast(x, f16), empty(f16, [m, 33]));
    whole_rows(h, g);
    assert_eq(g, h + h);
}

/// Copies a vector in runs that are longer than a box. Without `where`, the last tile may pass the end, so boxes bring it.
kernel long_runs<N = 1024, S = 3>(x: f32[m], y: mut f32[m])
    where m % N == 0
    grid [1]
    threads 128
{
    let (stages, pipe) = (shared_tensor(f32, [N, S]), pipeline(S));
    for i in 0..m / N {
        let s = pipe.acquire();
        copy_async(tile(x, [N])[.., i], stages[.., s], signal: pipe);
        let s = pipe.wait();
        copy(load(stages[.., s]), tile(y, [N])[.., i]);
        pipe.release();
    }
}

test "runs longer than a box" for m in [1024, 5120] {
    let (x, y) = (randn(f32, [m], seed: 12), empty(f32, [m]));
    long_runs(x, y);
    assert_eq(y, x);
    assert(uses("bulk.load") && !uses("tma.load"));
}

/// y[m, n] += Σᵢ x[i, m, n]: each block adds a tile to those of the other blocks.
kernel added<BM = 32, BN = 32, T: type = f32>(x: T[b, m, n], y: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN), b]
    threads 128
{
    let [bm, bn, i] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy(tile(x[i], [BM, BN])[.., .., bm, bn], s);
    sync();
    copy_async(s, tile(y, [BM, BN])[.., .., bm, bn], add: true);
}

/// Blocks add in any order: the numbers are so small that sums are exact.
test "stores that add" for (m, n) in [(32, 32), (40, 80)] {
    let x = uniform(i32, [5, m, n], low: -8, high: 8, seed: 13);
    let y = uniform(i32, [m, n], low: -8, high: 8, seed: 14);
    let sum = y + sum(x, axis: 0);
    let z = cast(y, i32);
    added(x, z);
    assert(uses("tma.reduce.add"));
    assert_eq(z, sum);
    let z = cast(y, f32);
    added(cast(x, f32), z);
    assert_eq(z, sum);
    let z = cast(y, f16);
    added(cast(x, f16), z);
    assert_eq(z, sum);
    let z = cast(y, bf16);
    added(cast(x, bf16), z);
    assert_eq(z, sum);
    let z = cast(y, f64);
    added(cast(x, f64), z);
    assert_eq(z, sum);
    let (a, z) = (cast(x + 8, u32), cast(y + 8, u32));
    added(a, z);
    assert_eq(z, sum + 48);
    let (a, z) = (cast(x + 8, u64), cast(y + 8, u64));
    added(a, z);
    assert_eq(z, sum + 48);
}

test "a stride that no box has is added by threads" {
    let x = uniform(f32, [3, 33, 35], low: -1.0, high: 1.0, seed: 15);
    let z = zeros(f32, [33, 35]);
    added(x, z);
    assert(!uses("tma") && uses("red.global.add"));
    assert_close(z, sum(x, axis: 0), rtol: 1e-5, atol: 1e-5);
}

/// y[m, n] += x[m, n], or y[m, n] = x[m, n], of rows that begin `BM` before those of `y`: row i of `x` goes to row i - BM of `y`.
kernel shifted<BM = 32, BN = 32, ADDS = false>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f32, [BM, BN]);
    copy(tile(x, [BM, BN])[.., .., bm, bn], s);
    sync();
    copy_async(s, tile(y, [BM, BN])[.., .., bm - 1, bn], add: ADDS);
}

/// As `shifted`; the first block stores nothing.
kernel shifted_under_a_condition<BM = 32, BN = 32>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f32, [BM, BN]);
    copy(tile(x, [BM, BN])[.., .., bm, bn], s);
    sync();
    if bm > 0 {
        copy_async(s, tile(y, [BM, BN])[.., .., bm - 1, bn]);
    }
}

/// A GPU writes no boxes that begin before their tensor.
test "rows before the tensor are written by threads" for m in [32, 96] {
    let (x, y) = (cast(uniform(i32, [m, 64], low: -8, high: 8, seed: 16), f32), zeros(f32, [m, 64]));
    shifted(x, y);
    assert(!uses("tma"));
    assert_eq(y[0..m - 32], x[32..]);
    let z = ones(f32, [m, 64]);
    shifted<ADDS = true>(x, z);
    assert(!uses("tma") && uses("red.global.add"));
    assert_eq(z[0..m - 32], x[32..] + 1.0);
    let w = zeros(f32, [m, 64]);
    shifted_under_a_condition(x, w);
    assert(uses("tma.store"));
    assert_eq(w, y);
}
