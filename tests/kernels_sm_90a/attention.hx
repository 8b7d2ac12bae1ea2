//! Two products of which the first one's result is the second one's operand: it stays in registers, because its layout is that of
//! the operand, and the other operand is read across its rows.

use std::math::LOG2E;

/// o = softmax(scale · q·kᵀ) · v, one head: 64 queries a block. One product after the other.
kernel weigh<BN = 64, D = 64, T: type = f16>(q: T[s, D], k: T[t, D], v: T[t, D], o: mut T[s, D], scale: f32)
    grid [cdiv(s, 64)]
    threads 128
{
    let (gk, gv) = (tile(k, [BN, D])[.., .., .., 0], tile(v, [BN, D])[.., .., .., 0]);
    let (sq, sk, sv) = (shared_tensor(T, [64, D]), shared_tensor(T, [BN, D]), shared_tensor(T, [BN, D]));
    let (acc, x, p) = (
        register_tensor(f32, [64, D]),
        register_tensor(f32, [64, BN]),
        register_tensor(T, [64, BN]),
    );
    let (top, total) = (register_tensor(f32, [64, 1]), register_tensor(f32, [64, 1]));
    let factor = scale * LOG2E;
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(total, 0.0);
    copy_async(tile(q, [64, D])[.., .., block_idx, 0], sq);
    commit();
    for j in 0..cdiv(t, BN) {
        sync();
        copy_async(gk[.., .., j], sk);
        copy_async(gv[.., .., j], sv);
        commit();
        wait(0);
        sync();
        fill(x, 0.0);
        gemm_async(x, sq, sk);
        gemm_wait(0);
        x = where(index(x, 1) + j * BN < t, x, -inf);
        let higher = max(top, max(x, axis: 1));
        let fade = exp2((top - higher) * factor);
        x = exp2(x * factor - higher * factor);
        total = total * fade + sum(x, axis: 1);
        top = higher;
        acc = acc * fade;
        p = cast(x, T);
        gemm_async(acc, p, sv.T);
        gemm_wait(0);
    }
    copy(cast(acc * (1.0 / total), T), tile(o, [64, D])[.., .., block_idx, 0]);
}

/// Turns scores into weights, and carries the maximum and the sum of each row.
fn soften<M = 64, N = 64>(
    x: register mut f32[M, N],
    top: register mut f32[M, 1],
    total: register mut f32[M, 1],
    fade: register mut f32[M, 1],
    factor: f32,
) {
    let higher = max(top, max(x, axis: 1));
    fade = exp2((top - higher) * factor);
    x = exp2(x * factor - higher * factor);
    total = total * fade + sum(x, axis: 1);
    top = higher;
}

/// As `weigh`, with the scores of the next keys under way while the values are multiplied.
kernel weigh_ahead<BN = 64, D = 64, T: type = f16>(
    q: T[s, D],
    k: T[t, D],
    v: T[t, D],
    o: mut T[s, D],
    scale: f32,
)
    grid [cdiv(s, 64)]
    threads 128
{
    let (gk, gv) = (tile(k, [BN, D])[.., .., .., 0], tile(v, [BN, D])[.., .., .., 0]);
    let (sq, sk, sv) = (shared_tensor(T, [64, D]), shared_tensor(T, [BN, D]), shared_tensor(T, [BN, D]));
    let (acc, x, p) = (
        register_tensor(f32, [64, D]),
        register_tensor(f32, [64, BN]),
        register_tensor(T, [64, BN]),
    );
    let (top, total, fade) = (
        register_tensor(f32, [64, 1]),
        register_tensor(f32, [64, 1]),
        register_tensor(f32, [64, 1]),
    );
    let (n, factor) = (cdiv(t, BN), scale * LOG2E);
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(total, 0.0);
    copy_async(tile(q, [64, D])[.., .., block_idx, 0], sq);
    copy_async(gk[.., .., 0], sk);
    commit();
    wait(0);
    sync();
    fill(x, 0.0);
    gemm_async(x, sq, sk);
    gemm_wait(0);
    x = where(index(x, 1) < t, x, -inf);
    soften<N = BN>(x, top, total, fade, factor);
    p = cast(x, T);
    for j in 1..n {
        sync();
        copy_async(gk[.., .., j], sk);
        copy_async(gv[.., .., j - 1], sv);
        commit();
        wait(0);
        sync();
        fill(x, 0.0);
        gemm_async(x, sq, sk);
        gemm_async(acc, p, sv.T);
        gemm_wait(1);
        x = where(index(x, 1) + j * BN < t, x, -inf);
        soften<N = BN>(x, top, total, fade, factor);
        gemm_wait(0);
        acc = acc * fade;
        p = cast(x, T);
    }
    sync();
    copy_async(gv[.., .., n - 1], sv);
    commit();
    wait(0);
    sync();
    gemm_async(acc, p, sv.T);
    gemm_wait(0);
    copy(cast(acc * (1.0 / total), T), tile(o, [64, D])[.., .., block_idx, 0]);
}

test "weights stay in registers" for (s, t, ahead) in [
    (64, 64, false),
    (100, 150, false),
    (64, 64, true),
    (100, 250, true),
] {
    let q = randn(f16, [s, 64], seed: 1);
    let k = randn(f16, [t, 64], seed: 2);
    let v = randn(f16, [t, 64], seed: 3);
    let o = empty(f16, [s, 64]);
    if ahead {
        weigh_ahead(q, k, v, o, 0.125);
    } else {
        weigh(q, k, v, o, 0.125);
    }
    assert(conflicts() == 0 && redistributions() == 0 && spills() == 0);
    assert_close(o, softmax(q @ k.T * 0.125, axis: 1) @ v, rtol: 5e-3, atol: 2e-3);
}
