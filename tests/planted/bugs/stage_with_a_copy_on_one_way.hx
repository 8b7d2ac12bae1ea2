// planted: HX0408 in check
// The second half of a stage is copied in all rounds but the last.
kernel ring(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{
    let stages = shared_tensor(f32, [256, 3]);
    let n = cdiv(m, 256);
    let pipe = pipeline(3);
    for i in 0..min(n, 2) {
        let s = pipe.acquire();
        copy_async(tile(x, [128])[.., 2 * i], stages[..128, s], signal: pipe);
        if i + 1 < n {
            copy_async(tile(x, [128])[.., 2 * i + 1], stages[128.., s], signal: pipe);
        }
    }
    for i in 0..n {
        if i + 2 < n {
            let s = pipe.acquire();
            copy_async(tile(x, [256])[.., i + 2], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        copy(load(stages[.., s]), tile(y, [256])[.., i]);
        pipe.release();
    }
}

test "ring" {
    let y = empty(f32, [2048]);
    ring(randn(f32, [2048], seed: 1), y);
}
