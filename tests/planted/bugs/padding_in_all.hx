// planted: HX0310 in check
// Every number is positive, but the zeros beyond the end are not.
kernel all_positive(x: f32[m, n], y: mut bool[m])
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 128])[.., .., block_idx, 0]);
    copy(all(t > 0.0, axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "all positive" {
    let x = cast(abs(randn(f32, [2, 100], seed: 1)) + 0.5, f32);
    let y = empty(bool, [2]);
    all_positive(x, y);
    assert_eq(y, cast([1, 1], bool));
}
