//! Activation functions, for the compile-time parameters of kernels: `gemm<EPILOGUE = gelu>(a, b, c)`.

use std::math::{SQRT_HALF, sigmoid_approx};

/// x.
fn identity(x: f32) -> f32 { x }

/// max(x, 0).
fn relu(x: f32) -> f32 { max(x, 0.0) }

/// x · Φ(x), with the error function.
fn gelu(x: f32) -> f32 { x * 0.5 * (1.0 + erf(x * SQRT_HALF)) }

/// x · Φ(x), with the approximation of Φ by tanh.
fn gelu_tanh(x: f32) -> f32 {
    x * 0.5 * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
}

/// `gelu_tanh` for results of 16 bits, by [sigmoid_approx]: (1 + tanh(y)) / 2 is sigmoid(2 · y), which has no branches.
fn gelu_tanh_approx(x: f32) -> f32 {
    x * sigmoid_approx(1.5957691216057308 * x * (1.0 + 0.044715 * x * x))
}

/// x · sigmoid(x).
fn silu(x: f32) -> f32 { x * sigmoid(x) }

/// `silu` for results of 16 bits, by [sigmoid_approx].
fn silu_approx(x: f32) -> f32 { x * sigmoid_approx(x) }

/// y = F(x).
kernel activate<B = 2048, F: fn = relu, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let v = cast(load(tile(x, [B])[.., block]), f32);
    copy(cast(F(v), T), tile(y, [B])[.., block]);
}

test "activations" for T in [f16, f32] {
    let x = randn(T, [5000], seed: 1);
    let y = empty(T, [5000]);
    // The work is done in f32, whose functions are good for a few units in its own last place.
    let ulp = if T == f32 { 8 } else { 1 };
    activate<F = identity>(x, y);
    assert_eq(y, x);
    activate(x, y);
    assert_eq(y, max(x, 0.0));
    activate<F = gelu>(x, y);
    assert_close(y, x * 0.5 * (1.0 + erf(x * 0.7071067811865476)), ulp: ulp);
    activate<F = gelu_tanh>(x, y);
    assert_close(y, x * 0.5 * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))), ulp: ulp);
    activate<F = silu>(x, y);
    assert_close(y, x / (1.0 + exp(-x)), ulp: ulp);
}

test "activations of 16 bits" for T in [f16, bf16] {
    let x = uniform(T, [5000], low: -6, high: 6, seed: 2);
    let y = empty(T, [5000]);
    activate<F = gelu_tanh_approx>(x, y);
    assert_close(y, x * 0.5 * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))), ulp: 1);
    activate<F = silu_approx>(x, y);
    assert_close(y, x / (1.0 + exp(-x)), ulp: 1);
}

bench "activations 2²⁷" {
    let x = randn(f16, [134217728]);
    let y = empty(f16, [134217728]);
    measure bytes 2 * 2 * 134217728 { activate(x, y) }
    measure bytes 2 * 2 * 134217728 { activate<F = gelu>(x, y) }
    measure bytes 2 * 2 * 134217728 { activate<F = gelu_tanh>(x, y) }
    measure bytes 2 * 2 * 134217728 { activate<F = gelu_tanh_approx>(x, y) }
    measure bytes 2 * 2 * 134217728 { activate<F = silu>(x, y) }
}
