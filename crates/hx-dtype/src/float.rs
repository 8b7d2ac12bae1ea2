//! Binary floating-point formats as data: rounds an `f64` to a format and decodes it, bit by bit.
//!
//! This module knows the arithmetic of the formats, not which element type uses which format.

const F64_MANTISSA: u32 = 52;
const F64_BIAS: i64 = 1023;

/// A binary floating-point format: below a sign bit the bits of the exponent, of the mantissa, and unused ones. A format of scales
/// has no sign bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatFormat {
    /// The bits of the exponent.
    pub exponent: u32,
    /// The bits of the mantissa, without the implicit one.
    pub mantissa: u32,
    /// The bits below the mantissa: written as 0, and ignored when read.
    pub unused: u32,
    /// The highest exponent stands for infinity and NaNs. Without infinities the highest mantissa of this exponent is the only NaN.
    pub infinities: bool,
    /// The format has NaNs. Without them NaN becomes the largest value, as in the GPU's own conversion.
    pub nans: bool,
    /// Rounding gives the largest value instead of infinity, as in the GPU's own conversion.
    pub saturates: bool,
    /// The values are powers of two alone: no sign, no zero, no mantissa. Pattern `e` is 2^(e - bias). Rounding goes up, of the magnitude.
    pub is_scale: bool,
}

impl FloatFormat {
    pub(crate) const SINGLE: FloatFormat = FloatFormat::ieee(8, 23);
    pub(crate) const DOUBLE: FloatFormat = FloatFormat::ieee(11, 52);

    /// Returns a format of IEEE 754.
    pub(crate) const fn ieee(exponent: u32, mantissa: u32) -> FloatFormat {
        FloatFormat {
            exponent,
            mantissa,
            unused: 0,
            infinities: true,
            nans: true,
            saturates: false,
            is_scale: false,
        }
    }

    /// Returns the format of scales with this many bits.
    pub(crate) const fn scale(exponent: u32) -> FloatFormat {
        FloatFormat { infinities: false, saturates: true, is_scale: true, ..FloatFormat::ieee(exponent, 0) }
    }

    #[inline]
    const fn bias(self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Returns the mask of all bits of a pattern but its sign and the unused ones: 0 for both zeros.
    #[inline]
    pub const fn magnitude_mask(self) -> u64 {
        self.ones() << self.unused
    }

    /// Returns the pattern whose bits are all 1 but the sign, without the unused bits: the NaN of the GPU, if the format has NaNs.
    #[inline]
    const fn ones(self) -> u64 {
        (1 << (self.exponent + self.mantissa)) - 1
    }

    /// Returns infinity, without the unused bits.
    #[inline]
    const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// Returns the bits of the largest finite value.
    #[inline]
    pub(crate) const fn largest(self) -> u64 {
        let beyond = if self.infinities { self.infinity() } else { self.ones() + !self.nans as u64 };
        (beyond - 1) << self.unused
    }

    /// Returns the bits of `x`, rounded to nearest with ties to even. A magnitude above the largest value, infinity included, becomes
    /// infinity, or the largest value if the format saturates. NaN becomes the GPU's, or the largest value in a format without NaNs.
    /// A scale is rounded up instead.
    #[inline]
    pub(crate) fn encode(self, x: f64) -> u64 {
        if self == FloatFormat::SINGLE {
            return u64::from((x as f32).to_bits());
        }
        if self == FloatFormat::DOUBLE {
            return x.to_bits();
        }
        if self.is_scale {
            return self.encode_scale(x);
        }
        let sign = (x.to_bits() >> 63) << (self.exponent + self.mantissa);
        let most = if self.saturates { self.largest() >> self.unused } else { self.infinity() };
        let pattern = match self.magnitude(x) {
            Some(magnitude) => sign | magnitude.min(most),
            None if x.is_nan() => self.ones(),
            None => sign | most,
        };
        pattern << self.unused
    }

    /// Returns the exponent of the smallest power of two that is at least `|x|`, as a scale. A magnitude below the smallest scale, 0
    /// included, becomes it; one above the largest, infinity included, becomes the largest.
    #[inline]
    fn encode_scale(self, x: f64) -> u64 {
        if x.is_nan() {
            return self.ones();
        }
        let bits = x.abs().to_bits();
        let above = i64::from(bits & ((1 << F64_MANTISSA) - 1) != 0);
        // An f64 subnormal and infinity lie beyond both ends, whatever their mantissas.
        let exponent = (bits >> F64_MANTISSA) as i64 - F64_BIAS + self.bias() + above;
        exponent.clamp(0, self.largest() as i64) as u64
    }

    /// Returns the magnitude bits of finite `x` rounded to nearest even, without an upper limit. Past the largest exponent the bits
    /// continue to count, so that the caller can compare the result with the largest value. Returns `None` for infinity and NaN.
    #[inline]
    fn magnitude(self, x: f64) -> Option<u64> {
        let bits = x.to_bits() & (u64::MAX >> 1);
        let exponent = (bits >> F64_MANTISSA) as i64;
        if exponent == 0x7ff {
            return None;
        }
        let mantissa = bits & ((1 << F64_MANTISSA) - 1);
        let target = exponent - F64_BIAS + self.bias();
        if target >= 1 {
            let shift = F64_MANTISSA - self.mantissa;
            let wide = ((target as u64) << F64_MANTISSA) | mantissa;
            let odd = (wide >> shift) & 1;
            return Some((wide + ((1 << (shift - 1)) - 1) + odd) >> shift);
        }
        // The result is subnormal in the target: the implicit bit becomes explicit, and the shift grows. Beyond 53 places no bit is
        // left, not even a tie. An f64 subnormal is far below any target, so its missing implicit bit is harmless.
        let shift = i64::from(F64_MANTISSA - self.mantissa) + 1 - target;
        if shift > 53 {
            return Some(0);
        }
        let wide = mantissa | (1 << F64_MANTISSA);
        let odd = (wide >> shift) & 1;
        Some((wide + ((1u64 << (shift - 1)) - 1) + odd) >> shift)
    }

    /// Returns the value of `bits`. Bits above the format are ignored.
    #[inline]
    pub(crate) fn decode(self, bits: u64) -> f64 {
        if self == FloatFormat::DOUBLE {
            return f64::from_bits(bits);
        }
        let bits = bits >> self.unused;
        if self.is_scale {
            let exponent = bits & self.ones();
            return if exponent > self.largest() {
                f64::NAN
            } else {
                power_of_two((exponent as i64 - self.bias()) as i32)
            };
        }
        if self.exponent == FloatFormat::SINGLE.exponent {
            // The pattern is the upper part of an f32. The conversion keeps the payload of a NaN.
            return f64::from(f32::from_bits(
                (bits << (FloatFormat::SINGLE.mantissa - self.mantissa)) as u32,
            ));
        }
        let sign = ((bits >> (self.exponent + self.mantissa)) & 1) << 63;
        let magnitude = bits & self.ones();
        let (exponent, mantissa) = (magnitude >> self.mantissa, bits & ((1 << self.mantissa) - 1));
        if self.infinities && magnitude == self.infinity() {
            return f64::from_bits(f64::INFINITY.to_bits() | sign);
        }
        if magnitude > self.largest() >> self.unused {
            return f64::NAN;
        }
        if exponent == 0 {
            let unit = power_of_two((1 - self.bias()) as i32 - self.mantissa as i32);
            return f64::from_bits((mantissa as f64 * unit).to_bits() | sign);
        }
        let wide = exponent + (F64_BIAS - self.bias()) as u64;
        f64::from_bits(sign | (wide << F64_MANTISSA) | (mantissa << (F64_MANTISSA - self.mantissa)))
    }

    /// Returns the spacing of the values at magnitude `|x|`: that of subnormals below the smallest normal value, and that of the
    /// topmost binade beyond the largest one.
    pub(crate) fn spacing(self, x: f64) -> f64 {
        if x.is_nan() {
            return f64::NAN;
        }
        let exponent = ((x.to_bits() >> F64_MANTISSA) & 0x7ff) as i64 - F64_BIAS;
        let highest = (self.largest() >> self.unused >> self.mantissa) as i64 - self.bias();
        let lowest = i64::from(!self.is_scale) - self.bias();
        power_of_two((exponent.clamp(lowest, highest) - i64::from(self.mantissa)) as i32)
    }
}

/// Returns 2 to the power `e`, for any exponent of an `f64`, subnormals included.
#[inline]
fn power_of_two(e: i32) -> f64 {
    if e >= -1022 {
        f64::from_bits(((e + 1023) as u64) << F64_MANTISSA)
    } else {
        f64::from_bits(1u64 << (e + 1074).max(0))
    }
}
