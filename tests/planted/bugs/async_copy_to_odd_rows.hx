// planted: HX0302 in check
// Rows of 33 elements begin at odd multiples of 2 bytes.
kernel padded(x: f16[16, 32], y: mut f16[16, 32])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 33], layout: (16, 33) : (33, 1));
    copy_async(x, s[.., 0..32]);
    commit();
    wait(0);
    sync();
    copy(s[.., 0..32], y);
}

test "padded" {
    let x = randn(f16, [16, 32], seed: 1);
    let y = empty(f16, [16, 32]);
    padded(x, y);
}
