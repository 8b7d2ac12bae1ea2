// planted: HX0217 in check
// The function promises an index below `n`, and returns `n`.
fn last(n: i64) -> i64
    where result < n
{
    n
}

kernel ends(x: f32[n], y: mut f32[1])
    where n > 0
    grid [1]
    threads 32
{
    let t = register_tensor(f32, [1]);
    fill(t, x[last(n)]);
    copy(t, y);
}

test "ends" {
    let y = empty(f32, [1]);
    ends(cast([1, 2], f32), y);
    assert_eq(y, [2.0]);
}
