/// `concat` and `reshape` of interleaved pairs leave the pairs apart in the registers of a thread.
kernel rotated<BH = 8, R = 128>(q: mut bf16[t, h, R], c: f32[t, R / 2], s: f32[t, R / 2])
    grid [cdiv(h, BH), t]
    threads 64
{
    let [bh, i] = block_idx;
    let cosine = load(c[i, ..])[new, .., new];
    let sine = load(s[i, ..])[new, .., new];
    let g = q[i, bh * BH..bh * BH + BH, ..];
    let (a, b) = split(reshape(cast(load(g), f32), [BH, R / 2, 2]), 2, axis: 2);
    let both = concat(a * cosine - b * sine, b * cosine + a * sine, axis: 2);
    copy(cast(reshape(both, [BH, R]), bf16), g);
}
