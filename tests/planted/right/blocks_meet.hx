// All blocks of a grid wait for each other: the header says that they run at the same time.
kernel meet(x: f32[m], parts: mut f32[g], arrived: mut i32[1], y: mut f32[g])
    where g == cdiv(m, 64), g <= multiprocessors
    grid [g]
    threads 64
{
    let b = block_idx;
    copy(sum(load(tile(x, [64])[.., b]), axis: 0), tile(parts, [1])[.., b]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    atomic_add(arrived, one, order: "acq_rel");
    while scalar(atomic_load(arrived, order: "acquire")) < grid_dim {}
    let total = register_tensor(f32, [1]);
    fill(total, 0.0);
    for i in 0..g {
        total = total + load(tile(parts, [1])[.., i]);
    }
    copy(total, tile(y, [1])[.., b]);
}

test "meet" for m in [64, 250] {
    let g = cdiv(m, 64);
    let x = ones(f32, [m]);
    let (parts, arrived, y) = (empty(f32, [g]), zeros(i32, [1]), empty(f32, [g]));
    meet(x, parts, arrived, y);
    assert_eq(y, broadcast_to(reshape(sum(x), [1]), [g]));
}
