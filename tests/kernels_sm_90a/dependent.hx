//! Launches that start before the ones before them are complete.

/// y[i] = x[i + `SHIFT` tiles] + 1, around the end: each block reads what another block of the launch before has written.
kernel passed<B = 1024, SHIFT = 1>(x: i32[m], y: mut i32[m])
    where m % B == 0 && m > 0
    grid [m / B]
    threads 128
{
    // The next launch may start at once: it waits by itself.
    allow_next();
    let one = register_tensor(i32, [B]);
    fill(one, 1);
    let from = (block_idx + SHIFT) % grid_dim;
    wait_for_previous();
    copy(load(tile(x, [B])[.., from]) + one, tile(y, [B])[.., block_idx]);
}

/// The same without the wait: it starts when the launch before is complete, whatever that one allows.
kernel passed_alone<B = 1024, SHIFT = 1>(x: i32[m], y: mut i32[m])
    where m % B == 0 && m > 0
    grid [m / B]
    threads 128
{
    allow_next();
    let one = register_tensor(i32, [B]);
    fill(one, 1);
    let from = (block_idx + SHIFT) % grid_dim;
    copy(load(tile(x, [B])[.., from]) + one, tile(y, [B])[.., block_idx]);
}

test "each launch reads what the one before has written" for m in [1024, 4096, 65536] {
    let x = zeros(i32, [m]);
    let y = empty(i32, [m]);
    for _ in 0..4 {
        passed(x, y);
        passed<SHIFT = 3>(y, x);
    }
    assert_close(x, ones(i32, [m]) * 8, rtol: 0.0, atol: 0.0);
    passed_alone(x, y);
    assert_close(y, ones(i32, [m]) * 9, rtol: 0.0, atol: 0.0);
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ. The barriers of the pipeline are made before the wait. The producer and the consumer wait, each
/// for itself: the one before it reads, the other before it writes.
kernel product<BM = 64, BN = 64, BK = 64, STAGES = 3, T: type = f16>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            wait_for_previous();
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }
            allow_next();
        }
        consumer 1 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm(acc, sa[.., .., s], sb[.., .., s]);
                pipe.release();
            }
            wait_for_previous();
            copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "a chain of products" for (m, n, k) in [(64, 64, 64), (96, 72, 136)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let d = randn(f16, [k, n], seed: 3);
    let c = empty(f16, [m, n]);
    let e = empty(f16, [m, k]);
    product(a, b, c);
    product(c, d, e);
    assert_close(c, a @ b.T, ulp: 4);
    assert_close(e, c @ d.T, ulp: 4);
}

/// Tiles drawn from a counter, and a number that an earlier launch wrote: both are read after the wait.
kernel drawn<B = 256>(x: f32[m], y: mut f32[m], factor: i32[1], c: mut i32[1])
    grid [min(multiprocessors, cdiv(m, B))]
    threads 64
{
    let work = counter(c, cdiv(m, B));
    wait_for_previous();
    allow_next();
    let f = factor[0];
    for t in work {
        let v = load(tile(x, [B])[.., t]);
        if f > 1 {
            v = v + v;
        }
        copy(v, tile(y, [B])[.., t]);
    }
}

test "counters and numbers behind the wait" for (m, f) in [(256, 1), (5000, 2)] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    let c = zeros(i32, [1]);
    let factor = cast(zeros(i32, [1]) + f, i32);
    drawn(x, y, factor, c);
    assert(c[0] == 0);
    if f > 1 {
        assert_close(y, x * 2.0, rtol: 0.0, atol: 0.0);
    } else {
        assert_close(y, x, rtol: 0.0, atol: 0.0);
    }
}

/// 32 short launches, one behind the other.
bench "a chain of launches that overlap" {
    let x = zeros(i32, [131072]);
    let y = zeros(i32, [131072]);
    measure {
        for _ in 0..16 {
            passed(x, y);
            passed(y, x);
        }
    }
    measure {
        for _ in 0..16 {
            passed_alone(x, y);
            passed_alone(y, x);
        }
    }
}
