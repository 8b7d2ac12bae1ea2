// planted: HX0612 in test
// The body divides the wrong way, so the simulator finds what the GPU would not show.
#[ptx("{{ .reg .f32 r; rcp.approx.f32 r, {y}; mul.f32 {result}, {x}, r; }}")]
fn quotient(x: f32, y: f32) -> f32 {
    y / x
}

kernel divided(x: f32[64], y: f32[64], z: mut f32[64])
    grid [1]
    threads 32
{
    copy(quotient(load(x), load(y)), z);
}

test "divided" {
    let x = uniform(f32, [64], seed: 1, low: 1.0, high: 2.0);
    let (y, z) = (uniform(f32, [64], seed: 2, low: 4.0, high: 5.0), empty(f32, [64]));
    divided(x, y, z);
    assert_close(z, x / y, rtol: 1e-5);
}
