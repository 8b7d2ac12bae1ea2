//! Kernels whose blocks form clusters.

/// Pairs of blocks walk over the tiles together.
kernel paired<B = 64>(x: f32[n], y: mut f32[n])
    grid [2 * min(multiprocessors / 2, cdiv(n, 2 * B))]
    cluster [2]
    threads 32
{
    let (rank, pair, pairs) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    for w in 0..cdiv(cdiv(n, 2 * B) - pair, pairs) {
        let t = 2 * (pair + w * pairs) + rank;
        copy(load(tile(x, [B])[.., t]), tile(y, [B])[.., t]);
    }
}

test "paired" for n in [64, 1, 128, 129, 1000, 5000] {
    let x = randn(f32, [n], seed: 4);
    let y = empty(f32, [n]);
    paired(x, y);
    assert_eq(y, x);
}

/// The blocks of a pair scale one tile of `x`, which they share, by two numbers.
kernel shared_tile<B = 256>(x: f32[m], y: mut f32[2, m])
    where m % 4 == 0
    grid [2 * cdiv(m, B)]
    cluster [2]
    threads 64
{
    let (rank, pair) = (block_idx % 2, block_idx / 2);
    let stages = shared_tensor(f32, [B, 1]);
    let pipe = pipeline(1);
    let s = pipe.acquire();
    copy_async(tile(x, [B])[.., pair], stages[.., s], signal: pipe, multicast: 0);
    let s = pipe.wait();
    let scaled = load(stages[.., s]) * cast(rank + 1, f32);
    copy(scaled, tile(y[rank], [B])[.., pair]);
    pipe.release();
}

test "the blocks of a cluster share a tile" for m in [4, 256, 1000] {
    let x = randn(f32, [m], seed: 5);
    let y = empty(f32, [2, m]);
    shared_tile(x, y);
    assert_eq(y[0, ..], x);
    assert_eq(y[1, ..], x * 2.0);
    assert(uses("tma.load.multicast"));
}

/// Copies the tiles of a product into stages. The blocks of a pair read rows of `a` of their own, and share the tile of `b`.
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
        copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe, multicast: 0);
    }
}

/// Multiplies `steps` stages and gives all of them back.
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
    gemm_wait(0);
    pipe.release();
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ. Pairs of blocks walk over pairs of tiles, one below the other.
kernel paired_product<BM = 128, BN = 128, BK = 64, STAGES = 3, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut T[m, n],
)
    grid [2 * min(multiprocessors / 2, cdiv(m, 2 * BM) * cdiv(n, BN))]
    cluster [2]
{
    let (rank, pair, pairs) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    let (rows, columns, steps) = (cdiv(m, 2 * BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - pair, pairs);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            for w in 0..rounds {
                let t = pair + w * pairs;
                feed(a, b, sa, sb, pipe, 2 * (t % rows) + rank, t / rows);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            for w in 0..rounds {
                let t = pair + w * pairs;
                multiply(acc, sa, sb, pipe, steps);
                copy(cast(acc, T), tile(c, [BM, BN])[.., .., 2 * (t % rows) + rank, t / rows]);
            }
        }
    }
}

test "the blocks of a cluster share the tiles of a factor" for (m, n, k) in [
    (256, 128, 64),
    (300, 200, 136),
    (8, 520, 40),
    (1000, 72, 200),
] {
    let a = randn(f16, [m, k], seed: 6);
    let b = randn(f16, [n, k], seed: 7);
    let c = empty(f16, [m, n]);
    paired_product(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    paired_product<BM = 128, BN = 64, BK = 32, STAGES = 2>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("tma.load.multicast") && uses("wgmma") && conflicts() == 0);
}

/// Rows of 72 and 100 bytes are no multiples of 16, so each block copies both tiles for itself.
test "blocks share no tiles that no box takes" {
    let a = randn(f16, [300, 36], seed: 8);
    let b = randn(f16, [50, 36], seed: 9);
    let c = empty(f16, [300, 50]);
    paired_product<BM = 128, BN = 64, BK = 32, STAGES = 3>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(!uses("tma.load") && !uses("tma.load.multicast"));
}

/// c[m, n] = a[m, k] · b[n, k]ᵀ. Four blocks compute two by two tiles: two of them share each tile of `a`, two each tile of `b`.
kernel square_product<BM = 64, BN = 64, BK = 64, STAGES = 3, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut T[m, n],
)
    grid [2 * cdiv(m, 2 * BM), 2 * cdiv(n, 2 * BN)]
    cluster [2, 2]
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe, multicast: 1);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe, multicast: 0);
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            multiply(acc, sa, sb, pipe, cdiv(k, BK));
            copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "blocks of a cluster share the tiles of both factors" for (m, n, k) in [
    (128, 128, 256),
    (200, 136, 72),
    (8, 400, 320),
] {
    let a = randn(f16, [m, k], seed: 10);
    let b = randn(f16, [n, k], seed: 11);
    let c = empty(f16, [m, n]);
    square_product(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("tma.load.multicast"));
}

/// y[j] = Σ x[i, j], over the rows i. The blocks of a cluster have a row each, and every block stores the sum.
kernel sum_of_rows<B = 256, BLOCKS = 2, THREADS = 64, T: type = f32>(x: T[BLOCKS, m], y: mut T[BLOCKS, m])
    grid [BLOCKS * cdiv(m, B)]
    cluster [BLOCKS]
    threads THREADS
{
    let (rank, t) = (block_idx % BLOCKS, block_idx / BLOCKS);
    let all = sum(load(tile(x[rank], [B])[.., t]), cluster: 0);
    copy(all, tile(y[rank], [B])[.., t]);
}

test "sums over the blocks of a cluster" for m in [256, 1, 700] {
    let x = randn(f32, [2, m], seed: 12);
    let y = empty(f32, [2, m]);
    sum_of_rows(x, y);
    assert_close(y[0, ..], x[0, ..] + x[1, ..], ulp: 1);
    assert_eq(y[1, ..], y[0, ..]);
    let x = randn(f32, [4, m], seed: 13);
    let y = empty(f32, [4, m]);
    sum_of_rows<BLOCKS = 4>(x, y);
    assert_eq(y[0, ..], cast(cast(cast(x[0, ..] + x[1, ..], f32) + x[2, ..], f32) + x[3, ..], f32));
    assert_eq(y[1, ..], y[0, ..]);
    assert_eq(y[2, ..], y[0, ..]);
    assert_eq(y[3, ..], y[0, ..]);
    assert(conflicts() == 0);
}

/// The elements of seven other blocks are more than the slots of a block hold at once, so they come in two rounds.
test "a sum over eight blocks" for m in [2560, 5000] {
    let x = randn(f32, [8, m], seed: 17);
    let y = empty(f32, [8, m]);
    sum_of_rows<B = 2560, BLOCKS = 8, THREADS = 128>(x, y);
    assert_close(y[0, ..], sum(x, axis: 0), atol: 1e-5);
    for i in 1..8 {
        assert_eq(y[i, ..], y[0, ..]);
    }
}

/// A producer and two groups, in several rounds: the sums of a persistent loop share their memory, and each follows the last one.
kernel sums_of_rounds<B = 128, G = 2, T: type = i32>(x: T[2, m], y: mut T[2, m])
    where m % 4 == 0
    grid [2 * min(3, cdiv(m, B))]
    cluster [2]
{
    let (rank, cluster, clusters) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    let rounds = cdiv(cdiv(m, B) - cluster, clusters);
    let stages = shared_tensor(T, [B, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for w in 0..rounds {
                let s = pipe.acquire();
                copy_async(tile(x[rank], [B])[.., cluster + w * clusters], stages[.., s], signal: pipe);
            }
        }
        consumer G {
            for w in 0..rounds {
                let s = pipe.wait();
                let own = load(stages[.., s]);
                pipe.release();
                let all = sum(own, cluster: 0);
                let again = sum(all + own, cluster: 0);
                copy(again, tile(y[rank], [B])[.., cluster + w * clusters]);
            }
        }
    }
}

test "sums of roles in several rounds" for (m, g) in [(128, 1), (1000, 2), (4, 2)] {
    let x = uniform(i32, [2, m], low: -1000, high: 1000, seed: 14);
    let y = empty(i32, [2, m]);
    sums_of_rounds<G = g>(x, y);
    assert_eq(y[0, ..], 3 * (x[0, ..] + x[1, ..]));
    assert_eq(y[1, ..], y[0, ..]);
}

/// The groups of a role sum for themselves, along the second axis of the cluster, and only one of its blocks gets the sum.
kernel sums_of_groups<TO = 1, T: type = f64>(x: T[2, 2, m], y: mut T[2, 2, m])
    grid [2, 2]
    cluster [2, 2]
{
    let [i, j] = block_idx;
    warp_groups {
        consumer each 2 (g) {
            for t in 0..cdiv(m, 256) {
                let part = load(tile(x[i, j], [128])[.., 2 * t + g]);
                copy(sum(part, cluster: 1, to: TO), tile(y[i, j], [128])[.., 2 * t + g]);
            }
        }
    }
}

test "sums of groups for one block" for m in [1, 300, 1024] {
    let x = randn(f64, [2, 2, m], seed: 15);
    let y = empty(f64, [2, 2, m]);
    sums_of_groups(x, y);
    assert_eq(y[.., 1, ..], x[.., 0, ..] + x[.., 1, ..]);
    assert_eq(y[.., 0, ..], x[.., 0, ..]);
    sums_of_groups<TO = 0>(x, y);
    assert_eq(y[.., 0, ..], x[.., 0, ..] + x[.., 1, ..]);
    assert_eq(y[.., 1, ..], x[.., 1, ..]);
}

/// Each block gets a part of the columns of the sum.
kernel scattered<N = 256, BLOCKS = 4>(x: f32[BLOCKS, 64, N], y: mut f32[64, N])
    grid [BLOCKS]
    cluster [BLOCKS]
    threads 128
{
    let part = sum(load(x[block_idx]), cluster: 0, scatter: 1);
    copy(part, tile(y, [64, N / BLOCKS])[.., .., 0, block_idx]);
}

test "each block of a cluster gets a part of a sum" {
    let x = uniform(i32, [4, 64, 256], low: -1000, high: 1000, seed: 16);
    let y = empty(f32, [64, 256]);
    scattered(cast(x, f32), y);
    assert_eq(y, cast(sum(x, axis: 0), f32));
    let z = cast(x[0..2, .., ..], f32);
    scattered<BLOCKS = 2>(z, y);
    assert_eq(y, cast(sum(x[0..2, .., ..], axis: 0), f32));
    scattered<BLOCKS = 1>(z[0..1, .., ..], y);
    assert_eq(y, z[0, .., ..]);
}
