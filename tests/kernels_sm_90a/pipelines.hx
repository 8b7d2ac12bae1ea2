//! Pipelines that all threads of a block use together: every thread copies into a stage, waits for it, and gives it back.

/// Copies a vector through a ring of stages. The first stages are filled ahead, so all but one are in flight at a time.
kernel ring<T = 256, S = 3>(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{
    let stages = shared_tensor(f32, [T, S]);
    let (n, pipe) = (cdiv(m, T), pipeline(S));
    for i in 0..min(n, S - 1) {
        let s = pipe.acquire();
        copy_async(tile(x, [T])[.., i], stages[.., s], signal: pipe);
    }
    for i in 0..n {
        if i + S - 1 < n {
            let s = pipe.acquire();
            copy_async(tile(x, [T])[.., i + S - 1], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        copy(load(stages[.., s]), tile(y, [T])[.., i]);
        pipe.release();
    }
}

test "a ring of stages" {
    let x = randn(f32, [256 * 7 - 12]);
    for m in [4, 256, 508, 512, 768, 1024, 256 * 7 - 12] {
        let y = empty(f32, [m]);
        ring(x[..m], y);
        assert_eq(y, x[..m]);
    }
}
