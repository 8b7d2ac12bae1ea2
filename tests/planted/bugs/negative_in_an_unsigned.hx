// planted: HX0216 in check
// -1 is no `u8`.
kernel floors(x: u8[64], y: mut u8[64])
    grid [1]
    threads 32
{
    copy(max(load(x), -1), y);
}

test "floors" {
    let y = empty(u8, [64]);
    floors(zeros(u8, [64]), y);
}
