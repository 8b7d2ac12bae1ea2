// Functions that call each other in one direction only, several times and nested: shared helpers are no circle.
fn square(x: f32) -> f32 {
    x * x
}

fn fourth(x: f32) -> f32 {
    square(square(x))
}

fn both(x: f32) -> f32 {
    fourth(x) + square(x)
}

kernel powers(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 128
{
    let i = block_idx;
    copy(both(load(tile(x, [128])[.., i])), tile(y, [128])[.., i]);
}

test "powers" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    powers(x, y);
    assert_close(y, x * x * x * x + x * x, ulp: 4);
}
