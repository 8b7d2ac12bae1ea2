//! The element types and their static facts: width, name, kind.
//!
//! This module knows no values; see `convert` for those.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::FloatFormat;

/// The facts of an element type.
#[derive(Clone, Copy)]
struct Facts {
    name: &'static str,
    bits: u32,
    values: Values,
}

/// The values that the elements have.
#[derive(Clone, Copy)]
pub(crate) enum Values {
    Truth,
    Unsigned,
    /// Two's complement.
    Signed,
    Float(FloatFormat),
}

/// The kind of numbers that the elements are, narrowest first: an operation on numbers of two classes is in the wider one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    Bool,
    Int,
    Float,
}

macro_rules! element_types {
    ($($dtype:ident: $name:literal, $bits:literal, $values:expr;)*) => {
        /// An element type of the language.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum DType {
            $($dtype,)*
        }

        impl DType {
            /// Every element type, in the order of the enumeration.
            pub const ALL: [DType; [$($name),*].len()] = [$(DType::$dtype),*];
        }

        const FACTS: [Facts; DType::ALL.len()] =
            [$(Facts { name: $name, bits: $bits, values: $values },)*];
    };
}

// The name in source text, the bits of one element in storage, and the values.
element_types! {
    Bool: "bool", 8, Values::Truth;
    I1: "i1", 1, Values::Signed;
    I2: "i2", 2, Values::Signed;
    I4: "i4", 4, Values::Signed;
    I8: "i8", 8, Values::Signed;
    I16: "i16", 16, Values::Signed;
    I32: "i32", 32, Values::Signed;
    I64: "i64", 64, Values::Signed;
    U1: "u1", 1, Values::Unsigned;
    U2: "u2", 2, Values::Unsigned;
    U4: "u4", 4, Values::Unsigned;
    U8: "u8", 8, Values::Unsigned;
    U16: "u16", 16, Values::Unsigned;
    U32: "u32", 32, Values::Unsigned;
    U64: "u64", 64, Values::Unsigned;
    F16: "f16", 16, Values::Float(FloatFormat::ieee(5, 10));
    Bf16: "bf16", 16, Values::Float(FloatFormat::ieee(8, 7));
    Tf32: "tf32", 32, Values::Float(FloatFormat { unused: 13, ..FloatFormat::ieee(8, 10) });
    F32: "f32", 32, Values::Float(FloatFormat::SINGLE);
    F64: "f64", 64, Values::Float(FloatFormat::DOUBLE);
    F8E4m3: "f8e4m3", 8, Values::Float(FloatFormat { infinities: false, saturates: true, ..FloatFormat::ieee(4, 3) });
    F8E5m2: "f8e5m2", 8, Values::Float(FloatFormat { saturates: true, ..FloatFormat::ieee(5, 2) });
    F4E2m1: "f4e2m1", 4, Values::Float(FloatFormat { infinities: false, nans: false, saturates: true, ..FloatFormat::ieee(2, 1) });
    F8E8m0: "f8e8m0", 8, Values::Float(FloatFormat::scale(8));
}

impl DType {
    #[inline]
    const fn facts(self) -> Facts {
        FACTS[self as usize]
    }

    #[inline]
    pub(crate) const fn values(self) -> Values {
        self.facts().values
    }

    /// Returns the bits of one element in storage: 8 for `bool`, 32 for `tf32`.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.facts().bits
    }

    /// Returns the number of elements that share a byte of storage: 2 for `u4`. Elements of a byte or more share none, so it is 1.
    #[inline]
    pub const fn per_byte(self) -> u32 {
        match self.bits() {
            bits @ 1..8 => 8 / bits,
            _ => 1,
        }
    }

    /// Returns the name in source text, such as `bf16` or `f8e4m3`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the kind of numbers that the elements are.
    #[inline]
    pub const fn class(self) -> Class {
        match self.values() {
            Values::Truth => Class::Bool,
            Values::Unsigned | Values::Signed => Class::Int,
            Values::Float(_) => Class::Float,
        }
    }

    /// Returns the format of a floating-point type.
    #[inline]
    pub const fn float(self) -> Option<FloatFormat> {
        match self.values() {
            Values::Float(format) => Some(format),
            Values::Truth | Values::Unsigned | Values::Signed => None,
        }
    }

    /// Returns the type of this name; `None` if no type has it.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Reports whether this is a floating-point type, `tf32`, the formats of 4 and 8 bits and the scales included.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// Reports whether this is an integer type, signed or unsigned. `bool` is not one.
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Int)
    }

    /// Reports whether this is the type of scales, `f8e8m0`: powers of two, with no sign and no zero.
    #[inline]
    pub const fn is_scale(self) -> bool {
        matches!(self.values(), Values::Float(FloatFormat { is_scale: true, .. }))
    }

    /// Reports whether this type has negative values: signed integers, and floats but scales.
    #[inline]
    pub const fn is_signed(self) -> bool {
        match self.values() {
            Values::Float(format) => !format.is_scale,
            Values::Signed => true,
            Values::Truth | Values::Unsigned => false,
        }
    }

    /// Reports whether this is a two's complement integer type. `i1` holds -1 and 0.
    #[inline]
    pub const fn is_signed_int(self) -> bool {
        matches!(self.values(), Values::Signed)
    }

    /// Reports whether a matrix product may take elements of this type and of `other` as its two operands. They must be of the
    /// same type, or both 8-bit floats that are no scales, or both integers of one width of at most 8 bits, signed or not.
    pub const fn multiplies_with(self, other: DType) -> bool {
        let narrow = self.bits() <= 8 && self.bits() == other.bits();
        let floats = self.is_float() && other.is_float() && !self.is_scale() && !other.is_scale();
        self as u8 == other as u8 || narrow && (floats || self.is_int() && other.is_int())
    }

    /// Returns the mask of an element's stored bits: the low [`bits`](Self::bits) ones.
    #[inline]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that does not name an element type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDType(pub String);

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an element type", self.0)
    }
}

impl std::error::Error for UnknownDType {}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        DType::parse(s).ok_or_else(|| UnknownDType(s.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            let json = serde_json::to_string(&dtype).expect("a name");
            assert_eq!(json, format!("\"{dtype}\""));
            assert_eq!(serde_json::from_str::<DType>(&json).expect("a dtype"), dtype);
        }
        assert_eq!(
            "half".parse::<DType>().map_err(|e| e.to_string()),
            Err("`half` is not an element type".into())
        );
    }

    #[test]
    fn operands_of_products() {
        for (a, b) in [(DType::I8, DType::U8), (DType::U4, DType::I4), (DType::F8E4m3, DType::F8E5m2)] {
            assert!(a.multiplies_with(b) && b.multiplies_with(a) && a.multiplies_with(a));
        }
        for (a, b) in [
            (DType::I8, DType::F8E4m3),
            (DType::F16, DType::Bf16),
            (DType::I8, DType::I4),
            (DType::F8E4m3, DType::F8E8m0),
        ] {
            assert!(!a.multiplies_with(b) && !b.multiplies_with(a));
        }
    }

    #[test]
    fn kinds() {
        assert!(DType::Bf16.is_float() && DType::Bf16.is_signed() && !DType::Bf16.is_int());
        assert!(DType::U4.is_int() && !DType::U4.is_signed());
        assert!(DType::F4E2m1.is_signed() && !DType::F4E2m1.is_scale() && DType::F4E2m1.mask() == 15);
        assert!(DType::F8E8m0.is_float() && DType::F8E8m0.is_scale() && !DType::F8E8m0.is_signed());
        assert!(!DType::Bool.is_int() && !DType::Bool.is_float() && !DType::Bool.is_signed());
        assert_eq!(DType::U4.mask(), 15);
        assert_eq!(DType::U64.mask(), u64::MAX);
    }
}
