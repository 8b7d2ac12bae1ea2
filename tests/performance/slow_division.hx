/// A continued fraction of quotients by the rules of IEEE 754, whose value is rounded to 16 bits.
kernel fractions(x: f16[n], z: mut f16[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    let square = v * v;
    let inner = 5.0 + square / (7.0 + square / (9.0 + square / (11.0 + square / (13.0 + square))));
    copy(cast(v / (1.0 + square / (3.0 + square / inner)), f16), tile(z, [1024])[.., block_idx]);
}
