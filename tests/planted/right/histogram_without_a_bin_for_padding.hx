kernel histogram(x: i32[n], counts: mut i32[16])
    grid [cdiv(n, 64)]
    threads 64
{
    let ones = register_tensor(i32, [64]);
    fill(ones, 1);
    let s = shared_tensor(i32, [16]);
    let zero = register_tensor(i32, [16]);
    fill(zero, 0);
    copy(zero, s);
    sync();
    atomic_add(scatter(s, load(tile(x, [64], pad: -1)[.., block_idx])), ones);
    sync();
    atomic_add(counts, load(s));
}

test "histogram" {
    let counts = zeros(i32, [16]);
    histogram(full(i32, [100], 3), counts);
    let wanted = zeros(i32, [16]);
    wanted[3] = 100;
    assert_eq(counts, wanted);
}
