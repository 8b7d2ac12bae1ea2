// planted: HX0401 in check
// `release()` gives back the newest stage, too, which the next round reads as the row before. Shows for m >= 4 on schedules in
// which one warp is two rounds ahead of the other: it refills the stage of row i while the slow warp still subtracts row i; a GPU
// then subtracts a later row now and then.
/// y[i] = x[i] - x[i - 1] row by row, with zeros before the first row: the ring keeps the stage of the row before, which
/// `release_previous` gives back a round late.
kernel differences<B = 256, STAGES = 3>(x: f32[m, n], y: mut f32[m, n])
    where n % 4 == 0
    grid [cdiv(n, B)]
    threads 64
{
    let stages = shared_tensor(f32, [B, STAGES]);
    let pipe = pipeline(STAGES);
    let column = block_idx;
    for i in 0..min(m, STAGES - 2) {
        let s = pipe.acquire();
        copy_async(tile(x[i], [B])[.., column], stages[.., s], signal: pipe);
    }
    for i in 0..m {
        if i + STAGES - 2 < m {
            let s = pipe.acquire();
            copy_async(tile(x[i + STAGES - 2], [B])[.., column], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        let own = load(stages[.., s]);
        if i > 0 {
            own = own - load(stages[.., (s + STAGES - 1) % STAGES]);
        }
        pipe.release();
        copy(own, tile(y[i], [B])[.., column]);
    }
}

test "differences of rows" for (m, n) in [(1, 256), (2, 100), (3, 300), (9, 512), (20, 4)] {
    let x = randn(f32, [m, n], seed: 1);
    let y = empty(f32, [m, n]);
    differences(x, y);
    let before = zeros(f64, [m, n]);
    before[1..] = x[..m - 1];
    assert_close(y, x - before, ulp: 1);
}
