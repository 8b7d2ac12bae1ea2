/// The quotient of IEEE 754 is rounded to 16 bits.
kernel quotients(x: f16[n], y: f16[n], z: mut f16[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    let w = cast(load(tile(y, [1024])[.., block_idx]), f32);
    copy(cast(v / w, f16), tile(z, [1024])[.., block_idx]);
}
