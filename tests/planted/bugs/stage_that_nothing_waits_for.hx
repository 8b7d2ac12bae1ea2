// planted: HX0409 in check
// Two stages are filled, and one is read. The block ends while the other one may still be on its way.
kernel ahead(x: f32[m], y: mut f32[m])
    grid [1]
    threads 64
{
    let stages = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    for i in 0..2 {
        let s = pipe.acquire();
        copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
    }
    let s = pipe.wait();
    copy(load(stages[.., s]), tile(y, [256])[.., 0]);
    pipe.release();
}

test "ahead" {
    let y = empty(f32, [512]);
    ahead(randn(f32, [512], seed: 1), y);
}
