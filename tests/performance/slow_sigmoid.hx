/// The three gates of a cell, in a sum that is rounded to 16 bits.
kernel gated(x: bf16[n], y: bf16[n], z: mut bf16[n])
    grid [cdiv(n, 2048)]
    threads 128
{
    let v = cast(load(tile(x, [2048])[.., block_idx]), f32);
    let w = cast(load(tile(y, [2048])[.., block_idx]), f32);
    let gates = sigmoid(v) * sigmoid(w) * sigmoid(v + w);
    copy(cast(v + gates * w, bf16), tile(z, [2048])[.., block_idx]);
}
