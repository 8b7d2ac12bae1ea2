//! The ways in which an operand of a matrix instruction may lie in shared memory: layouts with some known and some free strides,
//! under a swizzle of the closed set.

use serde::Deserialize;
use serde::de::Error;

use crate::{Feature, SwizzleMode};

/// A way in which an instruction reaches an operand in shared memory (PTX ISA, "Matrix descriptor"). The operand has the rows of A
/// or the columns of B along `x`, and the steps along `k`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReachRow {
    pub name: String,
    /// The modes from the inside out.
    pub x: Vec<ReachMode>,
    pub k: Vec<ReachMode>,
    pub swizzle: SwizzleMode,
    /// Widths in bits of the elements that the row reaches; if empty, all widths.
    #[serde(default)]
    pub bits: Vec<u32>,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
}

/// A mode of a reach, with lengths that depend on the width of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachMode {
    extent: Extent,
    stride: Pace,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    Known(Length),
    Rest,
}

/// A number of elements, or a number of 16-byte pieces of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Length {
    Elements(i64),
    Pieces(i64),
}

/// A stride of a mode.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    Known(Length),
    Free(Field),
}

/// The field of a descriptor that has a free stride, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The leading byte offset, `L` in the catalogue.
    Leading,
    /// The stride byte offset, `S` in the catalogue.
    Stride,
}

/// A mode of a reach for elements of one width, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The number of elements; `None` for the rest of the operand that the inner modes leave.
    pub extent: Option<i64>,
    pub stride: ReachedStride,
}

/// A stride in elements, or the field of the descriptor that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedStride {
    Known(i64),
    Free(Field),
}

/// Bits of a piece: the unit of a descriptor's fields.
const PIECE_BITS: u32 = 128;

impl ReachRow {
    /// Returns the modes along `x` and along `k` for elements of `bits` bits; `None` if such elements are not reached so.
    pub fn modes(&self, bits: u32) -> Option<[Vec<Reached>; 2]> {
        if !self.bits.is_empty() && !self.bits.contains(&bits) || !PIECE_BITS.is_multiple_of(bits.max(1)) {
            return None;
        }
        let length = |length: Length| match length {
            Length::Elements(n) => n,
            Length::Pieces(n) => n * i64::from(PIECE_BITS / bits),
        };
        let resolved = |mode: &ReachMode| Reached {
            extent: match mode.extent {
                Extent::Known(extent) => Some(length(extent)),
                Extent::Rest => None,
            },
            stride: match mode.stride {
                Pace::Known(stride) => ReachedStride::Known(length(stride)),
                Pace::Free(field) => ReachedStride::Free(field),
            },
        };
        Some([&self.x, &self.k].map(|modes| modes.iter().map(resolved).collect()))
    }

    /// Reports whether neighbours along `k` are contiguous. Otherwise neighbours along `x` are, and the instruction transposes the
    /// operand.
    pub fn is_k_major(&self) -> bool {
        self.k.first().is_some_and(|mode| mode.stride == Pace::Known(Length::Elements(1)))
    }
}

/// Reads `8`, `T` and `8T`, where `T` is a piece; `None` for other texts.
fn length(text: &str) -> Option<Length> {
    match text.strip_suffix('T') {
        Some("") => Some(Length::Pieces(1)),
        Some(number) => number.parse().ok().map(Length::Pieces),
        None => text.parse().ok().map(Length::Elements),
    }
}

impl<'de> Deserialize<'de> for ReachMode {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<ReachMode, D::Error> {
        /// A number, or a text such as `8T`.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        let text = |written: Written| match written {
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        let (extent, stride): (Written, Written) = Deserialize::deserialize(d)?;
        let (extent, stride) = (text(extent), text(stride));
        let refused =
            |text: &str| D::Error::custom(format!("`{text}` is not an extent or stride of a reach"));
        Ok(ReachMode {
            extent: match extent.as_str() {
                "*" => Extent::Rest,
                known => Extent::Known(length(known).ok_or_else(|| refused(known))?),
            },
            stride: match stride.as_str() {
                "L" => Pace::Free(Field::Leading),
                "S" => Pace::Free(Field::Stride),
                known => Pace::Known(length(known).ok_or_else(|| refused(known))?),
            },
        })
    }
}
