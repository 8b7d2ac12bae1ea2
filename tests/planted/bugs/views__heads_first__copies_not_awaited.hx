// planted: HX0403 in check
// `wait(0)` is missing: the barrier says nothing about asynchronous copies. Shows on every launch: elements that have not arrived
// are read.
/// qkv[t, 3, h, D] to q, k, v[h, t, D]: the projections of a sequence, with the heads first, through shared memory; q is scaled.
kernel heads_first<BT = 32, D = 64>(
    qkv: f16[t, 3, h, D],
    q: mut f16[h, t, D],
    k: mut f16[h, t, D],
    v: mut f16[h, t, D],
    scale: f32,
)
    grid [cdiv(t, BT), h]
    threads 64
{
    let [bt, head] = block_idx;
    let s = shared_tensor(f16, [BT, 3, D]);
    copy_async(tile(qkv[.., .., head, ..], [BT, 3, D])[.., .., .., bt, 0, 0], s);
    commit();
    sync();
    let own = load(s[.., 0, ..]);
    copy(cast(cast(own, f32) * scale, f16), tile(q[head], [BT, D])[.., .., bt, 0]);
    copy(s[.., 1, ..], tile(k[head], [BT, D])[.., .., bt, 0]);
    copy(s[.., 2, ..], tile(v[head], [BT, D])[.., .., bt, 0]);
}

test "heads come first" for (t, h) in [(32, 2), (50, 3), (1, 1), (100, 5)] {
    let qkv = randn(f16, [t, 3, h, 64], seed: 1);
    let (q, k, v) = (empty(f16, [h, t, 64]), empty(f16, [h, t, 64]), empty(f16, [h, t, 64]));
    heads_first(qkv, q, k, v, 0.125);
    for i in 0..h {
        assert_close(q[i], qkv[.., 0, i] * 0.125, ulp: 1);
        assert_eq(k[i], qkv[.., 1, i]);
        assert_eq(v[i], qkv[.., 2, i]);
    }
}
