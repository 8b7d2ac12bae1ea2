//! Products whose offsets and strides a table holds: each block reads those of its problem when it runs.

/// Problem `p` multiplies `rows` rows of `a` from row `first` on with the matrix `p` of `b`; its result goes to the same rows of `c`.
/// `table[p]` is `[first, rows]`.
kernel grouped_rows<BM = 64, BN = 64, BK = 32>(
    a: f16[m, k],
    b: f16[g, n, k],
    c: mut f32[m, n],
    table: i32[g, 2],
    longest: i32,
)
    where longest >= 0
    grid [cdiv(longest, BM), cdiv(n, BN), g]
    threads 128
{
    let [i, j, p] = block_idx;
    let (first, rows) = (table[p, 0], table[p, 1]);
    let own = tile(a[first..first + rows, ..], [BM, BK]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for l in 0..cdiv(k, BK) {
        gemm(acc, load(own[.., .., i, l]), load(tile(b[p], [BN, BK])[.., .., j, l]));
    }
    copy(acc, tile(c[first..first + rows, ..], [BM, BN])[.., .., i, j]);
}

test "groups of rows" {
    let (a, b) = (randn(f16, [200, 64], seed: 1), randn(f16, [4, 72, 64], seed: 2));
    let (c, table) = (zeros(f32, [200, 72]), zeros(i32, [4, 2]));
    let first = 0;
    for (p, rows) in [(0, 70), (1, 0), (2, 65), (3, 60)] {
        table[p, 0] = first;
        table[p, 1] = rows;
        first += rows;
    }
    grouped_rows(a, b, c, table, 70);
    for p in 0..4 {
        let (first, rows) = (table[p, 0], table[p, 1]);
        assert_close(c[first..first + rows], a[first..first + rows] @ b[p].T, rtol: 0.001, atol: 0.001);
    }
    assert_eq(c[195..], zeros(f32, [5, 72]));
}

/// The matrices of the problems lie in one tensor, each with a start and a distance between its rows: `table[p]` is
/// `[start, distance, rows, columns]`. y[p] is the sum of the columns of matrix `p`, row by row.
kernel row_sums<B = 32, N = 64>(x: f32[m], y: mut f32[g, r], table: i32[g, 4])
    grid [cdiv(r, B), g]
    threads 64
{
    let [i, p] = block_idx;
    let (start, distance, rows, columns) = (table[p, 0], table[p, 1], table[p, 2], table[p, 3]);
    let acc = register_tensor(f32, [B, 1]);
    fill(acc, 0.0);
    for j in 0..cdiv(columns, N) {
        let t = load(global_view(x[start + i * B * distance + j * N..], (B, N) : (distance, 1)));
        acc = acc + sum(where(index(t, 1) + j * N < columns, t, 0.0), axis: 1);
    }
    copy(acc[.., 0], tile(y[p, ..rows], [B])[.., i]);
}

test "rows of matrices at any distance" {
    let x = randn(f32, [4000], seed: 1);
    let (y, table) = (full(f32, [3, 50], 7.0), zeros(i32, [3, 4]));
    for (p, start, distance, rows, columns) in [
        (0, 0, 64, 40, 64),
        (1, 17, 70, 50, 70),
        (2, 3900, 3, 20, 2),
    ] {
        table[p, 0] = start;
        table[p, 1] = distance;
        table[p, 2] = rows;
        table[p, 3] = columns;
    }
    row_sums(x, y, table);
    for p in 0..3 {
        let (start, distance, rows, columns) = (table[p, 0], table[p, 1], table[p, 2], table[p, 3]);
        for i in 0..rows {
            let first = start + i * distance;
            assert_close(
                y[p, i..i + 1],
                sum(x[first..first + columns][new], axis: 1),
                rtol: 0.0001,
                atol: 0.0001,
            );
        }
        assert_eq(y[p, rows..], full(f32, [50 - rows], 7.0));
    }
}

/// Copies a matrix to rows that are `distance` apart. The assertion keeps the rows from overlapping.
kernel spread<N = 32>(x: f32[r, N], y: mut f32[m], distance: i32)
    where distance >= N
    grid [cdiv(r, 8)]
    threads 32
{
    let i = block_idx * 8;
    copy(load(x[i..i + 8, ..]), global_view(y[i * distance..], (8, N) : (distance, 1)));
}

test "rows that are spread" for distance in [32, 33, 100] {
    let x = randn(f32, [10, 32], seed: 1);
    let y = full(f32, [9 * distance + 32], 7.0);
    spread(x, y, distance);
    for i in 0..10 {
        assert_eq(y[i * distance..i * distance + 32], x[i]);
    }
}
