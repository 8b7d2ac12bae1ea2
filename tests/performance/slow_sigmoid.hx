/// A gate: the product with the sigmoid is rounded to 16 bits.
kernel gated(x: bf16[n], y: bf16[n], z: mut bf16[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    let gate = sigmoid(v) * v;
    copy(cast(gate * cast(load(tile(y, [1024])[.., block_idx]), f32), bf16), tile(z, [1024])[.., block_idx]);
}
