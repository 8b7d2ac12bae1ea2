// Dimensions meet numbers of 32 bits, and a cast that provably fits needs no more.
kernel shifted(x: i32[n], by: i32, y: mut i32[n])
    where by >= 0, by < n
    grid [cdiv(n, 64)]
    threads 64
{
    let length: i32 = n;
    let last = length - 1;
    let from = min(block_idx * 64 + by, last);
    copy(load(x[from..from + 1]) + load(tile(x, [64])[.., block_idx]), tile(y, [64])[.., block_idx]);
}

test "shifted" {
    let x = arange(i32, 100);
    let y = empty(i32, [100]);
    shifted(x, 99, y);
    assert_eq(y, x + 99);
}
