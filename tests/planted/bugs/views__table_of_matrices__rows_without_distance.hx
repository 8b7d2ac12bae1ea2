// planted: HX0612 in test
// The first row of a tile is counted in elements and not in rows. Shows on matrices with more than 16 rows (and a distance other
// than 1).
/// Products of vectors with the matrices of a table, all of which lie in one buffer: matrix `p` begins at `table[p, 0]`, its rows are `table[p, 1]` apart, and it
/// has `table[p, 2]` rows and `table[p, 3]` columns. y[p, i] = Σ matrix[i, j] · v[p, j].
kernel table_of_matrices<BM = 16, BN = 64>(
    x: f32[m],
    table: i32[g, 4],
    v: f32[g, columns],
    y: mut f32[g, rows],
)
    grid [cdiv(rows, BM), g]
    threads 64
{
    let [bm, p] = block_idx;
    let (start, distance, height, width) = (table[p, 0], table[p, 1], table[p, 2], table[p, 3]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for j in 0..cdiv(width, BN) {
        let part = load(global_view(x[start + bm * BM + j * BN..], (BM, BN) : (distance, 1)));
        let factor = load(tile(v[p], [BN])[.., j])[new, ..];
        acc = acc + where(index(part, 1) + j * BN < width, part * factor, 0.0);
    }
    copy(rearrange(sum(acc, axis: 1)[.., 0], auto), tile(y[p, ..height], [BM])[.., bm]);
}

test "matrices of a table" for seed in [1, 2] {
    let x = randn(f32, [6000], seed: seed);
    let (table, v) = (zeros(i32, [4, 4]), randn(f32, [4, 100], seed: 9));
    for (p, start, distance, height, width) in [
        (0, 0, 64, 20, 64),
        (1, 1301, 100, 33, 100),
        (2, 5000, 7, 40, 5),
        (3, 5900, 1, 1, 99),
    ] {
        table[p, 0] = start;
        table[p, 1] = distance;
        table[p, 2] = height;
        table[p, 3] = width;
    }
    let y = full(f32, [4, 48], 7.0);
    table_of_matrices(x, table, v, y);
    for p in 0..4 {
        let (start, distance, height, width) = (
            int(table[p, 0]),
            int(table[p, 1]),
            int(table[p, 2]),
            int(table[p, 3]),
        );
        for i in 0..height {
            let first = start + i * distance;
            assert_close(y[p, i], sum(x[first..first + width] * v[p, ..width]), rtol: 1e-4, atol: 1e-4);
        }
        assert_eq(y[p, height..], full(f32, [48 - height], 7.0));
    }
}
