//! The approximate functions of `std::math`: good to the last place of a type of 16 bits.

use std::math::div_approx;
use std::math::pow_approx;
use std::math::recip_approx;
use std::math::sigmoid_approx;

kernel approximations(x: f32[n], y: f32[n], z: mut f16[4, n])
    grid [cdiv(n, 256)]
    threads 128
{
    let [block] = block_idx;
    let a = load(tile(x, [256])[.., block]);
    let b = load(tile(y, [256])[.., block]);
    copy(cast(div_approx(a, b), f16), tile(z[0, ..], [256])[.., block]);
    copy(cast(recip_approx(b), f16), tile(z[1, ..], [256])[.., block]);
    copy(cast(sigmoid_approx(a), f16), tile(z[2, ..], [256])[.., block]);
    copy(cast(pow_approx(a, b), f16), tile(z[3, ..], [256])[.., block]);
}

test "approximations are good to the last place of f16" for (low, high) in [(0.1, 2.0), (-2.0, -0.1)] {
    let x = uniform(f32, [3000], seed: 1, low: 0.01, high: 4.0);
    let y = uniform(f32, [3000], seed: 2, low: low, high: high);
    let z = empty(f16, [4, 3000]);
    approximations(x, y, z);
    assert_close(z[0, ..], x / y, ulp: 1);
    assert_close(z[1, ..], 1.0 / y, ulp: 1);
    assert_close(z[2, ..], 1.0 / (1.0 + exp(-x)), ulp: 1);
    assert_close(z[3, ..], pow(x, y), ulp: 1);
}
