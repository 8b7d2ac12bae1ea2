// planted: HX0612 in test
// The end of the last group lies behind the rows.
fn rows_of(first: i64, end: i64, rows: i64) -> (i64, i64)
    where 0 <= result[0], result[1] <= rows
{
    (first, end)
}

kernel firsts(x: f32[n], offsets: i32[g], y: mut f32[e])
    where g == e + 1
    grid [e]
    threads 32
{
    let (first, end) = rows_of(cast(offsets[block_idx], i64), cast(offsets[block_idx + 1], i64), n);
    let t = register_tensor(f32, [1]);
    fill(t, 0.0);
    for i in first..end {
        t = t + x[i];
    }
    copy(t, tile(y, [1])[.., block_idx]);
}

test "firsts" {
    let y = empty(f32, [2]);
    firsts(full(f32, [5], 1.0), cast([0, 2, 7], i32), y);
    assert_eq(y, [2.0, 3.0]);
}
