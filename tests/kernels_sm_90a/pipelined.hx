//! Loops that read ahead, and staged loads, in roles: each group has rings and buffers of its own.

// One role reads ahead, the other one stages the tiles of each round.
kernel roles<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n], d: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [i, j] = block_idx;
    warp_groups {
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for p in 0..cdiv(k, BK) pipelined(3) {
                gemm(acc, load(tile(a, [BM, BK])[.., .., i, p]), load(tile(b, [BN, BK])[.., .., j, p]));
            }
            copy(acc, tile(c, [BM, BN])[.., .., i, j]);
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for p in 0..cdiv(k, BK) {
                gemm(acc, load(tile(a, [BM, BK])[.., .., i, p]), load(tile(b, [BN, BK])[.., .., j, p]));
            }
            copy(acc, tile(d, [BM, BN])[.., .., i, j]);
        }
    }
}

// Two groups execute the same loop.
kernel each<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, 2 * BM), cdiv(n, BN)]
{
    let [i, j] = block_idx;
    warp_groups {
        consumer each 2 (g) {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for p in 0..cdiv(k, BK) pipelined(3) {
                gemm(
                    acc,
                    load(tile(a, [BM, BK])[.., .., 2 * i + g, p]),
                    load(tile(b, [BN, BK])[.., .., j, p]),
                );
            }
            copy(acc, tile(c, [BM, BN])[.., .., 2 * i + g, j]);
        }
    }
}

// The loop stands in a branch and in a loop, and two statements of a round load the same tile. Loads inside of the branches stay there.
kernel branch<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    for r in 0..2 {
        if r > 0 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for p in 0..cdiv(k, BK) pipelined(3) {
                if p % 2 == 0 {
                    gemm(acc, load(tile(a, [BM, BK])[.., .., i, p]), load(tile(b, [BN, BK])[.., .., j, p]));
                } else {
                    let x = load(tile(a, [BM, BK])[.., .., i, p]);
                    gemm(acc, x, load(tile(b, [BN, BK])[.., .., j, p]));
                }
                let y = load(tile(a, [BM, BK])[.., .., i, p]);
                gemm(acc, y, load(tile(b, [BN, BK])[.., .., j, p]));
            }
            copy(acc, tile(c, [BM, BN])[.., .., i, j]);
        }
    }
}

test "roles" for (m, n, k) in [(64, 64, 128), (70, 100, 72), (33, 40, 41)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    let d = empty(f32, [m, n]);
    roles(a, b, c, d);
    assert_close(c, a @ b.T, rtol: 1e-4, atol: 1e-3);
    assert_close(d, a @ b.T, rtol: 1e-4, atol: 1e-3);
    let e = empty(f32, [m, n]);
    each(a, b, e);
    assert_close(e, a @ b.T, rtol: 1e-4, atol: 1e-3);
    let f = empty(f32, [m, n]);
    branch(a, b, f);
    assert_close(f, cast(a @ b.T, f32) * 2.0, rtol: 1e-4, atol: 1e-3);
}
