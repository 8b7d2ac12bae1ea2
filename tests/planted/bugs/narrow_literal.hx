// planted: HX0216 in check
// 300 is no `i8`.
kernel shifted(x: i8[n], y: mut i8[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let by: i8 = 300;
    copy(load(tile(x, [64])[.., block_idx]) + by, tile(y, [64])[.., block_idx]);
}

test "shifted" {
    let y = empty(i8, [64]);
    shifted(zeros(i8, [64]), y);
}
