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
    /// - `f4e2m1`: saturating at 6. NaN, which the type lacks, becomes 6 too.
    /// - `f8e8m0`: the magnitude, rounded up to a power of two and saturating at 2^127. 0 becomes 2^-127; NaN becomes `0xff`.
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

    /// Returns the pattern of all ones if it is a NaN that no conversion gives, so that it can mark memory never written. `None` for
    /// types that are no floats, and for floats in which every pattern is the result of a conversion.
    #[inline]
    pub fn spare_nan(self) -> Option<u64> {
        let format = self.float()?;
        (format.nans && !format.is_scale).then(|| self.mask())
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

    /// Returns the lowest finite value of this type: 0 for unsigned integers and `bool`, 2^-127 for `f8e8m0`.
    pub fn min_value(self) -> f64 {
        match self.values() {
            Values::Float(format) if format.is_scale => self.decode(0),
            Values::Float(_) => -self.max_value(),
            Values::Truth | Values::Unsigned => 0.0,
            Values::Signed => -((1u64 << (self.bits() - 1)) as f64),
        }
    }

    /// Reports whether a number of the source can stand for a value of this type. A float type accepts every number except a
    /// finite one that rounds beyond the largest value. A type of scales accepts NaN and the positive numbers up to its largest one.
    /// A type without NaN does not accept NaN. An integer type accepts whole numbers in its range.
    pub fn holds(self, x: f64) -> bool {
        if self.is_scale() {
            return x.is_nan() || x > 0.0 && x <= self.max_value();
        }
        if x.is_nan() && self.is_float() {
            return self.decode(self.encode(x)).is_nan();
        }
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
        for dtype in [DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2, DType::F4E2m1, DType::F8E8m0] {
            for bits in 0..=dtype.mask() {
                let x = dtype.decode(bits);
                // Decoding yields infinities of the saturating formats, but encoding never makes them.
                if x.is_finite() {
                    assert_eq!(dtype.encode(x), bits, "{dtype} {bits:#x} = {x}");
                }
            }
        }
    }

    /// The values of OCP Microscaling Formats 1.0, table 5.
    #[test]
    fn every_f4e2m1_is_that_of_the_standard() {
        let magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for (bits, magnitude) in (0u64..).zip(magnitudes) {
            for (bits, value) in [(bits, magnitude), (bits | 8, -magnitude)] {
                assert_eq!(DType::F4E2m1.decode(bits).to_bits(), f64::to_bits(value), "{bits:#x}");
                assert_eq!(DType::F4E2m1.encode(value), bits, "{value}");
            }
        }
        // A tie goes to the pattern whose last bit is 0.
        for (bits, pair) in (0u64..).zip(magnitudes.windows(2)) {
            let tie = (pair[0] + pair[1]) / 2.0;
            let check = |x: f64, want: u64| {
                assert_eq!((DType::F4E2m1.encode(x), DType::F4E2m1.encode(-x)), (want, want | 8), "{x}");
            };
            check(tie, bits + bits % 2);
            check(tie.next_down(), bits);
            check(tie.next_up(), bits + 1);
        }
        for x in [6.5, 7.0, 1e300, f64::INFINITY] {
            assert_eq!((DType::F4E2m1.encode(x), DType::F4E2m1.encode(-x)), (7, 15));
        }
        assert_eq!((DType::F4E2m1.encode(f64::NAN), DType::F4E2m1.encode(-f64::NAN)), (7, 7));
        assert_eq!(DType::F4E2m1.encode(f64::from_bits(1)), 0);
        assert_eq!(DType::F4E2m1.spare_nan(), None);
    }

    /// OCP Microscaling Formats 1.0, table 7, with rounding up and saturation as in the constructors of CUDA's `__nv_fp8_e8m0`.
    #[test]
    fn every_f8e8m0_is_that_of_the_standard() {
        let of = |x: f64| DType::F8E8m0.encode(x);
        for bits in 0..=254u64 {
            let value = 2f64.powi(bits as i32 - 127);
            assert_eq!(DType::F8E8m0.decode(bits), value, "{bits}");
            assert_eq!((of(value), of(-value)), (bits, bits));
            let above = (bits + 1).min(254);
            assert_eq!([of(value.next_up()), of(value * 1.5), of(-value * 1.999)], [above; 3], "{value}");
        }
        assert!(DType::F8E8m0.decode(255).is_nan());
        assert_eq!([of(0.0), of(-0.0), of(1e-300), of(f64::from_bits(1))], [0; 4]);
        assert_eq!([of(f64::INFINITY), of(f64::NEG_INFINITY), of(f64::MAX)], [254; 3]);
        assert_eq!(of(f64::NAN), 255);
        assert_eq!(DType::F8E8m0.spare_nan(), None);
    }

    #[test]
    fn scales_hold_positive_numbers_and_nan() {
        let holds = |x: f64| DType::F8E8m0.holds(x);
        assert!(holds(1.0) && holds(0.3) && holds(f64::NAN) && holds(2f64.powi(127)));
        assert!(!holds(0.0) && !holds(-1.0) && !holds(f64::INFINITY) && !holds(2f64.powi(127) * 1.1));
        assert!(DType::F4E2m1.holds(6.4) && !DType::F4E2m1.holds(7.0) && !DType::F4E2m1.holds(f64::NAN));
        assert!(
            DType::F4E2m1.holds(f64::INFINITY) && DType::F16.holds(f64::NAN) && !DType::I8.holds(f64::NAN)
        );
    }

    /// The mark of memory never written is a NaN, and no number becomes it.
    #[test]
    fn spare_nans_are_nans_that_encoding_does_not_give() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.bits() < 64) {
            let is_spare = dtype.is_float()
                && dtype.decode(dtype.mask()).is_nan()
                && dtype.encode(f64::NAN) != dtype.mask();
            assert_eq!(dtype.spare_nan().is_some(), is_spare, "{dtype}");
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
        for dtype in [DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2, DType::F4E2m1, DType::F8E8m0] {
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
