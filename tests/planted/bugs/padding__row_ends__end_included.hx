// planted: HX0612 in test
// The element at the length counts, too. Shows on rows shorter than n with an element that is not zero behind their end: it is
// the last one.
/// The position of the last element that is not zero in each row of a batch of rows with lengths of their own, and the smallest magnitude before the length:
/// the lengths are in memory, and what is behind them is rubbish.
kernel row_ends<BM = 8, B = 64>(x: f32[m, n], lengths: i32[m], last: mut i32[m], least: mut f32[m])
    grid [cdiv(m, BM)]
    threads 64
{
    let bm = block_idx;
    let ends = load(tile(lengths, [BM])[.., bm])[.., new];
    let at = register_tensor(i32, [BM, B]);
    let small = register_tensor(f32, [BM, B]);
    fill(at, -1);
    fill(small, inf);
    for j in 0..cdiv(n, B) {
        let v = load(tile(x, [BM, B])[.., .., bm, j]);
        let column = index(v, 1) + cast(j * B, i32);
        let counts = column <= ends && column < cast(n, i32);
        at = where(counts && v != 0.0, max(at, column), at);
        small = where(counts, min(small, abs(v)), small);
    }
    copy(rearrange(max(at, axis: 1)[.., 0], auto), tile(last, [BM])[.., bm]);
    copy(rearrange(min(small, axis: 1)[.., 0], auto), tile(least, [BM])[.., bm]);
}

test "the ends of rows" for (m, n) in [(8, 64), (20, 100), (3, 7), (9, 200)] {
    let x = where(
        uniform(i32, [m, n], seed: 1, low: 0, high: 3) == 0,
        0.0,
        cast(randn(f32, [m, n], seed: 2), f64),
    );
    let x = cast(x, f32);
    let lengths = uniform(i32, [m], seed: 3, low: 0, high: n + 1);
    lengths[0] = 0;
    let (last, least) = (empty(i32, [m]), empty(f32, [m]));
    row_ends(x, lengths, last, least);
    for i in 0..m {
        let wanted = -1;
        for j in 0..lengths[i] {
            if x[i, j] != 0.0 {
                wanted = j;
            }
        }
        assert_eq(last[i], wanted);
        assert_eq(least[i], if lengths[i] == 0 { inf } else { min(abs(x[i, ..lengths[i]])) });
    }
}
