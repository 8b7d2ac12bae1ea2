/// Attention with a mask of keys and a bias for their distance (ALiBi): a key counts if its flag is set and it is not behind the query. Rows that see nothing
/// are zero. Keys and masks past the end count for nothing.
kernel masked_attention<BM = 32, BN = 32, D = 32>(
    q: f16[h, n, D],
    k: f16[h, n, D],
    v: f16[h, n, D],
    mask: u8[n],
    o: mut f32[h, n, D],
    scale: f32,
)
    grid [cdiv(n, BM), h]
    threads 64
{
    let [bm, head] = block_idx;
    let slope = exp2(cast(-1 - head, f32));
    let queries = load(tile(q[head], [BM, D])[.., .., bm, 0]);
    let (acc, top, total) = (
        register_tensor(f32, [BM, D]),
        register_tensor(f32, [BM, 1]),
        register_tensor(f32, [BM, 1]),
    );
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(total, 0.0);
    for j in 0..cdiv(min(n, (bm + 1) * BM), BN) {
        let x = register_tensor(f32, [BM, BN]);
        fill(x, 0.0);
        gemm(x, queries, load(tile(k[head], [BN, D])[.., .., j, 0]), warps: [2, 1]);
        let (row, col) = (index(x, 0) + bm * BM, index(x, 1) + j * BN);
        let flag = load(tile(mask, [BN])[.., j])[new, ..] == 1;
        let biased = x * scale - cast(row - col, f32) * slope;
        x = where(flag && col <= row, biased, -inf);
        let higher = max(top, max(x, axis: 1));
        let fade = exp(top - higher);
        x = exp(x - higher);
        total = total * fade + sum(x, axis: 1);
        top = higher;
        acc = acc * fade;
        gemm(acc, cast(x, f16), load(tile(v[head], [BN, D])[.., .., j, 0].T), warps: [2, 1]);
    }
    copy(where(total > 0.0, acc / total, 0.0), tile(o[head], [BM, D])[.., .., bm, 0]);
}

test "masked keys" for n in [32, 50, 100, 3] {
    let (q, k, v) = (
        randn(f16, [2, n, 32], seed: 1),
        randn(f16, [2, n, 32], seed: 2),
        randn(f16, [2, n, 32], seed: 3),
    );
    let mask = uniform(u8, [n], seed: 4, low: 0, high: 2);
    mask[0] = 0;
    mask[1] = 1;
    // The first row that sees a key: with 100 rows it lies behind the first block.
    let first = if n == 100 { 32 } else { 1 };
    mask[..first] = 0;
    mask[first] = 1;
    let o = empty(f32, [2, n, 32]);
    masked_attention(q, k, v, mask, o, 0.2);
    let behind = reshape(arange(i64, [n]), [n, 1]) - reshape(arange(i64, [n]), [1, n]);
    let seen = behind >= 0 && reshape(mask == 1, [1, n]);
    for h in 0..2 {
        let x = q[h] @ k[h].T * 0.2 - behind * pow(2.0, -1.0 - h);
        assert_eq(o[h, ..first], zeros(f32, [first, 32]));
        let p = softmax(where(seen, x, -inf)[first..], axis: 1);
        assert_close(o[h, first..], p @ v[h], rtol: 3e-3, atol: 2e-3);
    }
}
