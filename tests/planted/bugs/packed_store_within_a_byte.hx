// planted: HX0302 in check
// What is stored begins in the middle of a byte of shared memory.
kernel shifted(x: u4[16, 32], y: mut u4[16, 64])
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 64]);
    copy(x, s[.., 3..35]);
    sync();
    copy(s, y);
}

test "shifted" {
    let x = uniform(u4, [16, 32], low: 0, high: 16, seed: 1);
    let y = empty(u4, [16, 64]);
    shifted(x, y);
}
