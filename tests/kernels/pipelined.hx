//! Loops with `pipelined(n)`: the same results as without it, for every kind of reader, place and end of the loop.

// Products alone read the tiles.
kernel product<BM = 64, BN = 64, BK = 64, STAGES = 3, T: type = f16>(a: T[m, k], b: T[k, n], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, BK) pipelined(STAGES) {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, i]), load(tile(b, [BK, BN])[.., .., i, bn]).T);
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "a product reads from the ring" for (m, n, k) in [
    (128, 128, 256),
    (72, 88, 104),
    (33, 50, 41),
    (1, 1, 1),
] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [k, n], seed: 2);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b, rtol: 1e-4, atol: 1e-3);
    let d = empty(f32, [m, n]);
    product<STAGES = 2, BM = 128>(a, b, d);
    assert_close(d, a @ b, rtol: 1e-4, atol: 1e-3);
    let e = empty(f32, [m, n]);
    product<STAGES = 5, BK = 32>(a, b, e);
    assert_close(e, a @ b, rtol: 1e-4, atol: 1e-3);
    let f = empty(f32, [m, n]);
    product<STAGES = 4, BK = 16, T = f32>(cast(a, f32), cast(b, f32), f);
    assert_close(f, a @ b, rtol: 2e-3, atol: 2e-2);
}

// The product of scores waits for itself, the other one adds to a tensor that the loop also scales.
kernel attention<BM = 64, BN = 64, D = 64, STAGES = 3>(
    q: f16[s, D],
    k: f16[t, D],
    v: f16[t, D],
    o: mut f16[s, D],
)
    grid [cdiv(s, BM)]
    threads 128
{
    let x = load(tile(q, [BM, D])[.., .., block_idx, 0]);
    let acc = register_tensor(f32, [BM, D]);
    let top = register_tensor(f32, [BM, 1]);
    let total = register_tensor(f32, [BM, 1]);
    fill(acc, 0.0);
    fill(top, -inf);
    fill(total, 0.0);
    for j in 0..cdiv(t, BN) pipelined(STAGES) {
        let scores = register_tensor(f32, [BM, BN]);
        fill(scores, 0.0);
        gemm(scores, x, load(tile(k, [BN, D])[.., .., j, 0]));
        let masked = where(index(scores, 1) + j * BN < t, scores * 0.125, -inf);
        let next = max(top, max(masked, axis: 1));
        let p = exp(masked - next);
        let fade = exp(top - next);
        total = total * fade + sum(p, axis: 1);
        acc = acc * fade;
        gemm(acc, cast(p, f16), load(tile(v, [BN, D])[.., .., j, 0]).T);
        top = next;
    }
    copy(cast(acc / total, f16), tile(o, [BM, D])[.., .., block_idx, 0]);
}

test "products that wait for themselves" for (s, t) in [(64, 128), (70, 200), (33, 40)] {
    let q = randn(f16, [s, 64], seed: 1);
    let k = randn(f16, [t, 64], seed: 2);
    let v = randn(f16, [t, 64], seed: 3);
    let o = empty(f16, [s, 64]);
    attention(q, k, v, o);
    assert_close(o, softmax((q @ k.T) * 0.125, axis: 1) @ v, rtol: 4e-3, atol: 4e-3);
}

// The ring is used again and again, and registers take the tiles.
kernel sums_of_rows<BN = 256, STAGES = 4, T: type = f32>(x: T[m, n], y: mut f32[m])
    grid [cdiv(m, 4)]
    threads 128
{
    for r in 0..4 {
        let acc = register_tensor(f32, [1, BN]);
        fill(acc, 0.0);
        for j in 0..cdiv(n, BN) pipelined(STAGES) {
            acc = acc + cast(load(tile(x, [1, BN])[.., .., block_idx * 4 + r, j]), f32);
        }
        copy(sum(acc, axis: 1)[.., 0], tile(y, [1])[.., block_idx * 4 + r]);
    }
}

test "registers read from the ring, in a loop around it" for (m, n) in [
    (4, 1024),
    (8, 1000),
    (5, 3),
    (4, 513),
] {
    let x = randn(f32, [m, n], seed: 1);
    let y = empty(f32, [m]);
    sums_of_rows(x, y);
    assert_close(y, sum(x, axis: 1), rtol: 1e-4, atol: 1e-4);
    let h = cast(x, f16);
    let z = empty(f32, [m]);
    sums_of_rows(h, z);
    assert_close(z, sum(h, axis: 1), rtol: 1e-4, atol: 1e-4);
    let i = cast(x * 20.0, i8);
    let w = empty(f32, [m]);
    sums_of_rows<STAGES = 2>(i, w);
    assert_close(w, sum(cast(i, f32), axis: 1), rtol: 1e-4, atol: 1e-4);
}

// The first round and the number of rounds are known at the launch only, and the tiles behind the last round are in the tensor.
kernel part<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n], first: i32, last: i32)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for p in first..last pipelined(3) {
        gemm(acc, load(tile(a, [BM, BK])[.., .., i, p]), load(tile(b, [BN, BK])[.., .., j, p]));
    }
    copy(acc, tile(c, [BM, BN])[.., .., i, j]);
}

test "a part of the rounds" for (first, last) in [(0, 4), (1, 3), (2, 2), (3, 4), (0, 1)] {
    let a = randn(f16, [72, 128], seed: 1);
    let b = randn(f16, [80, 128], seed: 2);
    let c = empty(f32, [72, 80]);
    part(a, b, c, first, last);
    let some = a[.., first * 32..last * 32] @ b[.., first * 32..last * 32].T;
    assert_close(c, some, rtol: 1e-3, atol: 1e-3);
}

// Two products of a round read one tile.
kernel gated<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], g: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let up = register_tensor(f32, [BM, BN]);
    let gate = register_tensor(f32, [BM, BN]);
    fill(up, 0.0);
    fill(gate, 0.0);
    for p in 0..cdiv(k, BK) pipelined(3) {
        let x = load(tile(a, [BM, BK])[.., .., i, p]);
        gemm(up, x, load(tile(b, [BN, BK])[.., .., j, p]));
        gemm(gate, x, load(tile(g, [BN, BK])[.., .., j, p]));
    }
    copy(cast(up * gate, f16), tile(c, [BM, BN])[.., .., i, j]);
}

test "two products of a round" for (m, n, k) in [(64, 64, 128), (72, 40, 88), (33, 50, 41)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let g = randn(f16, [n, k], seed: 3);
    let c = empty(f16, [m, n]);
    gated(a, b, g, c);
    assert_close(c, (a @ b.T) * (a @ g.T), rtol: 1e-2, atol: 1e-2);
}

// One tile is converted in registers before the product, the other one is not.
kernel dequantized<BM = 64, BN = 64, BK = 64>(a: f16[m, k], w: i8[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for p in 0..cdiv(k, BK) pipelined(3) {
        let weights = cast(load(tile(w, [BN, BK])[.., .., j, p]), f16);
        gemm(acc, load(tile(a, [BM, BK])[.., .., i, p]), weights);
    }
    copy(acc, tile(c, [BM, BN])[.., .., i, j]);
}

test "one operand in registers" for (m, n, k) in [(64, 64, 128), (72, 40, 88), (33, 50, 41)] {
    let a = randn(f16, [m, k], seed: 1);
    let w = cast(randn(f32, [n, k], seed: 2) * 3.0, i8);
    let c = empty(f32, [m, n]);
    dequantized(a, w, c);
    assert_close(c, a @ cast(w, f32).T, rtol: 1e-3, atol: 1e-2);
}

// A function has the loop, a tensor from before the loop takes the tile, a branch reads it, and a table picks its rows.
fn added<B = 64>(x: f32[rows, 64], at: i32[n], out: register mut f32[B, 64]) {
    let held = register_tensor(f32, [B, 64]);
    for j in 0..cdiv(n, B) pipelined(3) {
        copy(tile(gather(x, at), [B, 64])[.., .., j, 0], held);
        if j % 2 == 0 {
            out = out + held;
        } else {
            out = out - held;
        }
    }
}

kernel picked_sums(x: f32[rows, 64], at: i32[n], y: mut f32[64, 64], z: mut f32[64, 64])
    grid [1]
    threads 128
{
    let sums = register_tensor(f32, [64, 64]);
    fill(sums, 0.0);
    added(x, at, sums);
    copy(sums, y);
    added(x, at, sums);
    copy(sums, z);
}

test "rows by a table, in a function that is called twice" for n in [64, 192, 256] {
    let x = randn(f32, [100, 64], seed: 1);
    let at = cast(abs(cast(randn(f32, [n], seed: 2) * 30.0, i32)) % 100, i32);
    let y = empty(f32, [64, 64]);
    let z = empty(f32, [64, 64]);
    picked_sums(x, at, y, z);
    let wanted = zeros(f32, [64, 64]);
    for j in 0..n / 64 {
        for r in 0..64 {
            let sign = 1 - 2 * (j % 2);
            wanted[r, ..] = wanted[r, ..] + x[at[j * 64 + r], ..] * sign;
        }
    }
    assert_close(y, wanted, rtol: 1e-5, atol: 1e-5);
    assert_close(z, wanted * 2.0, rtol: 1e-5, atol: 1e-5);
}

// Padding that is not 0 reaches the ring.
kernel products_of_rows(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 128
{
    let acc = register_tensor(f32, [1, 128]);
    fill(acc, 1.0);
    for j in 0..cdiv(n, 128) pipelined(3) {
        acc = acc * load(tile(x, [1, 128], pad: 1.0)[.., .., block_idx, j]);
    }
    copy(reduce(acc, axis: 1, op: |a, b| a * b)[.., 0], tile(y, [1])[.., block_idx]);
}

test "padding that is not 0" for n in [128, 300, 7] {
    let x = cast(randn(f32, [3, n], seed: 1) * 0.01 + 1.0, f32);
    let y = empty(f32, [3]);
    products_of_rows(x, y);
    let wanted = zeros(f32, [3]);
    for r in 0..3 {
        wanted[r] = 1.0;
        for j in 0..n {
            wanted[r] = wanted[r] * x[r, j];
        }
    }
    assert_close(y, wanted, rtol: 1e-4, atol: 1e-4);
}
