// planted: HX0612 in test
// The counter of 8 bits comes back to 0 after 256 steps, so the 300th is taken for the 44th.
kernel steps(y: mut i32[n])
    where n == 32
    grid [1]
    threads 32
{
    let count: u8 = 0;
    for i in 0..300 {
        count += 1;
    }
    let t = register_tensor(i32, [32]);
    fill(t, 0);
    copy(t + cast(count, i32), y[..32]);
}

test "steps" {
    let y = empty(i32, [32]);
    steps(y);
    assert_eq(y, full(i32, [32], 300));
}
