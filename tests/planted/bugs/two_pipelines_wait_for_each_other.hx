// planted: HX0404 in check
// Each of the two rings is filled only when a stage of the other is full.
kernel ring(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{
    let stages = shared_tensor(f32, [256, 3]);
    let n = cdiv(m, 256);
    let pipe = pipeline(3);
    let other = pipeline(3);
    let more = shared_tensor(f32, [256, 3]);
    for i in 0..n {
        let t = other.wait();
        let s = pipe.acquire();
        copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
        copy(load(more[.., t]), tile(y, [256])[.., i]);
        other.release();
        pipe.wait();
        let t = other.acquire();
        copy_async(tile(x, [256])[.., i], more[.., t], signal: other);
        pipe.release();
    }
}

test "ring" {
    let y = empty(f32, [2048]);
    ring(randn(f32, [2048], seed: 1), y);
}
