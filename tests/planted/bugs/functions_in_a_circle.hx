// planted: HX0108 in check
// Two functions call each other, so neither can be inlined. Nothing but a helper calls them.
fn halves(n: f32) -> f32 {
    doubles(n * 0.5)
}

fn doubles(n: f32) -> f32 {
    halves(n * 2.0)
}

kernel scale(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 128
{
    let i = block_idx;
    copy(load(tile(x, [128])[.., i]) * 1.0, tile(y, [128])[.., i]);
}

test "scale" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    scale(x, y);
    assert_eq(y, x);
}
