// planted: HX0302 in check
// Rows of 33 elements of two bytes begin at odd pairs: no asynchronous copy is that narrow.
kernel stage(x: f16[32, 33], y: mut f16[32, 33])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [32, 33]);
    copy_async(x, s);
    commit();
    wait(0);
    sync();
    copy(s, y);
}

test "stage" {
    let y = empty(f16, [32, 33]);
    stage(randn(f16, [32, 33], seed: 1), y);
}
