//! Constants, and functions that are as precise as a result of 16 bits needs.

/// log₂ e: `exp(x)` is `exp2(x * LOG2E)`.
const LOG2E: f32 = 1.4426950408889634;
/// ln 2.
const LN2: f32 = 0.6931471805599453;
/// √½.
const SQRT_HALF: f32 = 0.7071067811865476;

/// 1 / x for a normal x other than 0, with a relative error below 2⁻²⁰. 0 gives NaN.
///
/// A division by the rules of IEEE 754 takes about five times as long; a result that is rounded to 16 bits does not keep the difference.
fn recip_approx(x: f32) -> f32 {
    let r = rsqrt(abs(x));
    x * (r * r) * (r * r)
}

/// a / b for a normal b other than 0, as [recip_approx] computes 1 / b.
fn div_approx(a: f32, b: f32) -> f32 { a * recip_approx(b) }

/// √x for x of at least 0, with a relative error below 2⁻²¹; 0 for 0. Numbers below 2⁻¹²⁶ count as that.
fn sqrt_approx(x: f32) -> f32 { x * rsqrt(max(x, 1.1754943508222875e-38)) }

/// 1 / (1 + exp(-x)), with a relative error below 2⁻²⁰ where the result is normal.
fn sigmoid_approx(x: f32) -> f32 {
    let r = rsqrt(1.0 + exp2(-1.4426950408889634 * x));
    r * r
}

/// x to the power of y for x of at least 0, with a relative error below 2⁻¹⁸ for results from 2⁻¹⁶ to 2¹⁶.
fn pow_approx(x: f32, y: f32) -> f32 { exp2(y * log2(x)) }

kernel approximations(x: f32[n], y: f32[n], z: mut f16[5, n]) grid [cdiv(n, 256)] threads 128 {
    let [block] = block_idx;
    let a = load(tile(x, [256])[.., block]);
    let b = load(tile(y, [256])[.., block]);
    copy(cast(div_approx(a, b), f16), tile(z[0, ..], [256])[.., block]);
    copy(cast(recip_approx(b), f16), tile(z[1, ..], [256])[.., block]);
    copy(cast(sqrt_approx(a), f16), tile(z[2, ..], [256])[.., block]);
    copy(cast(sigmoid_approx(a), f16), tile(z[3, ..], [256])[.., block]);
    copy(cast(pow_approx(a, b), f16), tile(z[4, ..], [256])[.., block]);
}

test "approximations are good to the last place of f16" {
    let x = abs(randn(f32, [3000], seed: 1));
    let y = randn(f32, [3000], seed: 2);
    let z = empty(f16, [5, 3000]);
    approximations(x, y, z);
    assert_close(z[0, ..], x / y, ulp: 1);
    assert_close(z[1, ..], 1.0 / y, ulp: 1);
    assert_close(z[2, ..], sqrt(x), ulp: 1);
    assert_close(z[3, ..], 1.0 / (1.0 + exp(-x)), ulp: 1);
    assert_close(z[4, ..], pow(x, y), ulp: 1);
}
