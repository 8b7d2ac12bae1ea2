// planted: HX0108 in check
// A power written with recursion, as on a CPU; the kernel calls it through another function.
fn power(x: f32, n: i32) -> f32 {
    where(n > 0, x * power(x, n - 1), 1.0)
}

fn cube(x: f32) -> f32 {
    power(x, 3)
}

kernel cubes(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 128
{
    let i = block_idx;
    copy(cube(load(tile(x, [128])[.., i])), tile(y, [128])[.., i]);
}

test "cubes" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    cubes(x, y);
    assert_close(y, x * x * x, ulp: 4);
}
