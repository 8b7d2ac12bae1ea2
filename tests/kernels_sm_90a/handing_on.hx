//! Roles that hand tiles on from their registers: stages that threads write between `acquire` and `publish`.

/// y[m, n] = 2 · x[m, n] + 1: one role doubles tiles into stages, the other adds and stores.
kernel handed<BM = 64, BN = 64, STAGES = 2>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let sx = shared_tensor(f16, [BM, BN, STAGES]);
    let ring = pipeline(STAGES);
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let v = load(tile(x, [BM, BN])[.., .., block_idx, j]);
                let s = ring.acquire();
                copy(v + v, sx[.., .., s]);
                ring.publish();
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                let s = ring.wait();
                let v = load(sx[.., .., s]);
                ring.release();
                copy(v + 1.0, tile(y, [BM, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "handed" for (m, n) in [(64, 64), (100, 520)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    handed(x, y);
    assert_close(y, x + x + 1.0, ulp: 4);
}

/// y[n, m] = w[n, k] · x[m, k]ᵀ: a producer copies, a role widens the weights into stages, two groups multiply.
kernel widened<BM = 128, BN = 128, BK = 64, STAGES = 3>(x: f16[m, k], w: i8[n, k], y: mut f16[n, m])
    where k % BK == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let narrow = shared_tensor(i8, [BN, BK, STAGES]);
    let wide = shared_tensor(f16, [BN, BK, STAGES]);
    let sx = shared_tensor(f16, [BM, BK, STAGES]);
    let arrived = pipeline(STAGES);
    let ready = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..k / BK {
                let s = arrived.acquire();
                copy_async(tile(w, [BN, BK])[.., .., bn, i], narrow[.., .., s], signal: arrived);
                let t = ready.acquire();
                copy_async(tile(x, [BM, BK])[.., .., bm, i], sx[.., .., t], signal: ready);
            }
        }
        consumer {
            for _i in 0..k / BK {
                let s = arrived.wait();
                let v = load(narrow[.., .., s]);
                arrived.release();
                let t = ready.acquire();
                copy(cast(v, f16), wide[.., .., t]);
                ready.publish();
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for _i in 0..k / BK {
                let t = ready.wait();
                gemm(acc, wide[.., .., t], sx[.., .., t]);
                ready.release();
            }
            copy(cast(acc, f16), tile(y, [BN, BM])[.., .., bn, bm]);
        }
    }
}

test "widened" for (m, n, k) in [(128, 128, 256), (100, 256, 448)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let y = empty(f16, [n, m]);
    widened(x, w, y);
    assert_close(y, w @ x.T, ulp: 4);
    assert(uses("wgmma") && uses("tma.load") && spills() == 0 && conflicts() == 0);
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ, persistent: a role of its own stores what the consumers hand on.
kernel stored<BM = 128, BN = 128, BK = 64, STAGES = 3>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [min(cdiv(m, BM) * cdiv(n, BN), multiprocessors)]
{
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let sc = shared_tensor(f16, [BM, BN, 2]);
    let operands = pipeline(STAGES);
    let results = pipeline(2);
    let columns = cdiv(n, BN);
    let tiles = cdiv(cdiv(m, BM) * columns - block_idx, grid_dim);
    warp_groups {
        producer {
            for t in 0..tiles {
                let (bm, bn) = ((block_idx + t * grid_dim) / columns, (block_idx + t * grid_dim) % columns);
                for i in 0..cdiv(k, BK) {
                    let s = operands.acquire();
                    copy_async(tile(a, [BM, BK])[.., .., bm, i], sa[.., .., s], signal: operands);
                    copy_async(tile(b, [BN, BK])[.., .., bn, i], sb[.., .., s], signal: operands);
                }
            }
        }
        consumer 2 {
            for _t in 0..tiles {
                let acc = register_tensor(f32, [BM, BN]);
                fill(acc, 0.0);
                for _i in 0..cdiv(k, BK) {
                    let s = operands.wait();
                    gemm(acc, sa[.., .., s], sb[.., .., s]);
                    operands.release();
                }
                let r = results.acquire();
                copy(cast(acc, f16), sc[.., .., r]);
                results.publish();
            }
        }
        consumer {
            for t in 0..tiles {
                let (bm, bn) = ((block_idx + t * grid_dim) / columns, (block_idx + t * grid_dim) % columns);
                let r = results.wait();
                copy_async(sc[.., .., r], tile(c, [BM, BN])[.., .., bm, bn]);
                wait_stores(0);
                results.release();
            }
        }
    }
}

test "stored" for (m, n, k) in [(128, 128, 64), (300, 520, 200)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    stored(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("wgmma") && spills() == 0);
}

/// y = a + b and z = a · b: each stage is filled by a role that copies `a` and one that writes `b` in f32.
kernel filled_by_two<BM = 64, BN = 64, STAGES = 2>(
    a: f16[m, n],
    b: f16[m, n],
    y: mut f32[m, n],
    z: mut f32[m, n],
)
    grid [cdiv(m, BM)]
{
    let sa = shared_tensor(f16, [BM, BN, STAGES]);
    let sb = shared_tensor(f32, [BM, BN, STAGES]);
    let ring = pipeline(STAGES);
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let s = ring.acquire();
                copy_async(tile(a, [BM, BN])[.., .., block_idx, j], sa[.., .., s], signal: ring);
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                let s = ring.acquire();
                copy(cast(load(tile(b, [BM, BN])[.., .., block_idx, j]), f32), sb[.., .., s]);
                ring.publish();
            }
        }
        consumer 2 {
            for j in 0..cdiv(n, BN) {
                let s = ring.wait();
                let (u, v) = (cast(load(sa[.., .., s]), f32), load(sb[.., .., s]));
                ring.release();
                copy(u + v, tile(y, [BM, BN])[.., .., block_idx, j]);
                copy(u * v, tile(z, [BM, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "filled by two" for (m, n) in [(64, 64), (100, 456)] {
    let (a, b) = (randn(f16, [m, n], seed: 1), randn(f16, [m, n], seed: 2));
    let (y, z) = (empty(f32, [m, n]), empty(f32, [m, n]));
    filled_by_two(a, b, y, z);
    assert_close(y, a + b, ulp: 1);
    assert_close(z, a * b, ulp: 1);
}

/// The sums of the columns of blocks of rows: each group writes its half of a stage, with a copy of the scales beside it.
kernel filled_by_groups<BN = 64, STAGES = 3>(x: f32[m, n], scale: f32[n], sums: mut f32[blocks, n])
    where blocks == cdiv(m, 64)
    grid [blocks]
{
    let tiles = shared_tensor(f32, [2, 32, BN, STAGES]);
    let scales = shared_tensor(f32, [BN, STAGES]);
    let ring = pipeline(STAGES);
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let s = ring.acquire();
                copy_async(tile(scale, [BN])[.., j], scales[.., s], signal: ring);
            }
        }
        consumer each 2 (g) {
            for j in 0..cdiv(n, BN) {
                let v = load(tile(x, [32, BN])[.., .., 2 * block_idx + g, j]);
                let s = ring.acquire();
                copy(v * v, tiles[g, .., .., s]);
                ring.publish();
            }
        }
        consumer {
            for j in 0..cdiv(n, BN) {
                let s = ring.wait();
                let v = sum(load(tiles[0, .., .., s]) + load(tiles[1, .., .., s]), axis: 0)
                    * load(scales[.., s])[new, ..];
                ring.release();
                copy(v, tile(sums, [1, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "filled by groups" for (m, n) in [(64, 64), (200, 456)] {
    let (x, scale) = (randn(f32, [m, n], seed: 1), randn(f32, [n], seed: 2));
    let blocks = cdiv(m, 64);
    let sums = empty(f32, [blocks, n]);
    filled_by_groups(x, scale, sums);
    for i in 0..blocks {
        let rows = x[i * 64..min(m, (i + 1) * 64)];
        assert_close(sums[i], sum(rows * rows, axis: 0) * scale, rtol: 1e-5, atol: 1e-5);
    }
}

/// Two roles exchange sums of the columns of their halves of x: each divides its half by the sum of both.
kernel exchanged<BM = 64, BN = 64>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM)]
{
    let (left, right) = (shared_tensor(f32, [BM, 1]), shared_tensor(f32, [BM, 1]));
    let (to_left, to_right) = (pipeline(1), pipeline(1));
    warp_groups {
        consumer {
            for j in 0..cdiv(n, 2 * BN) {
                let v = exp(load(tile(x, [BM, BN], pad: -inf)[.., .., block_idx, 2 * j]));
                let own = sum(v, axis: 1);
                to_right.acquire();
                copy(own, left);
                to_right.publish();
                to_left.wait();
                let total = own + load(right);
                to_left.release();
                copy(v / total, tile(y, [BM, BN])[.., .., block_idx, 2 * j]);
            }
        }
        consumer {
            for j in 0..cdiv(n, 2 * BN) {
                let v = exp(load(tile(x, [BM, BN], pad: -inf)[.., .., block_idx, 2 * j + 1]));
                let own = sum(v, axis: 1);
                to_left.acquire();
                copy(own, right);
                to_left.publish();
                to_right.wait();
                let total = own + load(left);
                to_right.release();
                copy(v / total, tile(y, [BM, BN])[.., .., block_idx, 2 * j + 1]);
            }
        }
    }
}

test "exchanged" for (m, n) in [(64, 128), (100, 512)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f32, [m, n]));
    exchanged(x, y);
    for j in 0..n / 128 {
        let e = exp(x[.., j * 128..(j + 1) * 128]);
        assert_close(
            y[.., j * 128..(j + 1) * 128],
            e / sum(e, axis: 1, keepdims: true),
            rtol: 1e-5,
            atol: 1e-6,
        );
    }
}

/// y = x², tile by tile: two groups fill the stages in turns, and leave those of the other group to it.
kernel filled_in_turns<BM = 64, BN = 64, STAGES = 2>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM)]
{
    let tiles = shared_tensor(f16, [BM, BN, STAGES]);
    let ring = pipeline(STAGES);
    let columns = cdiv(n, 2 * BN);
    warp_groups {
        consumer each 2 (g) {
            ring.skip(g);
            for j in 0..columns {
                let v = load(tile(x, [BM, BN])[.., .., block_idx, 2 * j + g]);
                let s = ring.acquire();
                copy(v * v, tiles[.., .., s]);
                ring.publish();
                ring.skip(1);
            }
        }
        consumer {
            for j in 0..2 * columns {
                let s = ring.wait();
                let v = load(tiles[.., .., s]);
                ring.release();
                copy(v, tile(y, [BM, BN])[.., .., block_idx, j]);
            }
        }
    }
}

test "filled in turns" for (m, n) in [(64, 64), (100, 456)] {
    let (x, y) = (randn(f16, [m, n], seed: 1), empty(f16, [m, n]));
    filled_in_turns(x, y);
    assert_close(y, x * x, ulp: 1);
    filled_in_turns<STAGES = 4>(x, y);
    assert_close(y, x * x, ulp: 1);
}
