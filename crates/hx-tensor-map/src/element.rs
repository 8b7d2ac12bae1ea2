//! The element types that the driver knows.

use hx_dtype::DType;

/// The element type of a tensor map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MapElement {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Bf16,
}

impl MapElement {
    /// Every element type, in the order of the driver's numbers.
    pub const ALL: [MapElement; 10] = [
        MapElement::U8,
        MapElement::U16,
        MapElement::U32,
        MapElement::I32,
        MapElement::U64,
        MapElement::I64,
        MapElement::F16,
        MapElement::F32,
        MapElement::F64,
        MapElement::Bf16,
    ];

    /// Returns the element type by which bulk copies move elements of a type; `None` below a byte, because such a tensor is
    /// described as one of bytes ([`carrier`]). Types that the driver does not know are moved as integers of their size, and `tf32`
    /// as `f32`.
    pub fn of(dtype: DType) -> Option<MapElement> {
        Some(match dtype {
            DType::Bool | DType::I8 | DType::U8 | DType::F8E4m3 | DType::F8E5m2 | DType::F8E8m0 => {
                MapElement::U8
            }
            DType::I16 | DType::U16 => MapElement::U16,
            DType::U32 => MapElement::U32,
            DType::I32 => MapElement::I32,
            DType::U64 => MapElement::U64,
            DType::I64 => MapElement::I64,
            DType::F16 => MapElement::F16,
            DType::Bf16 => MapElement::Bf16,
            DType::F32 | DType::Tf32 => MapElement::F32,
            DType::F64 => MapElement::F64,
            DType::I1 | DType::I2 | DType::I4 | DType::U1 | DType::U2 | DType::U4 | DType::F4E2m1 => {
                return None;
            }
        })
    }

    /// Returns the number in the driver's `CUtensorMapDataType`.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// Returns the element type of a map of a tensor with elements of type `dtype`. Elements narrower than a byte are moved as the bytes
/// that hold them: the map of a tensor of `u4` with `n` columns has `n / 2` columns of `u8`.
pub fn carrier(dtype: DType) -> DType {
    if dtype.per_byte() > 1 { DType::U8 } else { dtype }
}
