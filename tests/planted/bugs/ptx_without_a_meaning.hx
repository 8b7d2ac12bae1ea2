// planted: HX0642 in test
// The simulator is asked to run an instruction whose value nothing but the hardware knows.
#[ptx("tanh.approx.f32 {result}, {x};")]
fn tanh_fast(x: f32) -> f32;

kernel squashed(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    copy(tanh_fast(load(x)), y);
}

test "squashed" {
    let (x, y) = (randn(f32, [64], seed: 1), empty(f32, [64]));
    squashed(x, y);
    assert_close(y, tanh(x), rtol: 1e-3);
}
