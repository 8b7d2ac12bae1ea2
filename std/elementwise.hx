//! Elementwise operators on tensors of any size, as one dimension.

use std::math::SQRT_HALF;

/// x · sigmoid(x) of one number.
fn sigmoid_weighted(x: f32) -> f32 { x * sigmoid(x) }

/// z = x + y.
kernel add<B = 2048, T: type = f16>(x: T[n], y: T[n], z: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    copy(load(tile(x, [B])[.., block]) + load(tile(y, [B])[.., block]), tile(z, [B])[.., block]);
}

/// y = max(x, 0).
kernel relu<B = 2048, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let v = cast(load(tile(x, [B])[.., block]), f32);
    copy(cast(max(v, 0.0), T), tile(y, [B])[.., block]);
}

/// y = x · Φ(x), with the error function.
kernel gelu<B = 2048, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let v = cast(load(tile(x, [B])[.., block]), f32);
    copy(cast(v * 0.5 * (1.0 + erf(v * SQRT_HALF)), T), tile(y, [B])[.., block]);
}

/// y = x · sigmoid(x).
kernel silu<B = 2048, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let v = cast(load(tile(x, [B])[.., block]), f32);
    #[accept("slow-arithmetic", "T may be f32, and in f16 it is as fast as a copy on an H100")]
    copy(cast(sigmoid_weighted(v), T), tile(y, [B])[.., block]);
}

test "elementwise" for n in [2048, 5000, 4097, 31] {
    for T in [f16, bf16, f32] {
        let x = randn(T, [n], seed: 1);
        let y = randn(T, [n], seed: 2);
        let z = empty(T, [n]);
        add(x, y, z);
        assert_close(z, x + y, ulp: 1);
        relu(x, z);
        assert_eq(z, max(x, 0.0));
        // The work is done in f32, whose functions are good for a few units in its own last place.
        let ulp = if T == f32 { 8 } else { 1 };
        silu(x, z);
        assert_close(z, x / (1.0 + exp(-x)), ulp: ulp);
        gelu(x, z);
        assert_close(z, x * 0.5 * (1.0 + erf(x * 0.7071067811865476)), ulp: 2 * ulp);
    }
}

test "elementwise kernels move 16 bytes at a time" {
    let x = randn(f16, [5008], seed: 1);
    let z = empty(f16, [5008]);
    add(x, x, z);
    assert(bytes_per_access("x") == 16 && bytes_per_access("z") == 16);
    assert(spills() == 0);
    silu(x, z);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
}

bench "elementwise 2²⁷" {
    let x = randn(f16, [134217728]);
    let y = randn(f16, [134217728]);
    let z = empty(f16, [134217728]);
    measure bytes 3 * 2 * 134217728 { add(x, y, z) }
    measure bytes 2 * 2 * 134217728 { relu(x, z) }
    measure bytes 2 * 2 * 134217728 { gelu(x, z) }
    measure bytes 2 * 2 * 134217728 { silu(x, z) }
}
