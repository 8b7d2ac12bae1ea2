// planted: HX0207 in check
// A gathered view may only be read: two of its rows can be the same row.
kernel put(x: f32[8, 32], rows: i32[8], y: mut f32[8, 32])
    grid [1]
    threads 32
{
    copy(load(x), gather(y, rows));
}

test "put" {
    let y = empty(f32, [8, 32]);
    put(randn(f32, [8, 32], seed: 1), zeros(i32, [8]), y);
}
