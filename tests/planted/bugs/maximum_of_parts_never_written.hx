// planted: HX0617 in test
// The last block takes the maximum of all parts, of which only those of the grid are written: the fill of the others is a NaN here, which
// a maximum leaves out, and may be any number on a GPU.
kernel greatest<B = 512>(x: f32[m], parts: mut f32[64], done: mut i32[1], y: mut f32[1])
    where m <= 64 * B
    grid [cdiv(m, B)]
    threads 64
{
    copy(max(load(tile(x, [B], pad: -inf)[.., block_idx]), axis: 0), tile(parts, [1])[.., block_idx]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    if scalar(atomic_add(done, one, order: "acq_rel")) == grid_dim - 1 {
        copy(max(load(parts), axis: 0), y);
    }
}

test "the greatest element" for m in [1, 512, 9000] {
    let x = cast(randn(f32, [m], seed: 221) - 10.0, f32);
    let (parts, done, y) = (empty(f32, [64]), zeros(i32, [1]), empty(f32, [1]));
    greatest(x, parts, done, y);
    assert_eq(y[0], max(x));
}
