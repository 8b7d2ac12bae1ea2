//! Attention of other forms: over blocks that a table names, and with a state that is carried from chunk to chunk.

/// Attention of each block of `BM` queries over the blocks of `BN` keys that the row of `table` for it names. A negative number, or one of a
/// block that does not exist, ends the row.
kernel block_sparse_attention<BM = 64, BN = 64, D = 64>(
    q: f16[h, n, D],
    k: f16[h, t, D],
    v: f16[h, t, D],
    table: i32[blocks, width],
    o: mut f16[h, n, D],
    scale: f32,
)
    where blocks == cdiv(n, BM)
    grid [blocks, h]
    threads 128
{
    let [bm, head] = block_idx;
    let queries = load(tile(q[head], [BM, D])[.., .., bm, 0]);
    let (top, total) = (register_tensor(f32, [BM, 1]), register_tensor(f32, [BM, 1]));
    let acc = register_tensor(f32, [BM, D]);
    fill(top, -inf);
    fill(total, 0.0);
    fill(acc, 0.0);
    let (i, bn) = (0, table[bm, 0] else -1);
    while bn >= 0 && bn * BN < t {
        let scores = register_tensor(f32, [BM, BN]);
        fill(scores, 0.0);
        gemm(scores, queries, load(tile(k[head], [BN, D])[.., .., bn, 0]), warps: [4, 1]);
        scores = where(index(scores, 1) + bn * BN < t, scores * scale, -inf);
        let higher = max(top, max(scores, axis: 1));
        let weights = exp(scores - higher);
        let fade = exp(top - higher);
        total = total * fade + sum(weights, axis: 1);
        acc = acc * fade;
        gemm(acc, cast(weights, f16), load(tile(v[head], [BN, D])[.., .., bn, 0].T), warps: [4, 1]);
        top = higher;
        i = i + 1;
        bn = table[bm, i] else -1;
    }
    copy(cast(where(total > 0.0, acc / total, 0.0), f16), tile(o[head], [BM, D])[.., .., bm, 0]);
}

test "attention over the blocks of a table" for (n, t) in [(128, 128), (70, 150)] {
    let (q, o) = (randn(f16, [2, n, 64], seed: 1), empty(f16, [2, n, 64]));
    let (k, v) = (randn(f16, [2, t, 64], seed: 2), randn(f16, [2, t, 64], seed: 3));
    let table = cast([[1, 0], [0, -1]], i32);
    if t > 128 {
        table[1] = [2, 0];
    }
    block_sparse_attention(q, k, v, table, o, 0.125);
    let seen = zeros(i32, [n, t]);
    seen[..64, ..128] = 1;
    seen[64.., ..64] = 1;
    seen[64.., 128..] = 1;
    for h in 0..2 {
        let p = softmax(where(seen == 1, q[h] @ k[h].T * 0.125, -inf), axis: 1);
        assert_close(o[h], p @ v[h], rtol: 2e-3, atol: 2e-3);
    }
}

/// The gated delta rule (Yang et al., "Gated delta networks", ICLR 2025), a chunk of `C` steps at a time: with the decay `exp(g)` and the
/// strength `beta` of each step, the state S[D, D] becomes S · exp(g) · (1 - beta · k kᵀ) + beta · v kᵀ, and o = S · q.
/// A chunk solves for what each step really adds: a triangular system, row by row.
kernel gated_delta_rule<C = 16, D = 32>(
    q: f32[h, t, D],
    k: f32[h, t, D],
    v: f32[h, t, D],
    g: f32[h, t],
    beta: f32[h, t],
    o: mut f32[h, t, D],
)
    grid [h]
    threads 128
{
    let head = block_idx;
    // The state is transposed: rows are those of keys.
    let state = register_tensor(f32, [D, D]);
    let (sq, sk) = (shared_tensor(f32, [C, D]), shared_tensor(f32, [C, D]));
    let (stored, added, kept) = (
        shared_tensor(f32, [D, D]),
        shared_tensor(f32, [C, D]),
        shared_tensor(f32, [C, D]),
    );
    let weights = shared_tensor(f32, [C, C]);
    fill(state, 0.0);
    for i in 0..cdiv(t, C) {
        copy(tile(q[head], [C, D])[.., .., i, 0], sq);
        copy(tile(k[head], [C, D])[.., .., i, 0], sk);
        copy(state, stored);
        sync();
        let decay = scan(load(tile(g[head], [C])[.., i]), axis: 0, op: |a, b| a + b);
        let strength = load(tile(beta[head], [C])[.., i][.., new]);
        let last = sum(load(tile(g[head], [C])[.., i]), axis: 0);
        let between = exp(min(decay[.., new] - decay[new, ..], 0.0));
        let (kk, qk) = (register_tensor(f32, [C, C]), register_tensor(f32, [C, C]));
        let (ks, out) = (register_tensor(f32, [C, D]), register_tensor(f32, [C, D]));
        fill(kk, 0.0);
        fill(qk, 0.0);
        fill(ks, 0.0);
        fill(out, 0.0);
        gemm(kk, sk, sk);
        gemm(qk, sq, sk);
        gemm(ks, sk, stored.T);
        gemm(out, sq, stored.T);
        let (row, column) = (index(kk, 0), index(kk, 1));
        let lower = where(column < row, strength * kk * between, 0.0);
        copy(where(column <= row, qk * between, 0.0), weights);
        // u[i] = right[i] - Σ lower[i, j] · u[j], j < i.
        let u = strength * (load(tile(v[head], [C, D])[.., .., i, 0]) - exp(decay)[.., new] * ks);
        #[unroll]
        for j in 0..C - 1 {
            u = u - lower[.., j..j + 1] * u[j..j + 1, ..];
        }
        copy(u, added);
        copy(u * exp(last - decay)[.., new], kept);
        sync();
        out = out * exp(decay)[.., new];
        gemm(out, weights, added.T);
        copy(out, tile(o[head], [C, D])[.., .., i, 0]);
        state = state * exp(last)[.., new];
        gemm(state, sk.T, kept.T);
        sync();
    }
}

test "the gated delta rule in chunks" {
    let t = 19;
    let (q, k) = (randn(f32, [2, t, 32], seed: 1), randn(f32, [2, t, 32], seed: 2));
    k = cast(k / sqrt(sum(k * k, axis: 2, keepdims: true)), f32);
    let v = randn(f32, [2, t, 32], seed: 3);
    let g = uniform(f32, [2, t], seed: 4, low: -0.5, high: 0.0);
    let beta = uniform(f32, [2, t], seed: 5, low: 0.0, high: 1.0);
    let o = empty(f32, [2, t, 32]);
    gated_delta_rule<C = 8>(q, k, v, g, beta, o);
    for h in 0..2 {
        let s = zeros(f64, [32, 32]);
        for i in 0..t {
            let key = k[h, i..i + 1];
            s = s * exp(g[h, i]);
            s = s + beta[h, i] * key.T @ (v[h, i..i + 1] - key @ s);
            assert_close(o[h, i..i + 1], q[h, i..i + 1] @ s, rtol: 1e-4, atol: 1e-4);
        }
    }
}
