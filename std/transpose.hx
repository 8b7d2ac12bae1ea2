//! Transposition through shared memory.

/// y = xᵀ. A block reads and writes whole lines of a `BM` × `BN` tile.
///
/// ```hx
/// let x = randn(f16, [128, 192]);
/// let y = empty(f16, [192, 128]);
/// transpose(x, y);
/// assert_eq(y, x.T);
/// ```
kernel transpose<BM = 64, BN = 64, T: type = f16>(x: T[m, n], y: mut T[n, m])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 256
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy(tile(x, [BM, BN])[.., .., bm, bn], s);
    sync();
    copy(s.T, tile(y, [BN, BM])[.., .., bn, bm]);
}

test "transpose" for (m, n) in [(64, 64), (128, 192), (100, 72), (77, 33)] {
    for T in [f16, bf16, f32, f64, i32, u8] {
        let x = cast(64.0 * randn(f64, [m, n], seed: 1), T);
        let y = empty(T, [n, m]);
        transpose(x, y);
        assert_eq(y, x.T);
        let z = empty(T, [n, m]);
        transpose<BM = 32, BN = 32>(x, z);
        assert_eq(z, x.T);
    }
}

test "transpose moves 16 bytes at a time" {
    let x = randn(f16, [192, 128], seed: 1);
    let y = empty(f16, [128, 192]);
    transpose(x, y);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    // Matrices turn on their way through shared memory: half as many wavefronts again, and an eighth of the instructions for single
    // elements. Before sm_90 they turn when they are read, because no instruction writes matrices.
    assert(bytes_per_access("s") == 16);
    assert(uses(if supports("stmatrix") { "stmatrix.x4.trans" } else { "ldmatrix.x4.trans" }));
    assert(spills() == 0);
}

bench "transpose 8192 × 8192" {
    let x = randn(f16, [8192, 8192]);
    let y = empty(f16, [8192, 8192]);
    measure bytes 2 * 2 * 8192 * 8192 { transpose(x, y) }
}
