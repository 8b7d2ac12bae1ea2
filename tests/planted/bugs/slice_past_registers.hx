// planted: HX0211 in check
// Columns 24 to 40 of a tile of 32.
kernel cut(x: f32[16, 32], y: mut f32[16, 16])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(t[.., 24..40], y);
}

test "cut" {
    let y = empty(f32, [16, 16]);
    cut(randn(f32, [16, 32], seed: 1), y);
}
