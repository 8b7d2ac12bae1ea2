// planted: HX0303 in check
// `coalesce` joins the two modes of the layout into one, but the tensor has two dimensions.
kernel through<L: layout = coalesce((8, 8) : (1, 8))>(x: f32[8, 8], y: mut f32[8, 8])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [8, 8], layout: L);
    copy(x, s);
    sync();
    copy(s, y);
}

test "a copy" {
    let x = randn(f32, [8, 8], seed: 1);
    let y = empty(f32, [8, 8]);
    through(x, y);
    assert_eq(y, x);
}
