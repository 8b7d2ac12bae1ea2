// planted: HX0210 in check
// The view has rows of `m` elements where the buffer has rows of `n`.
kernel leaves(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    let t = load(global_view(x, (64, 64) : (m, 1)));
    copy(t, tile(y, [64, 64])[.., .., 0, 0]);
}

test "leaves" {
    let x = randn(f16, [64, 128], seed: 1);
    let y = empty(f16, [64, 128]);
    leaves(x, y);
}
