// All blocks read one tensor, each by its own index.
kernel scaled(x: f32[m], table: f32[n], y: mut f32[m])
    where m == 32 * n
    grid [n]
    threads 32
{
    let i = block_idx;
    copy(load(tile(x, [32])[.., i]) * table[i], tile(y, [32])[.., i]);
}

test "scaled" {
    let x = ones(f32, [128]);
    let table = arange(f32, [4]);
    let y = empty(f32, [128]);
    scaled(x, table, y);
    assert_eq(y[32..64], ones(f32, [32]));
    assert_eq(y[96..], full(f32, [32], 3.0));
}
