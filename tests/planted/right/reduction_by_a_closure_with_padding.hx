kernel best(x: i32[n], y: mut i32[1], at: mut i32[1])
    where n <= 64
    grid [1]
    threads 32
{
    let t = load(tile(x, [64], pad: -2147483648)[.., 0]);
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
    let x = cast(uniform(i32, [50], low: -90, high: -10, seed: 1), i32);
    let (y, at) = (empty(i32, [1]), empty(i32, [1]));
    best(x, y, at);
    assert_eq(y[0], max(x));
    assert_eq(at[0], argmax(x));
}
