// planted: HX0310 in check
kernel sums(x: f32[m, n], y: mut f32[m])
    where n <= 128
    grid [cdiv(m, 4)]
    threads 64
{
    let s = shared_tensor(f32, [4, 128]);
    copy_async(tile(x, [4, 128])[.., .., block_idx, 0], s);
    commit();
    wait(0);
    sync();
    copy(sum(exp(load(s)), axis: 1)[.., 0], tile(y, [4])[.., block_idx]);
}

test "sums" {
    let x = randn(f32, [4, 100], seed: 1);
    let y = empty(f32, [4]);
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}
