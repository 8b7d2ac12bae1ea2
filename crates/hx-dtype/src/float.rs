//! Rounds an `f64` to a smaller binary floating-point format and decodes it, bit by bit.
//!
//! Each format has `E` exponent bits and `M` mantissa bits below a sign bit. This module knows the arithmetic of the formats, not
//! which element type uses which format.

const F64_MANTISSA: u32 = 52;

/// Returns the bias of a format with `e` exponent bits.
#[inline]
const fn bias(e: u32) -> i64 {
    (1 << (e - 1)) - 1
}

/// Returns the magnitude bits of finite `x` rounded to nearest even, without an upper limit. Past the largest exponent the bits
/// continue to count, so that the caller can compare the result with the largest value of its format. Returns `None` for infinity
/// and NaN.
#[inline]
fn magnitude<const E: u32, const M: u32>(x: f64) -> Option<u64> {
    let bits = x.to_bits() & (u64::MAX >> 1);
    let exponent = (bits >> F64_MANTISSA) as i64;
    if exponent == 0x7ff {
        return None;
    }
    let mantissa = bits & ((1 << F64_MANTISSA) - 1);
    let target = exponent - bias(11) + bias(E);
    if target >= 1 {
        let shift = F64_MANTISSA - M;
        let wide = ((target as u64) << F64_MANTISSA) | mantissa;
        let odd = (wide >> shift) & 1;
        return Some((wide + ((1 << (shift - 1)) - 1) + odd) >> shift);
    }
    // The result is subnormal in the target: the implicit bit becomes explicit, and the shift grows. Beyond 53 places no bit is
    // left, not even a tie. An f64 subnormal is far below any target, so its missing implicit bit is harmless.
    let shift = i64::from(F64_MANTISSA - M) + 1 - target;
    if shift > 53 {
        return Some(0);
    }
    let wide = mantissa | (1 << F64_MANTISSA);
    let odd = (wide >> shift) & 1;
    Some((wide + ((1u64 << (shift - 1)) - 1) + odd) >> shift)
}

/// Encodes `x` in an IEEE-like format. Overflow and infinity become infinity; NaN becomes the GPU's canonical NaN, which is
/// positive with all mantissa bits set.
#[inline]
pub(crate) fn encode_ieee<const E: u32, const M: u32>(x: f64) -> u64 {
    let infinity = ((1u64 << E) - 1) << M;
    let sign = (x.to_bits() >> 63) << (E + M);
    match magnitude::<E, M>(x) {
        Some(m) => sign | m.min(infinity),
        None if x.is_nan() => infinity | ((1 << M) - 1),
        None => sign | infinity,
    }
}

/// Encodes `x` in a format whose conversion saturates. A value above `largest`, infinity included, becomes `largest` with its
/// sign, and NaN becomes the positive `nan`.
#[inline]
pub(crate) fn encode_saturating<const E: u32, const M: u32>(x: f64, largest: u64, nan: u64) -> u64 {
    let sign = (x.to_bits() >> 63) << (E + M);
    match magnitude::<E, M>(x) {
        Some(m) => sign | m.min(largest),
        None if x.is_nan() => nan,
        None => sign | largest,
    }
}

/// Decodes `bits` in an IEEE-like format.
#[inline]
pub(crate) fn decode_ieee<const E: u32, const M: u32>(bits: u64) -> f64 {
    let exponent = (bits >> M) & ((1 << E) - 1);
    if exponent == (1 << E) - 1 {
        let mantissa = bits & ((1 << M) - 1);
        let sign = if (bits >> (E + M)) & 1 == 1 { -1.0 } else { 1.0 };
        return if mantissa == 0 { sign * f64::INFINITY } else { f64::NAN };
    }
    decode_finite::<E, M>(bits)
}

/// Decodes `bits` in a format without infinities, whose exponents are all ordinary.
#[inline]
pub(crate) fn decode_finite<const E: u32, const M: u32>(bits: u64) -> f64 {
    let sign = ((bits >> (E + M)) & 1) << 63;
    let exponent = (bits >> M) & ((1 << E) - 1);
    let mantissa = bits & ((1 << M) - 1);
    if exponent == 0 {
        let unit = f64::from_bits(((1 - bias(E) - i64::from(M) + bias(11)) as u64) << F64_MANTISSA);
        return f64::from_bits((mantissa as f64 * unit).to_bits() | sign);
    }
    let wide = exponent + (bias(11) - bias(E)) as u64;
    f64::from_bits(sign | (wide << F64_MANTISSA) | (mantissa << (F64_MANTISSA - M)))
}

/// Returns the spacing of a format's values at magnitude `x`. The format has `m` mantissa bits, and its normal values have
/// exponents from `min` to `max`.
pub(crate) fn spacing(x: f64, m: i32, min: i32, max: i32) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let exponent = ((x.to_bits() >> F64_MANTISSA) & 0x7ff) as i32 - 1023;
    power_of_two(exponent.clamp(min, max) - m)
}

/// Returns 2 to the power `e`, for any exponent of an `f64`, subnormals included.
fn power_of_two(e: i32) -> f64 {
    if e >= -1022 {
        f64::from_bits(((e + 1023) as u64) << F64_MANTISSA)
    } else {
        f64::from_bits(1u64 << (e + 1074).max(0))
    }
}
