// planted: HX0310 in check
// The table has fewer rows than the tile: rows that it does not name are zeros.
kernel largest(x: f32[m, 32], rows: i32[r], y: mut f32[32])
    where r <= 16
    grid [1]
    threads 32
{
    let t = load(tile(gather(x, rows), [16, 32])[.., .., 0, 0]);
    copy(max(t, axis: 0)[0, ..], y);
}

test "largest of some rows" {
    let x = cast(randn(f32, [40, 32], seed: 1) - 9.0, f32);
    let y = empty(f32, [32]);
    largest(x, cast([7, 30, 2], i32), y);
    assert_eq(y, max(max(x[7], x[30]), x[2]));
}
