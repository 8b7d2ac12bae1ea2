//! The element types and their static facts: width, name, kind.
//!
//! This module knows no values; see `convert` for those.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An element type of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    Bool,
    I1,
    I2,
    I4,
    I8,
    I16,
    I32,
    I64,
    U1,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    F8E4m3,
    F8E5m2,
}

impl DType {
    /// Every element type, in the order of the enumeration.
    pub const ALL: [DType; 22] = [
        DType::Bool,
        DType::I1,
        DType::I2,
        DType::I4,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U1,
        DType::U2,
        DType::U4,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::Bf16,
        DType::Tf32,
        DType::F32,
        DType::F64,
        DType::F8E4m3,
        DType::F8E5m2,
    ];

    /// Returns the bits of one element in storage: 8 for `bool`, 32 for `tf32`.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            DType::I1 | DType::U1 => 1,
            DType::I2 | DType::U2 => 2,
            DType::I4 | DType::U4 => 4,
            DType::Bool | DType::I8 | DType::U8 | DType::F8E4m3 | DType::F8E5m2 => 8,
            DType::I16 | DType::U16 | DType::F16 | DType::Bf16 => 16,
            DType::I32 | DType::U32 | DType::F32 | DType::Tf32 => 32,
            DType::I64 | DType::U64 | DType::F64 => 64,
        }
    }

    /// Returns the name in source text, such as `bf16` or `f8e4m3`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I1 => "i1",
            DType::I2 => "i2",
            DType::I4 => "i4",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U1 => "u1",
            DType::U2 => "u2",
            DType::U4 => "u4",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::Tf32 => "tf32",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F8E4m3 => "f8e4m3",
            DType::F8E5m2 => "f8e5m2",
        }
    }

    /// Returns the type of this name; `None` if no type has it.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Reports whether this is a floating-point type, `tf32` and the 8-bit formats included.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            DType::F16 | DType::Bf16 | DType::Tf32 | DType::F32 | DType::F64 | DType::F8E4m3 | DType::F8E5m2
        )
    }

    /// Reports whether this is an integer type, signed or unsigned. `bool` is not one.
    #[inline]
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    /// Reports whether this type has negative values: signed integers and floats.
    #[inline]
    pub const fn is_signed(self) -> bool {
        self.is_float() || self.is_signed_int()
    }

    /// Reports whether this is a two's complement integer type. `i1` holds -1 and 0.
    #[inline]
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I1 | DType::I2 | DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Reports whether a matrix product may take elements of this type and of `other` as its two operands. They must be of the
    /// same type, or both 8-bit floats, or both integers of one width of at most 8 bits, signed or not.
    pub const fn multiplies_with(self, other: DType) -> bool {
        let narrow = self.bits() <= 8 && self.bits() == other.bits();
        let floats = self.is_float() && other.is_float();
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
        for (a, b) in [(DType::I8, DType::F8E4m3), (DType::F16, DType::Bf16), (DType::I8, DType::I4)] {
            assert!(!a.multiplies_with(b) && !b.multiplies_with(a));
        }
    }

    #[test]
    fn kinds() {
        assert!(DType::Bf16.is_float() && DType::Bf16.is_signed() && !DType::Bf16.is_int());
        assert!(DType::U4.is_int() && !DType::U4.is_signed());
        assert!(!DType::Bool.is_int() && !DType::Bool.is_float() && !DType::Bool.is_signed());
        assert_eq!(DType::U4.mask(), 15);
        assert_eq!(DType::U64.mask(), u64::MAX);
    }
}
