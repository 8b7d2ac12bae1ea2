// planted: HX0302 in check
// Two elements share a byte, and the slice begins with the second of them.
kernel shifted(x: u4[16, 64], y: mut u4[16, 32])
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 64]);
    copy(x, s);
    sync();
    copy(s[.., 1..33], y);
}

test "shifted" {
    let x = uniform(u4, [16, 64], low: 0, high: 16, seed: 1);
    let y = empty(u4, [16, 32]);
    shifted(x, y);
}
