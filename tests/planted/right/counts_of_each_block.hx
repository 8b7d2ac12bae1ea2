// Each block counts in an element of its own, so the scope of the block is enough.
kernel count(x: i32[m], n: mut i32[g])
    where g == cdiv(m, 256)
    grid [g]
    threads 64
{
    let v = load(tile(x, [256])[.., block_idx]);
    atomic_add(tile(n, [1])[.., block_idx], sum(v, axis: 0), scope: "block");
    atomic_add(tile(n, [1])[.., block_idx], sum(v, axis: 0), scope: "block");
}

test "count" {
    let n = zeros(i32, [4]);
    count(ones(i32, [1000]), n);
    assert_eq(sum(n), 2000);
}
