//! Converts single elements. Floats round to nearest even. A conversion to an integer truncates toward zero and saturates to the
//! range of its type (NaN becomes 0). Integers wrap. A `bool` is true for every value but 0.

use hx_dtype::{Class, DType};

/// Reports whether these bits are the fill of memory never written: a NaN that no computation produces. Never, for a type without one.
pub(crate) fn is_fill(dtype: DType, bits: u64) -> bool {
    dtype.spare_nan() == Some(bits)
}

/// Converts the value of each thread.
pub(crate) fn cast(from: DType, to: DType, out: &mut [u64], x: &[u64]) {
    // The fill of memory never written becomes the fill of the other floating-point type, if that has one.
    if let (Some(fill), Some(filled)) = (from.spare_nan(), to.spare_nan())
        && x.contains(&fill)
    {
        return each(out, x, |x| if x == fill { filled } else { convert(from, to, x) });
    }
    match (from, to) {
        (DType::F16, DType::F32) => each(out, x, |x| single(DType::F16.decode(x))),
        (DType::Bf16, DType::F32) => each(out, x, |x| x << 16),
        (DType::F32, DType::F16) => each(out, x, |x| DType::F16.encode(DType::F32.decode(x))),
        (DType::F32, DType::Bf16) => each(out, x, |x| DType::Bf16.encode(DType::F32.decode(x))),
        (DType::I32, DType::F32) => each(out, x, |x| u64::from((x as i32 as f32).to_bits())),
        // The shortcuts above have the same results.
        (from, to) => each(out, x, |x| convert(from, to, x)),
    }
}

fn each(out: &mut [u64], x: &[u64], f: impl Fn(u64) -> u64) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o = f(*x));
}

fn single(x: f64) -> u64 {
    u64::from((x as f32).to_bits())
}

/// Converts the bits of one element to those of the other type.
fn convert(from: DType, to: DType, bits: u64) -> u64 {
    if from == to {
        return bits;
    }
    if from.is_float() {
        let x = from.decode(bits);
        return match to.class() {
            Class::Bool => u64::from(x != 0.0),
            Class::Int => truncated(x, to),
            Class::Float => to.encode(x),
        };
    }
    let magnitude = if from.is_signed() { from.sign_extend(bits).unsigned_abs() } else { bits & from.mask() };
    let negative = from.is_signed() && from.sign_extend(bits) < 0;
    match to.class() {
        Class::Bool => u64::from(magnitude != 0),
        Class::Float => rounded(magnitude, negative, to),
        Class::Int if negative => magnitude.wrapping_neg() & to.mask(),
        Class::Int => magnitude & to.mask(),
    }
}

/// Truncates toward zero and saturates to the range of the type.
fn truncated(x: f64, to: DType) -> u64 {
    if to == DType::U64 {
        return x as u64;
    }
    if to.is_signed() {
        let top = (to.mask() >> 1) as i64;
        return ((x as i64).clamp(-top - 1, top) as u64) & to.mask();
    }
    (x as u64).min(to.mask())
}

/// Converts an integer to a float in one rounding.
fn rounded(magnitude: u64, negative: bool, to: DType) -> u64 {
    let x = if to == DType::F64 { magnitude as f64 } else { odd(magnitude) };
    to.encode(if negative { -x } else { x })
}

/// Returns the integer with at most 53 significant bits. The last bit is set if any bit behind it was lost (round to odd).
/// Rounding the result to fewer than 52 bits therefore equals rounding the integer itself.
fn odd(x: u64) -> f64 {
    let spare = 64 - x.leading_zeros().min(64);
    if spare <= 53 {
        return x as f64;
    }
    let cut = spare - 53;
    let lost = u64::from(x & ((1 << cut) - 1) != 0);
    ((x >> cut | lost) << cut) as f64
}

/// Encodes a number as a slot holds it: integers with their sign, truth values as 0 or 1, any other type as its bits.
pub(crate) fn number_of_bits(bits: u64, dtype: DType) -> i64 {
    if dtype.is_signed_int() { dtype.sign_extend(bits) } else { bits as i64 }
}

/// Converts an address computation's integer to an element: wraps to integers, rounds to floats.
pub(crate) fn integer_bits(x: i64, dtype: DType) -> u64 {
    if dtype.is_int() { x as u64 & dtype.mask() } else { convert(DType::I64, dtype, x as u64) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(from: DType, to: DType, x: f64, want: f64) {
        assert_eq!(to.decode(convert(from, to, from.encode(x))), want, "{x} from {from} to {to}");
    }

    #[test]
    fn to_integers_toward_zero_within_the_range() {
        check(DType::F32, DType::I32, -2.75, -2.0);
        check(DType::F32, DType::I32, 2.75, 2.0);
        check(DType::F32, DType::I32, 1e20, f64::from(i32::MAX));
        check(DType::F32, DType::I8, -1e20, -128.0);
        check(DType::F16, DType::U8, 300.0, 255.0);
        check(DType::F16, DType::U8, -3.0, 0.0);
        check(DType::F64, DType::I32, f64::NAN, 0.0);
        check(DType::F64, DType::U64, 1e30, u64::MAX as f64);
        check(DType::Bf16, DType::I4, 9.0, 7.0);
    }

    /// `as` of Rust cuts toward zero, saturates, and makes 0 of NaN.
    #[test]
    fn floats_to_integers_as_rust_does() {
        let edges = [7.0, 8.0, 127.0, 128.0, 255.0, 256.0, 32768.0, 65536.0, 2147483648.0, 4294967296.0];
        let far = [2f64.powi(53), 2f64.powi(63), 2f64.powi(64), 1e30, f64::INFINITY, f64::NAN, 0.0];
        let around = |e: f64| [e, e.next_down(), e.next_up(), e - 0.5, e + 0.5, e - 1.0, e + 1.0];
        for x in edges.into_iter().chain(far).flat_map(around).flat_map(|x| [x, -x]) {
            let pairs = [
                (DType::I8, x as i8 as u64),
                (DType::U8, u64::from(x as u8)),
                (DType::I16, x as i16 as u64),
                (DType::U16, u64::from(x as u16)),
                (DType::I32, x as i32 as u64),
                (DType::U32, u64::from(x as u32)),
                (DType::I64, x as i64 as u64),
                (DType::U64, x as u64),
            ];
            for (to, want) in pairs {
                assert_eq!(convert(DType::F64, to, x.to_bits()), want & to.mask(), "{x} to {to}");
            }
        }
    }

    #[test]
    fn between_integers_and_bools() {
        check(DType::I32, DType::I8, 200.0, -56.0);
        check(DType::I8, DType::U32, -1.0, f64::from(u32::MAX));
        check(DType::I8, DType::I64, -5.0, -5.0);
        check(DType::U64, DType::Bool, 5.0, 1.0);
        check(DType::Bool, DType::F16, 1.0, 1.0);
        check(DType::F32, DType::Bool, -0.0, 0.0);
        check(DType::F32, DType::Bool, 1e-40, 1.0);
    }

    #[test]
    fn integers_round_once() {
        // 2^53 + 2^29 + 1: rounding to f64 first would make it a tie for f32.
        let x = (1u64 << 53) + (1 << 29) + 1;
        let got = f32::from_bits(convert(DType::I64, DType::F32, x) as u32);
        assert_eq!(got, x as f32);
        assert_eq!(integer_bits(-1, DType::I8), 0xff);
        assert_eq!(integer_bits(-1, DType::F32), u64::from((-1f32).to_bits()));
    }

    proptest! {
        #[test]
        fn integers_to_f32_as_the_language_does(x: u64) {
            prop_assert_eq!(convert(DType::U64, DType::F32, x), u64::from((x as f32).to_bits()));
            prop_assert_eq!(convert(DType::I64, DType::F32, x), u64::from((x as i64 as f32).to_bits()));
            prop_assert_eq!(convert(DType::I64, DType::F64, x), (x as i64 as f64).to_bits());
        }

        #[test]
        fn short_ways_agree_with_the_long_one(x: u32) {
            let ways = [
                (DType::F16, DType::F32),
                (DType::Bf16, DType::F32),
                (DType::F32, DType::F16),
                (DType::F32, DType::Bf16),
                (DType::I32, DType::F32),
            ];
            for (from, to) in ways {
                let bits = u64::from(x) & from.mask();
                let mut out = [0];
                cast(from, to, &mut out, &[bits]);
                let (got, want) = (to.decode(out[0]), to.decode(convert(from, to, bits)));
                prop_assert!(got == want || got.is_nan() && want.is_nan(), "{} to {}: {:#x}", from, to, bits);
            }
        }
    }
}
