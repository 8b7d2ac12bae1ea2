// The loop runs as often as the data say, also not at all.
kernel halve(x: f32[64], y: mut f32[64], limit: f32)
    grid [1]
    threads 32
{
    let t = load(x);
    while scalar(max(abs(t), axis: 0)) > limit {
        t = t * 0.5;
    }
    copy(t, y);
}

test "halve" for limit in [8.0, 1.0, 0.1] {
    let x = full(f32, [64], 4.0);
    let y = empty(f32, [64]);
    halve(x, y, limit);
    assert((y.max() <= limit) && (y.max() * 2.0 > limit || limit == 8.0));
}
