// planted: HX0421 in check
// All blocks count in one element, each atomically for its own threads only.
kernel count(x: i32[m], n: mut i32[1])
    grid [cdiv(m, 256)]
    threads 64
{
    atomic_add(n, sum(load(tile(x, [256])[.., block_idx]), axis: 0), scope: "block");
}

test "count" {
    let n = zeros(i32, [1]);
    count(ones(i32, [1000]), n);
    assert_eq(n[0], 1000);
}
