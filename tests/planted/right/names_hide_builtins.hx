// A local and a tile function have the names of built-in functions.
fn sigmoid(x: f32) -> f32 {
    x / (1.0 + abs(x))
}

kernel squash(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let index = load(x);
    copy(sigmoid(index), y);
}

test "squash" {
    let x = ones(f32, [64]);
    let y = empty(f32, [64]);
    squash(x, y);
    assert_eq(y, full(f32, [64], 0.5));
}
