kernel transposed_async(x: f16[n, n], y: mut f16[n, n])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64]);
    copy_async(tile(x, [64, 64])[.., .., 0, 0], s);
    commit();
    wait(0);
    sync();
    let r = load(s);
    sync();
    copy_async(tile(x, [64, 64])[.., .., 0, 1].T, s);
    commit();
    wait(0);
    sync();
    copy(r + load(s), tile(y, [64, 64])[.., .., 0, 0]);
}
