// planted: HX0216 in check
// 300 is no `i8`.
kernel fills(y: mut i8[64])
    grid [1]
    threads 32
{
    let t = register_tensor(i8, [64]);
    fill(t, 300);
    copy(t, y);
}

test "fills" {
    let y = empty(i8, [64]);
    fills(y);
}
