//! Matrix products of Hopper with a bias, an activation and a residual, computed before the result leaves the registers.

use std::activations::gelu;
use std::activations::identity;
use std::gemm::feed;
use std::gemm::multiply_in_turn;
use std::tiles::grouped;

/// As `std::gemm::store`, of ACT(acc + bias).
fn store_biased<T: type, ACT: fn>(
    acc: register f32[M, N],
    slots: shared mut T[M, 64, 2],
    bias: T[n],
    c: mut T[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    #[unroll]
    for j in 0..N / 64 {
        let (slot, column) = ((stored + j) % 2, bn * (N / 64) + j);
        wait_stores(1);
        sync();
        // Few columns at a time, because there are few registers beside the accumulators.
        #[unroll]
        for p in 0..4 {
            let (part, from) = (4 * column + p, j * 64 + p * 16);
            let shift = cast(load(tile(bias, [16])[.., part][new, ..]), f32);
            copy(cast(ACT(acc[.., from..from + 16] + shift), T), slots[.., p * 16..(p + 1) * 16, slot]);
        }
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, 64])[.., .., bm, column]);
    }
}

/// As `store_biased`, of ACT(acc + bias) + residual.
fn store_added<T: type, ACT: fn>(
    acc: register f32[M, N],
    slots: shared mut T[M, 64, 2],
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    #[unroll]
    for j in 0..N / 64 {
        let (slot, column) = ((stored + j) % 2, bn * (N / 64) + j);
        wait_stores(1);
        sync();
        #[unroll]
        for p in 0..4 {
            let (part, from) = (4 * column + p, j * 64 + p * 16);
            let shift = cast(load(tile(bias, [16])[.., part][new, ..]), f32);
            let rest = cast(load(tile(residual, [M, 16])[.., .., bm, part]), f32);
            copy(
                cast(ACT(acc[.., from..from + 16] + shift) + rest, T),
                slots[.., p * 16..(p + 1) * 16, slot],
            );
        }
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, 64])[.., .., bm, column]);
    }
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]). As `std::gemm::gemm_pingpong`, with tiles that leave registers to `ACT`.
kernel gemm_bias<BM = 128, BN = 128, BK = 64, STAGES = 5, GROUP = 8, T: type = bf16, ACT: fn = identity>(
    a: T[m, k],
    b: T[n, k],
    bias: T[n],
    c: mut T[m, n],
)
    where BN % 64 == 0
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        // As in `gemm_pingpong`.
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                feed(a, b, sa, sb, pipe, bm, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(f32, [BM, BN]);
            let slots = shared_tensor(T, [BM, 64, 2]);
            pipe.skip(g * steps);
            for i in 0..cdiv(rounds - g, 2) {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + (2 * i + g) * grid_dim, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store_biased<ACT = ACT>(acc, slots, bias, c, bm, bn, i * (BN / 64));
            }
        }
    }
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]) + residual[m, n], as `gemm_bias`.
kernel gemm_residual<BM = 128, BN = 128, BK = 64, STAGES = 5, GROUP = 8, T: type = bf16, ACT: fn = identity>(
    a: T[m, k],
    b: T[n, k],
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
)
    where BN % 64 == 0
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        // As in `gemm_pingpong`.
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                feed(a, b, sa, sb, pipe, bm, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(f32, [BM, BN]);
            let slots = shared_tensor(T, [BM, 64, 2]);
            pipe.skip(g * steps);
            for i in 0..cdiv(rounds - g, 2) {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + (2 * i + g) * grid_dim, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store_added<ACT = ACT>(acc, slots, bias, residual, c, bm, bn, i * (BN / 64));
            }
        }
    }
}

test "gemm_bias and gemm_residual" for (m, n, k, act) in [(128, 128, 64, identity), (200, 328, 136, gelu)] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    let x = a @ b.T + bias;
    let y = if act == gelu { x * 0.5 * (1.0 + erf(x * 0.7071067811865476)) } else { x };
    gemm_bias<ACT = act>(a, b, bias, c);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(c, y, ulp: 4);
    gemm_residual<ACT = act>(a, b, bias, residual, d);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(d, y + residual, ulp: 4);
}

test "fused products in more rounds than stages" for (m, n, k) in [(264, 136, 72), (5, 8, 16), (33, 50, 36)] {
    let a = randn(f16, [m, k], seed: 5);
    let b = randn(f16, [n, k], seed: 6);
    let bias = randn(f16, [n], seed: 7);
    let residual = randn(f16, [m, n], seed: 8);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    gemm_bias<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, c);
    assert_close(c, a @ b.T + bias, ulp: 4);
    gemm_residual<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, residual, d);
    assert_close(d, a @ b.T + bias + residual, ulp: 4);
}

bench "gemm_residual 4096" {
    let a = randn(bf16, [4096, 4096], seed: 1);
    let b = randn(bf16, [4096, 4096], seed: 2);
    let bias = randn(bf16, [4096], seed: 3);
    let residual = randn(bf16, [4096, 4096], seed: 4);
    let c = empty(bf16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { gemm_bias<ACT = gelu>(a, b, bias, c) }
    measure flops 2 * 4096 * 4096 * 4096 { gemm_residual<ACT = gelu>(a, b, bias, residual, c) }
    baseline cublas::gemm(a, b.T, c)
}
