// planted: HX0310 in check
// Beyond the end the tile holds 0, which is a bin: `pad: -1` on the view is missing.
kernel histogram(x: i32[n], counts: mut i32[16])
    grid [cdiv(n, 64)]
    threads 64
{
    let ones = register_tensor(i32, [64]);
    fill(ones, 1);
    atomic_add(scatter(counts, load(tile(x, [64])[.., block_idx])), ones);
}

test "histogram" {
    let counts = zeros(i32, [16]);
    histogram(full(i32, [100], 3), counts);
    let wanted = zeros(i32, [16]);
    wanted[3] = 100;
    assert_eq(counts, wanted);
}
