// Nine slices of one tile, each a step further along a row or a column.
kernel box(x: f32[34, 34], y: mut f32[32, 32])
    grid [1]
    threads 128
{
    let s = shared_tensor(f32, [34, 34]);
    copy(x, s);
    sync();
    let sums = register_tensor(f32, [32, 32]);
    fill(sums, 0.0);
    for i in 0..3 {
        #[unroll]
        for j in 0..3 {
            sums = sums + load(s[i..i + 32, j..j + 32]);
        }
    }
    copy(sums, y);
}

test "box" {
    let x = cast(floor(uniform(f64, [34, 34], seed: 1) * 16.0), f32);
    let y = empty(f32, [32, 32]);
    box(x, y);
    let want = zeros(f64, [32, 32]);
    for i in 0..3 {
        for j in 0..3 {
            want = want + x[i..i + 32, j..j + 32];
        }
    }
    assert_eq(y, want);
}
