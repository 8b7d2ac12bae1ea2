kernel odd_stride_async(x: f16[m, 33], y: mut f16[m, 33])
    grid [1]
    threads 64
{
    let s = shared_tensor(f16, [16, 32]);
    copy_async(tile(x, [16, 32])[.., .., 0, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [16, 32])[.., .., 0, 0]);
}
