kernel largest(x: i32[n], y: mut i32[64])
    grid [cdiv(n, 64)]
    threads 64
{
    atomic_max(y, load(tile(x, [64], pad: -2147483648)[.., block_idx]));
}

test "largest" {
    let x = cast(uniform(i32, [150], low: -90, high: -10, seed: 1), i32);
    let y = full(i32, [64], -1000);
    let y = cast(y, i32);
    largest(x, y);
    let all = full(i32, [192], -1000);
    all[..150] = x;
    assert_eq(y, max(reshape(all, [3, 64]), axis: 0));
}
