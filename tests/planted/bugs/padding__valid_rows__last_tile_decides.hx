// planted: HX0612 in test
// What was bad in earlier tiles of the row is forgotten. Shows for n > 64 on a bad element that is not in the last tile of
// columns.
/// For each tile of rows: whether all elements of all rows are finite, the position of the first row with an element that is not (or -1), and the number
/// of elements above a limit, without what is past the ends.
kernel valid_rows<BM = 16, BN = 64>(
    x: f32[m, n],
    fine: mut bool[tiles],
    first: mut i32[tiles],
    above: mut i32[tiles],
    limit: f32,
)
    where tiles == cdiv(m, BM), n >= 1
    grid [tiles]
    threads 64
{
    let bm = block_idx;
    let bad = register_tensor(bool, [BM, BN]);
    let count = register_tensor(i32, [BM, BN]);
    fill(bad, false);
    fill(count, 0);
    for j in 0..cdiv(n, BN) {
        let v = load(tile(x, [BM, BN])[.., .., bm, j]);
        bad = abs(v) == inf || isnan(v);
        let high = load(tile(x, [BM, BN], pad: -inf)[.., .., bm, j]);
        count = count + cast(high > limit, i32);
    }
    let row = where(bad, index(bad, 0) + cast(bm * BM, i32), 0x7fffffff);
    let at = min(min(row, axis: 1), axis: 0)[0, ..];
    let any_bad = any(any(bad, axis: 1), axis: 0)[0, ..];
    copy(!any_bad, tile(fine, [1])[.., bm]);
    copy(where(any_bad, at, -1), tile(first, [1])[.., bm]);
    copy(sum(sum(count, axis: 1), axis: 0)[0, ..], tile(above, [1])[.., bm]);
}

test "rows are checked" for (m, n) in [(16, 64), (50, 100), (7, 3), (33, 200)] {
    let x = randn(f32, [m, n], seed: 1);
    x[m - 1, n - 1] = nan;
    x[0, 0] = -inf;
    let tiles = cdiv(m, 16);
    let (fine, first, above) = (empty(bool, [tiles]), empty(i32, [tiles]), empty(i32, [tiles]));
    valid_rows(x, fine, first, above, -0.5);
    for i in 0..tiles {
        let part = x[i * 16..min(m, i * 16 + 16)];
        let good = all(isfinite(part), axis: 1);
        assert_eq(fine[i], all(good));
        let wanted = if all(good) { -1 } else { i * 16 + argmax(where(good, 0, 1)) };
        assert_eq(first[i], wanted);
        assert_eq(above[i], sum(where(part > -0.5, 1, 0)));
    }
}
