//! Loops over counters: the blocks of a launch draw the numbers of their tiles one at a time.

use std::tiles::grouped;

/// Adds 1 to row `t` of `hits` for each number `t` drawn. One scope, and blocks that may get no number at all.
kernel counted<B = 64>(n: i32, hits: mut i32[m, B], c: mut i32[1])
    where n <= m
    grid [5]
    threads 64
{
    let work = counter(c, n);
    let one = register_tensor(i32, [1, B]);
    fill(one, 1);
    for t in work {
        atomic_add(tile(hits, [1, B])[.., .., t, 0], one);
    }
}

test "each number is drawn once" for (n, m) in [(0, 3), (1, 1), (3, 7), (5, 5), (40, 41)] {
    let hits = zeros(i32, [m, 64]);
    let c = zeros(i32, [1]);
    counted(n, hits, c);
    assert(c[0] == 0);
    assert_close(hits[..n], ones(i32, [n, 64]), rtol: 0.0, atol: 0.0);
    assert_close(hits[n..], zeros(i32, [m - n, 64]), rtol: 0.0, atol: 0.0);
}

/// y = 2 · x, tile by tile. The loop is in a function, and the number also decides a branch.
kernel doubled<BM = 32, BN = 64>(x: f32[m, n], y: mut f32[m, n], c: mut i32[1])
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
    threads 128
{
    let work = counter(c, cdiv(m, BM) * cdiv(n, BN));
    double(tile(x, [BM, BN]), tile(y, [BM, BN]), work, cdiv(n, BN));
}

fn double(x: f32[M, N, i, j], y: mut f32[M, N, i, j], work: counter, columns: i64) {
    for t in work {
        let v = load(x[.., .., t / columns, t % columns]);
        if t % 2 == 0 {
            v = v + v;
        } else {
            v = v * 2.0;
        }
        copy(v, y[.., .., t / columns, t % columns]);
    }
}

test "tiles without roles" for (m, n) in [(32, 64), (100, 200), (321, 65)] {
    let x = randn(f32, [m, n], seed: 1);
    let y = empty(f32, [m, n]);
    let c = zeros(i32, [1]);
    doubled(x, y, c);
    assert(c[0] == 0);
    assert_close(y, x * 2.0, rtol: 0.0, atol: 0.0);
}

/// Copies the tiles of one product into stages.
fn feed<T: type>(
    a: T[m, k],
    b: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
    bm: i64,
    bn: i64,
) {
    for ki in 0..cdiv(k, K) {
        let s = pipe.acquire();
        copy_async(tile(a, [M, K])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe);
    }
}

/// Multiplies `steps` stages. The last product is in flight at the end, and its stage is held.
fn multiply<T: type>(
    acc: register mut f32[M, N],
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    steps: i64,
) {
    fill(acc, 0.0);
    for _ in 0..steps {
        let s = pipe.wait();
        gemm_async(acc, sa[.., .., s], sb[.., .., s]);
        gemm_wait(1);
        pipe.release_previous();
    }
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ. Each block takes the next tile when it is done with one.
kernel product<BM = 128, BN = 64, BK = 32, STAGES = 3, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut T[m, n],
    next: mut i32[1],
)
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, work) = (pipeline(STAGES), counter(next, rows * columns));
    warp_groups {
        producer registers 40 {
            for t in work {
                let (bm, bn) = grouped<GROUP = 2>(t, rows, columns);
                feed(a, b, sa, sb, pipe, bm, bn);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            let slots = shared_tensor(T, [BM, BN]);
            for t in work {
                let (bm, bn) = grouped<GROUP = 2>(t, rows, columns);
                multiply(acc, sa, sb, pipe, steps);
                gemm_wait(0);
                pipe.release();
                wait_stores(0);
                sync();
                copy(cast(acc, T), slots);
                sync();
                copy_async(slots, tile(c, [BM, BN])[.., .., bm, bn]);
            }
        }
    }
}

test "a product whose tiles are drawn" for (m, n, k) in [
    (128, 64, 32),
    (300, 200, 136),
    (1000, 72, 40),
    (5, 8, 16),
] {
    let a = randn(f16, [m, k], seed: 2);
    let b = randn(f16, [n, k], seed: 3);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    let next = zeros(i32, [1]);
    product(a, b, c, next);
    assert(next[0] == 0);
    assert_close(c, a @ b.T, ulp: 4);
    product(a, b, d, next);
    assert(next[0] == 0);
    assert_close(d, c, rtol: 0.0, atol: 0.0);
}

/// As `product`, but each of two groups multiplies every other tile of its block.
kernel product_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 3, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut T[m, n],
    next: mut i32[1],
)
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    let work = counter(next, rows * columns);
    warp_groups {
        producer registers 40 {
            for t in work {
                let (bm, bn) = grouped<GROUP = 2>(t, rows, columns);
                feed(a, b, sa, sb, pipe, bm, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(f32, [BM, BN]);
            let round = 0;
            for t in work {
                if round % 2 == g {
                    let (bm, bn) = grouped<GROUP = 2>(t, rows, columns);
                    multiplying.take();
                    multiply(acc, sa, sb, pipe, steps);
                    multiplying.pass();
                    gemm_wait(0);
                    pipe.release();
                    copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
                } else {
                    pipe.skip(steps);
                }
                round += 1;
            }
        }
    }
}

test "groups multiply every other tile drawn" for (m, n, k) in [(64, 64, 32), (300, 200, 136), (5, 8, 16)] {
    let a = randn(f16, [m, k], seed: 4);
    let b = randn(f16, [n, k], seed: 5);
    let c = empty(f16, [m, n]);
    let next = zeros(i32, [1]);
    product_pingpong(a, b, c, next);
    assert(next[0] == 0);
    assert_close(c, a @ b.T, ulp: 4);
}

/// The sums of the rows of x. A block draws so little that it fills no stage twice, or hardly. The warp that draws the numbers is
/// late for the stages then: it must not wait for them.
kernel row_sums<BM = 32, BK = 32, STAGES = 4>(x: f32[m, k], y: mut f32[m], c: mut i32[1])
    where k % 4 == 0
    grid [3]
{
    let s = shared_tensor(f32, [BM, BK, STAGES]);
    let pipe = pipeline(STAGES);
    let work = counter(c, cdiv(m, BM));
    warp_groups {
        producer {
            for t in work {
                for i in 0..min(cdiv(k, BK), t + 1) {
                    let stage = pipe.acquire();
                    copy_async(tile(x, [BM, BK])[.., .., t, i], s[.., .., stage], signal: pipe);
                }
            }
        }
        consumer {
            for t in work {
                let total = register_tensor(f32, [BM, 1]);
                fill(total, 0.0);
                for _ in 0..min(cdiv(k, BK), t + 1) {
                    let stage = pipe.wait();
                    total = total + sum(load(s[.., .., stage]), axis: 1);
                    pipe.release();
                }
                copy(total[.., 0], tile(y, [BM])[.., t]);
            }
        }
    }
}

test "a late warp waits for no stage" for (m, k) in [
    (96, 32),
    (192, 40),
    (128, 64),
    (96, 128),
    (32, 200),
    (300, 96),
] {
    let x = randn(f32, [m, k], seed: 1);
    let y = empty(f32, [m]);
    let c = zeros(i32, [1]);
    row_sums(x, y, c);
    for t in 0..cdiv(m, 32) {
        let (to, columns) = (min(t * 32 + 32, m), min(t * 32 + 32, k));
        assert_close(y[t * 32..to], sum(x[t * 32..to, ..columns], axis: 1), rtol: 1e-5, atol: 1e-5);
    }
}
