// planted: HX0404 in check
// The consumer skips blocks that hold only zeros, and gives the stage back only in the branch that multiplies. Shows on data with
// three stored blocks of zeros behind each other and another block after them: all stages are held, so the producer waits for
// ever and the launch hangs.
/// y = w · xᵀ with w in block-compressed rows: row `i` of blocks has the blocks `values[first[i]..first[i + 1]]` of `BM` × `BK`, in the
/// columns of blocks that `columns` names. Both roles read their trip count from memory.
kernel block_sparse_rows<BM = 64, BN = 32, BK = 32, STAGES = 3>(
    first: i32[e],
    columns: i32[z],
    values: f16[z, BM, BK],
    x: f16[n, k],
    y: mut f32[rows, BM, n],
)
    where e == rows + 1, k % BK == 0
    grid [rows, cdiv(n, BN)]
{
    let [row, bn] = block_idx;
    let (start, end) = (first[row], first[row + 1]);
    let sw = shared_tensor(f16, [BM, BK, STAGES]);
    let sx = shared_tensor(f16, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for i in max(start, 0)..end {
                let at = columns[i] else 0;
                let s = pipe.acquire();
                copy_async(tile(values, [1, BM, BK])[0, .., .., i, 0, 0], sw[.., .., s], signal: pipe);
                copy_async(tile(x, [BN, BK])[.., .., bn, at], sx[.., .., s], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in max(start, 0)..end {
                let s = pipe.wait();
                if any(load(sw[.., .., s]) != 0.0) {
                    gemm(acc, sw[.., .., s], sx[.., .., s]);
                    pipe.release();
                }
            }
            copy(acc, tile(y[row], [BM, BN])[.., .., 0, bn]);
        }
    }
}

test "a block-sparse product" for (rows, blocks, n) in [(3, 4, 32), (5, 7, 50), (1, 2, 100)] {
    let dense = randn(f16, [rows, blocks, 64, 32], seed: 1);
    let kept = uniform(i32, [rows, blocks], seed: 2, low: 0, high: 3) == 0;
    let z = sum(where(kept, 1, 0));
    let x = randn(f16, [n, blocks * 32], seed: 3);
    let (first, columns, values) = (zeros(i32, [rows + 1]), zeros(i32, [z]), zeros(f16, [z, 64, 32]));
    let expected = zeros(f64, [rows, 64, n]);
    let at = 0;
    for i in 0..rows {
        for j in 0..blocks {
            if kept[i, j] {
                columns[at] = j;
                values[at] = dense[i, j];
                expected[i] = expected[i] + dense[i, j] @ x[.., j * 32..j * 32 + 32].T;
                at = at + 1;
            }
        }
        first[i + 1] = at;
    }
    let y = empty(f32, [rows, 64, n]);
    block_sparse_rows(first, columns, values, x, y);
    assert_close(y, expected, rtol: 1e-3, atol: 1e-3);
}
