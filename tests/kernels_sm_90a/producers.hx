//! Roles that pass tiles on through pipelines: one copies into stages, others wait for them and give them back.

/// c[m, n] = a[m, k] · b[n, k]ᵀ. Two groups multiply a stage together. One product is in flight while they wait for the next stage.
kernel product<BM = 128, BN = 128, BK = 64, STAGES = 4, T: type = f16>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                gemm_wait(1);
                pipe.release_previous();
            }
            gemm_wait(0);
            pipe.release();
            copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "products of tiles that a producer copies" for (m, n, k) in [
    (128, 128, 64),
    (136, 72, 584),
    (33, 50, 256),
    (100, 130, 36),
] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    let (d, e, f) = (cast(a, bf16), cast(b, bf16), empty(bf16, [m, n]));
    product<BN = 64, BK = 32, STAGES = 2>(d, e, f);
    assert_close(f, d @ e.T, ulp: 4);
}

/// Sums the rows of a matrix in two roles: each of them reads every stage.
kernel summed<BM = 64, BN = 32, STAGES = 3>(x: f32[m, n], sums: mut f32[m, 1], largest: mut f32[m, 1])
    grid [cdiv(m, BM)]
{
    let stages = shared_tensor(f32, [BM, BN, STAGES]);
    let (pipe, tiles) = (pipeline(STAGES), tile(x, [BM, BN])[.., .., block_idx, ..]);
    warp_groups {
        producer {
            for j in 0..cdiv(n, BN) {
                let s = pipe.acquire();
                copy_async(tiles[.., .., j], stages[.., .., s], signal: pipe);
            }
        }
        consumer {
            let total = register_tensor(f32, [BM, 1]);
            fill(total, 0.0);
            for _ in 0..cdiv(n, BN) {
                let s = pipe.wait();
                total = total + sum(load(stages[.., .., s]), axis: 1);
                pipe.release();
            }
            copy(total, tile(sums, [BM, 1])[.., .., block_idx, 0]);
        }
        consumer 2 {
            let top = register_tensor(f32, [BM, 1]);
            fill(top, 0.0);
            for _ in 0..cdiv(n, BN) {
                let s = pipe.wait();
                top = max(top, max(abs(load(stages[.., .., s])), axis: 1));
                pipe.release();
            }
            copy(top, tile(largest, [BM, 1])[.., .., block_idx, 0]);
        }
    }
}

test "two roles read the stages of one producer" for (m, n) in [(64, 32), (100, 300), (7, 96), (65, 4)] {
    let x = randn(f32, [m, n], seed: 3);
    let (sums, largest) = (empty(f32, [m, 1]), empty(f32, [m, 1]));
    summed(x, sums, largest);
    assert_close(sums[.., 0], sum(x, axis: 1), rtol: 1e-4, atol: 1e-4);
    assert_close(largest[.., 0], max(abs(x), axis: 1), rtol: 0.0, atol: 0.0);
}

/// Copies the tiles that a list names, up to the first negative number: both roles read the list, and the simulator alone learns how
/// many stages they pass on.
kernel listed<N = 128, S = 2>(x: f32[m], list: i32[k], y: mut f32[m])
    grid [1]
{
    let stages = shared_tensor(f32, [N, S]);
    let pipe = pipeline(S);
    warp_groups {
        producer {
            let i = 0;
            let t = scalar(load(tile(list, [1])[.., i]));
            while t >= 0 {
                let s = pipe.acquire();
                copy_async(tile(x, [N])[.., t], stages[.., s], signal: pipe);
                i = i + 1;
                t = scalar(load(tile(list, [1])[.., i]));
            }
        }
        consumer {
            let i = 0;
            let t = scalar(load(tile(list, [1])[.., i]));
            while t >= 0 {
                let s = pipe.wait();
                copy(load(stages[.., s]) * 2.0, tile(y, [N])[.., t]);
                pipe.release();
                i = i + 1;
                t = scalar(load(tile(list, [1])[.., i]));
            }
        }
    }
}

test "trip counts that memory holds" {
    let (x, list) = (randn(f32, [1000], seed: 6), 7 - arange(i32, [9]));
    let y = zeros(f32, [1000]);
    listed(x, cast(list, i32), y);
    assert_eq(y, x * 2.0);
    let z = zeros(f32, [1000]);
    listed(x, cast(list, i32)[4..], z);
    assert_eq(z[..512], x[..512] * 2.0);
    assert_eq(z[512..], zeros(f32, [488]));
}

/// Two roles fill a ring in turn. One makes copies and nothing else, so it is one warp; the other one counts its rounds with all its
/// warps, which arrive at the stages so that none of them is late.
kernel filled_by_two(x: f32[m, 64], y: mut f32[m, 64], hits: mut i32[1])
    grid [1]
{
    let s = shared_tensor(f32, [32, 64, 4]);
    let pipe = pipeline(4);
    warp_groups {
        producer {
            for i in 0..cdiv(m, 64) {
                let p = pipe.acquire();
                copy_async(tile(x, [32, 64])[.., .., 2 * i, 0], s[.., .., p], signal: pipe);
                pipe.skip(1);
            }
        }
        producer 2 {
            let one = register_tensor(i32, [1]);
            fill(one, 1);
            for i in 0..cdiv(m, 64) {
                pipe.skip(1);
                atomic_add(hits, one);
                let p = pipe.acquire();
                copy_async(tile(x, [32, 64])[.., .., 2 * i + 1, 0], s[.., .., p], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 64) * 2 {
                let q = pipe.wait();
                copy(load(s[.., .., q]), tile(y, [32, 64])[.., .., i, 0]);
                pipe.release();
            }
        }
    }
}

test "a role of one warp and one of eight fill a ring" for m in [64, 300, 1000] {
    let x = randn(f32, [m, 64], seed: 1);
    let y = empty(f32, [m, 64]);
    let hits = zeros(i32, [1]);
    filled_by_two(x, y, hits);
    assert_eq(y, x);
}

/// Two roles fill a ring in turn, one in boxes, one with copies of its threads: rows of `z` begin at any multiple of 4 bytes. All threads
/// of both arrive at each stage.
kernel filled_in_two_ways(x: f32[m, 64], z: f32[m, k], y: mut f32[m, 64], hits: mut i32[1])
    grid [1]
{
    let s = shared_tensor(f32, [32, 64, 4]);
    let pipe = pipeline(4);
    warp_groups {
        producer {
            for i in 0..cdiv(m, 64) {
                let p = pipe.acquire();
                copy_async(tile(x, [32, 64])[.., .., 2 * i, 0], s[.., .., p], signal: pipe);
                pipe.skip(1);
            }
        }
        producer {
            for i in 0..cdiv(m, 64) {
                pipe.skip(1);
                let p = pipe.acquire();
                copy_async(tile(z, [32, 64])[.., .., 2 * i + 1, 0], s[.., .., p], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 64) * 2 {
                let q = pipe.wait();
                copy(load(s[.., .., q]), tile(y, [32, 64])[.., .., i, 0]);
                pipe.release();
            }
        }
    }
}

test "boxes and copies of threads fill a ring" for m in [64, 300, 1000] {
    let x = randn(f32, [m, 64], seed: 1);
    let y = empty(f32, [m, 64]);
    let hits = zeros(i32, [1]);
    let wide = randn(f32, [m, 65], seed: 2);
    filled_in_two_ways(x, wide, y, hits);
    assert(uses("tma.load") && uses("cp.async"));
    for i in 0..cdiv(m, 32) {
        let to = min(i * 32 + 32, m);
        assert_eq(y[i * 32..to], if i % 2 == 0 { x[i * 32..to] } else { wide[i * 32..to, ..64] });
    }
}
