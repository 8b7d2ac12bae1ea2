//! Converts values of element types: rounding, exact decoding, spacing.
//!
//! This module knows single numbers, not buffers.

use crate::DType;
use crate::dtype::Values;

impl DType {
    /// Returns the bits of `x` in this type, rounded to nearest with ties to even.
    ///
    /// - `f16`, `bf16`, `tf32`, `f32`: overflow gives infinity; `tf32` keeps its low 13 bits zero.
    /// - `f8e4m3`, `f8e5m2`: saturating, as in the GPU's own conversion. Magnitudes above 448 and 57344, infinity included,
    ///   become 448 and 57344 with their sign; NaN becomes `0x7f`.
    /// - Integers: rounded, then saturated to the type's range; NaN becomes 0.
    /// - `bool`: 0 for 0, else 1.
    #[inline]
    pub fn encode(self, x: f64) -> u64 {
        match self.values() {
            Values::Float(format) => format.encode(x),
            Values::Truth => u64::from(x != 0.0),
            Values::Unsigned => (x.round_ties_even() as u64).min(self.mask()),
            Values::Signed => {
                let top = (self.mask() >> 1) as i64;
                ((x.round_ties_even() as i64).clamp(-top - 1, top) as u64) & self.mask()
            }
        }
    }

    /// Returns the value of `bits` in this type. Bits above [`DType::bits`] are ignored.
    ///
    /// The result is exact for every type but `i64` and `u64`, whose values beyond 2^53 are rounded to the nearest `f64`.
    /// `tf32` ignores its low 13 bits, as the hardware does. Any nonzero `bool` is 1.
    #[inline]
    pub fn decode(self, bits: u64) -> f64 {
        match self.values() {
            Values::Float(format) => format.decode(bits),
            Values::Truth => f64::from(u8::from(bits & 0xff != 0)),
            Values::Unsigned => (bits & self.mask()) as f64,
            Values::Signed => self.sign_extend(bits) as f64,
        }
    }

    /// Returns the bits as a two's complement integer of this type's width.
    #[inline]
    pub fn sign_extend(self, bits: u64) -> i64 {
        let unused = 64 - self.bits();
        ((bits << unused) as i64) >> unused
    }

    /// Rounds `x` to this type and back: `decode(encode(x))`.
    #[inline]
    pub fn round(self, x: f64) -> f64 {
        self.decode(self.encode(x))
    }

    /// Returns the distance between neighbouring values of this type at magnitude `|x|`.
    ///
    /// Below the smallest normal value, 0 included, it is the subnormal spacing; beyond the largest finite value, infinity
    /// included, it is the spacing of the topmost binade. At a power of two it is the spacing above it. Returns 1 for integers
    /// and `bool`, and NaN for a NaN.
    pub fn ulp(self, x: f64) -> f64 {
        match self.values() {
            Values::Float(format) => format.spacing(x),
            Values::Truth | Values::Unsigned | Values::Signed if x.is_nan() => f64::NAN,
            Values::Truth | Values::Unsigned | Values::Signed => 1.0,
        }
    }

    /// Returns the largest finite value of this type, rounded to an `f64` if it has more than 53 bits.
    pub fn max_value(self) -> f64 {
        match self.values() {
            Values::Float(format) => format.decode(format.largest()),
            Values::Truth => 1.0,
            Values::Unsigned => self.mask() as f64,
            Values::Signed => (self.mask() >> 1) as f64,
        }
    }

    /// Returns the most negative finite value of this type: 0 for unsigned types and `bool`.
    pub fn min_value(self) -> f64 {
        match self.values() {
            Values::Float(_) => -self.max_value(),
            Values::Truth | Values::Unsigned => 0.0,
            Values::Signed => -((1u64 << (self.bits() - 1)) as f64),
        }
    }

    /// Reports whether a number of the source can stand for a value of this type. A float type accepts every number except a
    /// finite one that rounds beyond the largest value. An integer type accepts whole numbers in its range.
    pub fn holds(self, x: f64) -> bool {
        if self.is_float() {
            let largest = self.max_value();
            return !x.is_finite() || x.abs() < largest + self.ulp(largest) / 2.0;
        }
        x.fract() == 0.0 && (self.min_value()..=self.max_value()).contains(&x)
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_beyond_the_largest_are_not_held() {
        let held = |dtype: DType, x: f64| dtype.holds(x) && dtype.holds(-x);
        assert!(held(DType::F16, 65519.9) && !held(DType::F16, 65520.0));
        assert!(held(DType::Bf16, 3e38) && !held(DType::Bf16, 3.4e38));
        assert!(held(DType::F32, 3.4028235677e38) && !held(DType::F32, 1e39));
        assert!(held(DType::F8E4m3, 460.0) && !held(DType::F8E4m3, 500.0));
        assert!(
            held(DType::F64, f64::MAX) && held(DType::F8E5m2, f64::INFINITY) && DType::F16.holds(f64::NAN)
        );
        assert!(DType::U8.holds(255.0) && !DType::U8.holds(256.0) && !DType::U8.holds(-1.0));
        assert!(DType::I8.holds(-128.0) && !DType::I32.holds(0.5) && !DType::I32.holds(f64::INFINITY));
    }

    #[test]
    fn every_small_float_round_trips() {
        for dtype in [DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2] {
            for bits in 0..=dtype.mask() {
                let x = dtype.decode(bits);
                // Decoding yields infinities of the saturating formats, but encoding never makes them.
                if x.is_finite() {
                    assert_eq!(dtype.encode(x), bits, "{dtype} {bits:#x} = {x}");
                }
            }
        }
    }

    #[test]
    fn halves_agree_with_the_half_crate() {
        for bits in 0..=u16::MAX {
            let ours = DType::F16.decode(u64::from(bits));
            let theirs = f16::from_bits(bits).to_f64();
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
            let ours = DType::Bf16.decode(u64::from(bits));
            let theirs = bf16::from_bits(bits).to_f64();
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn ties_go_to_even_and_overflow_is_as_documented() {
        let check = |dtype: DType, x: f64, want: f64| assert_eq!(dtype.round(x), want, "{dtype} {x}");
        check(DType::F16, 2049.0, 2048.0);
        check(DType::F16, 2051.0, 2052.0);
        check(DType::F16, 65519.9, 65504.0);
        check(DType::F16, 65520.0, f64::INFINITY);
        check(DType::F16, -1e300, f64::NEG_INFINITY);
        check(DType::F16, 2f64.powi(-25), 0.0);
        check(DType::F16, 2f64.powi(-25) * 1.0001, 2f64.powi(-24));
        check(DType::F16, 1.5 * 2f64.powi(-24), 2f64.powi(-23));
        check(DType::Bf16, 257.0, 256.0);
        check(DType::Tf32, 1.0 + 2f64.powi(-11), 1.0);
        check(DType::F8E4m3, 1e9, 448.0);
        check(DType::F8E4m3, f64::NEG_INFINITY, -448.0);
        check(DType::F8E4m3, 2f64.powi(-10), 0.0);
        check(DType::F8E5m2, f64::INFINITY, 57344.0);
        check(DType::I8, 2.5, 2.0);
        check(DType::I8, -128.7, -128.0);
        check(DType::I8, f64::NAN, 0.0);
        check(DType::U4, 99.0, 15.0);
        check(DType::U4, -1.0, 0.0);
        check(DType::I1, 5.0, 0.0);
        check(DType::I1, -5.0, -1.0);
        check(DType::U64, 1e30, u64::MAX as f64);
        check(DType::I64, -1e30, i64::MIN as f64);
        check(DType::Bool, -0.25, 1.0);
        assert!(DType::F16.round(f64::NAN).is_nan());
        assert_eq!(DType::F16.encode(-0.0), 0x8000);
        assert_eq!(DType::F8E4m3.encode(f64::NAN), 0x7f);
    }

    #[test]
    fn spacing_is_the_distance_to_the_next_value() {
        for dtype in [DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2] {
            let top = dtype.encode(dtype.max_value());
            for bits in 0..top {
                let (x, next) = (dtype.decode(bits), dtype.decode(bits + 1));
                assert_eq!(dtype.ulp(x), next - x, "{dtype} {x}");
                assert_eq!(dtype.ulp(-x), next - x);
            }
            assert_eq!(dtype.ulp(f64::INFINITY), dtype.ulp(dtype.max_value()));
        }
        assert_eq!(DType::F64.ulp(0.0), f64::from_bits(1));
        assert_eq!(DType::F64.ulp(1.0), f64::EPSILON);
        assert_eq!(DType::F32.ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(DType::I32.ulp(1e6), 1.0);
    }

    #[test]
    fn ranges() {
        assert_eq!(DType::I4.min_value(), -8.0);
        assert_eq!(DType::I4.max_value(), 7.0);
        assert_eq!(DType::U2.max_value(), 3.0);
        assert_eq!(DType::I64.min_value(), i64::MIN as f64);
        for dtype in DType::ALL {
            assert_eq!(dtype.round(dtype.max_value()), dtype.max_value(), "{dtype}");
            assert_eq!(dtype.round(dtype.min_value()), dtype.min_value(), "{dtype}");
        }
    }

    proptest! {
        #[test]
        fn encoding_agrees_with_the_half_crate(x in prop_oneof![any::<f64>(), -70000.0..70000.0, -1e-4..1e-4]) {
            prop_assume!(!x.is_nan());
            // The crate ignores the last 32 bits of the significand. One bit that stands for them keeps its rounding correct.
            let bits = x.to_bits();
            let kept = f64::from_bits(bits >> 32 << 32 | u64::from(bits as u32 != 0) << 32);
            prop_assert_eq!(DType::F16.encode(x), u64::from(f16::from_f64(kept).to_bits()));
            prop_assert_eq!(DType::Bf16.encode(x), u64::from(bf16::from_f64(kept).to_bits()));
        }

        #[test]
        fn halves_of_neighbours_of_ties_agree_with_the_half_crate(high in any::<u32>(), low in 0u32..4) {
            let x = f64::from_bits(u64::from(high & !0xffff | 0x1000 & high) << 32 | u64::from(low));
            prop_assume!(x.is_finite());
            let kept = f64::from_bits(x.to_bits() >> 32 << 32 | u64::from(low != 0) << 32);
            prop_assert_eq!(DType::F16.encode(x), u64::from(f16::from_f64(kept).to_bits()));
            prop_assert_eq!(DType::Bf16.encode(x), u64::from(bf16::from_f64(kept).to_bits()));
        }

        #[test]
        fn rounding_picks_the_nearest(x in -500.0..500.0) {
            for dtype in [DType::F16, DType::Bf16, DType::Tf32, DType::F8E5m2] {
                prop_assert!((dtype.round(x) - x).abs() <= dtype.ulp(x) / 2.0);
            }
        }
    }
}
