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

/// The same with arrivals: a role waits only for what it needs.
kernel handed<BM = 64, BN = 64>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let square = shared_tensor(f16, [BM, BN]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let v = load(tile(x, [BM, BN])[.., .., block_idx, j]);
                if j > 0 { free.sync(); }
                copy(v * v, square);
                full.arrive();
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                full.sync();
                let v = load(square);
                if j + 1 < cdiv(n, BN) { free.arrive(); }
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
