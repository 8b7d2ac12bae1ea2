//! Products of several sizes in one launch. The kernel reads the sizes and the places from a table.

/// c = a · bᵀ for each group. The groups lie one after the other along the rows of `a`, `b` and `c`. Row `g` of the table has
/// the sizes m, n and k of group `g`, and its first rows in `a`, `b` and `c`. n is a multiple of 8. Columns of `a` from the
/// group's k on are 0. `most` is the largest m of all groups.
kernel grouped_gemm<BM = 64, BN = 64, BK = 32>(
    a: f16[ra, k],
    b: f16[rb, k],
    c: mut f16[rc, n],
    table: i32[groups, 6],
    most: i32,
)
    where k % 8 == 0, n % 8 == 0
    grid [cdiv(most, BM), cdiv(n, BN), groups]
    threads 128
{
    let [mi, ni, g] = block_idx;
    // The division says that the edge of `c` separates no neighbours that one store writes.
    let (m, n_here, k_here) = (table[g, 0], table[g, 1] / 8 * 8, table[g, 2]);
    let (first_a, first_b, first_c) = (table[g, 3], table[g, 4], table[g, 5]);
    if mi * BM < m {
        if ni * BN < n_here {
            let ga = tile(a[first_a..first_a + m, ..], [BM, BK])[.., .., mi, ..];
            let gb = tile(b[first_b..first_b + n_here, ..], [BN, BK])[.., .., ni, ..];
            let sa = shared_tensor(f16, [BM, BK]);
            let sb = shared_tensor(f16, [BN, BK]);
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for ki in 0..cdiv(k_here, BK) {
                copy_async(ga[.., .., ki], sa);
                copy_async(gb[.., .., ki], sb);
                commit();
                wait(0);
                sync();
                gemm(acc, sa, sb);
                sync();
            }
            copy(cast(acc, f16), tile(c[first_c..first_c + m, 0..n_here], [BM, BN])[.., .., mi, ni]);
        }
    }
}

test "each group has the size that the table says" {
    let sizes = [(64, 64, 32), (100, 72, 64), (1, 8, 96), (130, 40, 40)];
    let (rows, columns, k) = (64 + 100 + 1 + 130, 64 + 72 + 8 + 40, 96);
    let a = randn(f16, [rows, k], seed: 1);
    let b = randn(f16, [columns, k], seed: 2);
    let c = full(f16, [rows, 72], 9.0);
    let table = zeros(i32, [4, 6]);
    let (row, column) = (0, 0);
    for g in 0..4 {
        let (m, n, depth) = sizes[g];
        for i in row..row + m {
            for j in depth..k {
                a[i, j] = 0.0;
            }
        }
        table[g, 0] = m;
        table[g, 1] = n;
        table[g, 2] = depth;
        table[g, 3] = row;
        table[g, 4] = column;
        table[g, 5] = row;
        row = row + m;
        column = column + n;
    }
    grouped_gemm(a, b, c, table, 130);
    for g in 0..4 {
        let (m, n, _) = sizes[g];
        let (row, column) = (table[g, 3], table[g, 4]);
        assert_close(c[row..row + m, 0..n], a[row..row + m] @ b[column..column + n].T, ulp: 4);
        if n < 72 {
            assert(all(c[row..row + m, n..72] == 9.0));
        }
    }
}
