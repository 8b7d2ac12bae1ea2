// Zeros among the divisors are never divided by: `where` chooses the other branch, and the tail is padded with 1.
kernel ratios(x: i32[n], d: i32[n], y: mut i32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let bm = block_idx;
    let a = load(tile(x, [64])[.., bm]);
    let b = load(tile(d, [64])[.., bm]);
    copy(where(b == 0, -1, a / b), tile(y, [64])[.., bm]);
}

kernel padded(x: i32[n], d: i32[n], y: mut i32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let bm = block_idx;
    copy(load(tile(x, [64])[.., bm]) % load(tile(d, [64], pad: 1)[.., bm]), tile(y, [64])[.., bm]);
}

test "ratios" {
    let y = empty(i32, [50]);
    ratios(full(i32, [50], -7), zeros(i32, [50]), y);
    assert_eq(y, full(i32, [50], -1));
    padded(full(i32, [50], -7), full(i32, [50], 2), y);
    assert_eq(y, full(i32, [50], 1));
}
