//! Mamba's selective scan: h[l] = exp(dt·A)·h[l-1] + dt·B·u, y = C·h + D·u. The chunk is scanned in registers, the state is carried.

kernel selective_scan<BD = 64, N = 16, BL = 32>(
    u: bf16[b, d, l],
    dt: bf16[b, d, l],
    a: f32[d, N],
    bb: bf16[b, N, l],
    c: bf16[b, N, l],
    skip: f32[d],
    y: mut bf16[b, d, l],
)
    grid [cdiv(d, BD), b]
    threads 128
{
    let [bd, batch] = block_idx;
    let ra = register_tensor(f32, [BD, N, 1]);
    let rd = register_tensor(f32, [BD, 1]);
    copy(tile(a, [BD, N])[.., .., bd, 0][.., .., new], ra);       // `new` adds a mode of extent 1
    copy(tile(skip, [BD])[.., bd][.., new], rd);
    let state = register_tensor(f32, [BD, N, 1]);
    fill(state, 0.0);
    for i in 0..cdiv(l, BL) {
        let ru = cast(load(tile(u[batch], [BD, BL])[.., .., bd, i]), f32);      // `load` = register_tensor + copy
        let rdt = cast(load(tile(dt[batch], [BD, BL])[.., .., bd, i]), f32);
        let rb = cast(load(tile(bb[batch], [N, BL])[.., .., 0, i]), f32);
        let rc = cast(load(tile(c[batch], [N, BL])[.., .., 0, i]), f32);
        let decay = exp(rdt[.., new, ..] * ra);                   // [BD, N, BL]
        let input = rdt[.., new, ..] * rb[new, .., ..] * ru[.., new, ..];
        let (p, h) = scan((decay, input), axis: 2, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));
        let hidden = h + p * state;                               // the carried state enters every step of the chunk
        state = hidden[.., .., BL - 1..];
        let out = sum(hidden * rc[new, .., ..], axis: 1)[.., 0, ..] + rd * ru;
        copy(cast(out, bf16), tile(y[batch], [BD, BL])[.., .., bd, i]);
    }
}
