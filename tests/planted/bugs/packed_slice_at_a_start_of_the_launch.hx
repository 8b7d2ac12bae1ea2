// planted: HX0302 in check
// Every second start is in the middle of a byte.
kernel part(x: u4[16, 64], y: mut u4[16, 32], o: i32)
    where o >= 0, o <= 32
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 64]);
    copy(x, s);
    sync();
    copy(s[.., o..o + 32], y);
}

test "part" {
    let x = uniform(u4, [16, 64], low: 0, high: 16, seed: 1);
    let y = empty(u4, [16, 32]);
    part(x, y, 4);
}
