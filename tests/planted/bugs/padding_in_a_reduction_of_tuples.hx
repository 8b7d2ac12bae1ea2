// planted: HX0310 in check
kernel best(x: f32[n], y: mut f32[1], at: mut i32[1])
    where n <= 64
    grid [1]
    threads 32
{
    let t = load(tile(x, [64])[.., 0]);
    let (top, place) = reduce(
        (t, index(t, 0)),
        axis: 0,
        op: |a, b| {
            let later = a[0] < b[0];
            (where(later, b[0], a[0]), where(later, b[1], a[1]))
        },
    );
    copy(top, y);
    copy(place, at);
}

test "best" {
    let x = cast(randn(f32, [50], seed: 1) - 9.0, f32);
    let (y, at) = (empty(f32, [1]), empty(i32, [1]));
    best(x, y, at);
    assert_eq(y[0], max(x));
    assert(at[0] < 50);
}
