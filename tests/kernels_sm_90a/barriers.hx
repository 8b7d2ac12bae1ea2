//! Barriers that several roles, or several groups of one role, come to.

/// y = x² + 1: one role squares tiles, the other adds and stores. Both wait at each hand-over.
kernel squared<BM = 64, BN = 64>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let square = shared_tensor(f16, [BM, BN]);
    let both = barrier();
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let v = load(tile(x, [BM, BN])[.., .., block_idx, j]);
                copy(v * v, square);
                both.sync();
                both.sync();
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                both.sync();
                let v = load(square);
                both.sync();
                copy(v + 1.0, tile(y, [BM, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "squared" for (m, n) in [(64, 64), (100, 200)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    squared(x, y);
    assert_close(y, x * x + 1.0, ulp: 1);
}

/// As `squared`, with arrivals: a role waits only for what it needs.
kernel handed<BM = 64, BN = 64>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let square = shared_tensor(f16, [BM, BN]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let v = load(tile(x, [BM, BN])[.., .., block_idx, j]);
                if j > 0 {
                    free.sync();
                }
                copy(v * v, square);
                full.arrive();
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                full.sync();
                let v = load(square);
                if j + 1 < cdiv(n, BN) {
                    free.arrive();
                }
                copy(v + 1.0, tile(y, [BM, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "handed" for (m, n) in [(64, 64), (100, 200)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    handed(x, y);
    assert_close(y, x * x + 1.0, ulp: 1);
}

/// y[i] = x[i] + x[i ^ 1] over tiles: each group writes its tile, and reads that of the other one.
kernel exchanged<BN = 256>(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 2 * BN)]
{
    let tiles = shared_tensor(f32, [BN, 2]);
    let all = barrier();
    warp_groups {
        consumer each 2 (g) {
            let v = load(tile(x, [BN])[.., 2 * block_idx + g]);
            copy(v, tiles[.., g]);
            all.sync();
            copy(v + load(tiles[.., 1 - g]), tile(y, [BN])[.., 2 * block_idx + g]);
        }
    }
}

test "exchanged" for m in [512, 2048] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    exchanged(x, y);
    for i in 0..m / 512 {
        let (a, b) = (x[512 * i..512 * i + 256], x[512 * i + 256..512 * i + 512]);
        assert_close(y[512 * i..512 * i + 256], a + b, rtol: 1e-6, atol: 0.0);
        assert_close(y[512 * i + 256..512 * i + 512], a + b, rtol: 1e-6, atol: 0.0);
    }
}

/// Writes a tile of squares that another role reads.
fn put(v: register f16[M, N], s: shared mut f16[M, N], full: barrier) {
    copy(v * v, s);
    full.arrive();
}

/// y = x²: two groups make a tile together in shared memory, and the copy unit of another role stores it.
kernel stored<BM = 64, BN = 64>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let squares = shared_tensor(f16, [BM, BN]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                full.sync();
                copy_async(squares, tile(y, [BM, BN])[.., .., block_idx, j]);
                wait_stores(0);
                free.arrive();
            }
        }
        consumer 2 {
            for j in 0..cdiv(n, BN) {
                put(load(tile(x, [BM, BN])[.., .., block_idx, j]), squares, full);
                free.sync();
            }
        }
    }
}

test "stored" for (m, n) in [(64, 64), (100, 200)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    stored(x, y);
    assert(uses("tma.store"));
    assert_close(y, x * x, ulp: 1);
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ: one role loads the tiles through its registers, two groups multiply them from shared memory.
kernel multiplied<BM = 128, BN = 128, BK = 64>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [BM, BK]), shared_tensor(f16, [BN, BK]));
    let both = barrier();
    warp_groups {
        producer registers 128 {
            for ki in 0..cdiv(k, BK) {
                copy(load(tile(a, [BM, BK])[.., .., bm, ki]), sa);
                copy(load(tile(b, [BN, BK])[.., .., bn, ki]), sb);
                both.sync();
                both.sync();
            }
        }
        consumer 2 registers 184 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                both.sync();
                gemm_async(acc, sa, sb);
                gemm_wait(0);
                both.sync();
            }
            copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "multiplied" for (m, n, k) in [(128, 128, 64), (136, 72, 200)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    multiplied(a, b, c);
    assert(uses("wgmma"));
    assert_close(c, a @ b.T, rtol: 1e-4, atol: 1e-3);
}

/// Two groups of one role hand a tile to each other and back.
kernel alternated<BN = 256>(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [BN]);
    let (first, second) = (barrier(), barrier());
    warp_groups {
        consumer each 2 (g) {
            for i in 0..cdiv(m, 2 * BN) {
                if g == 0 {
                    copy(load(tile(x, [BN])[.., 2 * i]) * 2.0, s);
                    first.arrive();
                    second.sync();
                    copy(load(s), tile(y, [BN])[.., 2 * i]);
                    sync();
                } else {
                    first.sync();
                    let v = load(s);
                    sync();
                    copy(v + load(tile(x, [BN])[.., 2 * i + 1]), s);
                    copy(v, tile(y, [BN])[.., 2 * i + 1]);
                    second.arrive();
                }
            }
        }
    }
}

test "alternated" for m in [512, 2048] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    alternated(x, y);
    for i in 0..m / 512 {
        let (a, b) = (x[512 * i..512 * i + 256], x[512 * i + 256..512 * i + 512]);
        assert_close(y[512 * i..512 * i + 256], a * 2.0 + b, rtol: 1e-6, atol: 0.0);
        assert_close(y[512 * i + 256..512 * i + 512], a * 2.0, rtol: 1e-6, atol: 0.0);
    }
}

/// y = x + 1: boxes fill a stage, and all warps of the role that starts them arrive at a barrier in each round.
kernel ticked(x: f16[m, n], y: mut f16[m, n])
    where n % 8 == 0
    grid [cdiv(m, 64)]
{
    let s = shared_tensor(f16, [64, 64]);
    let (pipe, tick) = (pipeline(1), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, 64) {
                let _s = pipe.acquire();
                copy_async(tile(x, [64, 64])[.., .., block_idx, j], s, signal: pipe);
                tick.arrive();
            }
        }
        consumer 2 {
            for j in 0..cdiv(n, 64) {
                let _s = pipe.wait();
                tick.sync();
                let v = load(s);
                pipe.release();
                copy(v + 1.0, tile(y, [64, 64])[.., .., block_idx, j]);
            }
        }
    }
}

/// As `ticked`, with a ring of stages, and a copying role that waits at the barrier.
kernel ticked_in_step(x: f16[m, n], y: mut f16[m, n])
    where n % 8 == 0
    grid [cdiv(m, 64)]
{
    let s = shared_tensor(f16, [64, 64, 3]);
    let (pipe, tick) = (pipeline(3), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, 64) {
                let p = pipe.acquire();
                copy_async(tile(x, [64, 64])[.., .., block_idx, j], s[.., .., p], signal: pipe);
                tick.sync();
            }
        }
        consumer each 2 (g) {
            for j in 0..cdiv(n, 64) {
                let p = pipe.wait();
                tick.sync();
                let v = load(tile(s[.., .., p], [32, 64])[.., .., g, 0]);
                pipe.release();
                copy(v + 1.0, tile(y, [32, 64])[.., .., 2 * block_idx + g, j]);
            }
        }
    }
}

test "ticked" for (m, n) in [(64, 64), (100, 520)] {
    let x = randn(f16, [m, n], seed: 1);
    let (y, z) = (empty(f16, [m, n]), empty(f16, [m, n]));
    ticked(x, y);
    ticked_in_step(x, z);
    assert(uses("tma.load"));
    assert_close(y, x + 1.0, ulp: 1);
    assert_close(z, x + 1.0, ulp: 1);
}
