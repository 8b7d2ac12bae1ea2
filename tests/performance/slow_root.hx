/// A square root of 16 bits.
kernel roots(x: f16[n], z: mut f16[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    copy(sqrt(load(tile(x, [1024])[.., block_idx])), tile(z, [1024])[.., block_idx]);
}
