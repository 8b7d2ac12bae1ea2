// The row of index 0 is read for indices beyond the end, and is not stored.
kernel look_up(table: f32[v, 32], ids: i32[n], y: mut f32[n, 32])
    grid [cdiv(n, 8)]
    threads 32
{
    let rows = gather(table, tile(ids, [8])[.., block_idx]);
    let t = load(tile(rows, [8, 32])[.., .., 0, 0]);
    let norm = sum(t * t, axis: 1);
    copy(t / norm, tile(y, [8, 32])[.., .., block_idx, 0]);
}

test "look up" {
    let (t, y) = (cast(abs(randn(f32, [20, 32], seed: 1)) + 0.1, f32), empty(f32, [11, 32]));
    look_up(t, cast(arange(i32, [11]) + 5, i32), y);
    let r = t[5..16];
    assert_close(y, r / sum(r * r, axis: 1, keepdims: true), rtol: 1e-5);
}
