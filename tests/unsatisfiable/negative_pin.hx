kernel upside_down(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (-72, 1));
    copy(tile(x, [64, 64])[.., .., 0, 0], s);
    sync();
    copy(s, tile(y, [64, 64])[.., .., 0, 0]);
}
