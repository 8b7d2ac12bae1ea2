// planted: HX0204 in check
// A number of 16 bits meets one of 32 bits.
kernel offset(x: i32[n], a: i32, b: i16, y: mut i32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    copy(load(tile(x, [64])[.., block_idx]) + (a + b), tile(y, [64])[.., block_idx]);
}

test "offset" {
    let y = empty(i32, [64]);
    offset(zeros(i32, [64]), 1, 2, y);
}
