// planted: HX0302 in check
// Nothing says that the start is even, although this launch gives 2.
kernel part(x: f16[16, 32], y: mut f16[16, 64], o: i32)
    where o >= 0, o <= 32
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 64]);
    copy_async(x, s[.., o..o + 32]);
    commit();
    wait(0);
    sync();
    copy(s[.., o..o + 32], y[.., 0..32]);
}

test "part" {
    let x = randn(f16, [16, 32], seed: 1);
    let y = empty(f16, [16, 64]);
    part(x, y, 2);
}
