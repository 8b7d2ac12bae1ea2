kernel rearrange_threads(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    let a = load(tile(x, [64, 64])[.., .., 0, 0]);
    let b = rearrange(a, ((8, 8), (8, 8)) : ((512, 1), (64, 8)));
    copy(b, tile(y, [64, 64])[.., .., 0, 0]);
}
