// planted: HX0302 in check
// The first step begins at 0, the second at 17.
kernel steps(x: f16[16, 16], y: mut f16[16, 64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 64]);
    #[unroll]
    for i in 0..3 {
        copy_async(x, s[.., i * 17..i * 17 + 16]);
    }
    commit();
    wait(0);
    sync();
    copy(s[.., 0..16], y[.., 0..16]);
}

test "steps" {
    let x = randn(f16, [16, 16], seed: 1);
    let y = empty(f16, [16, 64]);
    steps(x, y);
}
