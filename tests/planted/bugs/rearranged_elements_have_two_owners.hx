// planted: HX0303 in check
// The layout runs over the end of the rows, and the part that lies inside is held twice.
kernel products(x: f32[8, 16], y: mut f32[8])
    grid [1]
    threads 32
{
    let t = rearrange(load(x), ((8, 4), 8) : ((1, 32), 8));
    copy(reduce(t, axis: 1, op: |a, b| a * b)[.., 0], y);
}

test "products of twos" {
    let x = full(f32, [8, 16], 2.0);
    let y = empty(f32, [8]);
    products(x, y);
    assert_eq(y, full(f32, [8], 65536.0));
}
