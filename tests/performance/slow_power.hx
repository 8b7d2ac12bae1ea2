/// A power that is rounded to 16 bits.
kernel powers(x: f16[n], z: mut f16[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    copy(cast(pow(abs(v), 1.7), f16), tile(z, [1024])[.., block_idx]);
}
