// A slice of 4-bit elements that begins and ends at whole bytes.
kernel cut(x: u4[64], y: mut i32[32])
    grid [1]
    threads 32
{
    copy(cast(load(global_view(x[16..], (32) : (1))), i32), y);
}

test "cut" {
    let x = uniform(u4, [64], low: 0, high: 16, seed: 1);
    let y = empty(i32, [32]);
    cut(x, y);
    assert_eq(y, cast(x[16..48], i32));
}
