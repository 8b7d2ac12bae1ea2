//! The swizzles that the hardware itself applies to shared memory: a closed set.

use hx_layout::Swizzle;
use serde::Deserialize;

/// A swizzle of byte addresses that bulk copies and matrix operands in shared memory can name (PTX ISA, "Matrix descriptor"). It
/// xors bits of the number of a line of 128 bytes into the number of the 16-byte piece within the line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
pub enum SwizzleMode {
    #[serde(rename = "none")]
    Plain,
    #[serde(rename = "32B")]
    Bytes32,
    #[serde(rename = "64B")]
    Bytes64,
    #[serde(rename = "128B")]
    Bytes128,
}

/// Bytes of the pieces that a swizzle moves as a whole.
const PIECE_BYTES: u32 = 16;
/// The distance from the bits of an address that change up to the bits that are read.
const SHIFT: i32 = 3;

impl SwizzleMode {
    /// All modes, from the narrowest swizzle to the widest.
    pub const ALL: [SwizzleMode; 4] =
        [SwizzleMode::Plain, SwizzleMode::Bytes32, SwizzleMode::Bytes64, SwizzleMode::Bytes128];

    /// Returns the name in the catalogue: `none`, `32B`, `64B` or `128B`.
    pub fn name(self) -> &'static str {
        match self {
            SwizzleMode::Plain => "none",
            SwizzleMode::Bytes32 => "32B",
            SwizzleMode::Bytes64 => "64B",
            SwizzleMode::Bytes128 => "128B",
        }
    }

    /// Returns the name in a sentence: `no swizzle`, `the 128 B swizzle`.
    pub fn phrase(self) -> String {
        match self {
            SwizzleMode::Plain => "no swizzle".to_owned(),
            _ => format!("the {} B swizzle", self.width_bytes()),
        }
    }

    /// Returns the name at the head of a line: `no swizzle`, `128 B swizzle`.
    pub fn title(self) -> String {
        self.phrase().trim_start_matches("the ").to_owned()
    }

    /// Returns the number of address bits that change.
    fn bits(self) -> u32 {
        match self {
            SwizzleMode::Plain => 0,
            SwizzleMode::Bytes32 => 1,
            SwizzleMode::Bytes64 => 2,
            SwizzleMode::Bytes128 => 3,
        }
    }

    /// Returns bits 62 and 63 of the descriptor of a matrix operand.
    pub fn code(self) -> u64 {
        match self {
            SwizzleMode::Plain => 0,
            SwizzleMode::Bytes32 => 3,
            SwizzleMode::Bytes64 => 2,
            SwizzleMode::Bytes128 => 1,
        }
    }

    /// Returns the bytes of the rows whose pieces are permuted: the most that a bulk copy brings of its innermost dimension.
    pub fn width_bytes(self) -> u32 {
        PIECE_BYTES << self.bits()
    }

    /// Returns the number of a tensor map for the swizzle: the bytes of a row whose pieces are permuted; 0 for none.
    pub fn in_map(self) -> u32 {
        if self == SwizzleMode::Plain { 0 } else { self.width_bytes() }
    }

    /// Returns the swizzle that has this number in tensor maps; `None` for other numbers.
    pub fn of_map(bytes: u32) -> Option<SwizzleMode> {
        SwizzleMode::ALL.into_iter().find(|mode| mode.in_map() == bytes)
    }

    /// Returns the bytes of the block within which addresses are permuted. Blocks begin at multiples of their size.
    pub fn block_bytes(self) -> u32 {
        match self {
            SwizzleMode::Plain => PIECE_BYTES,
            _ => PIECE_BYTES << (self.bits() + SHIFT.unsigned_abs()),
        }
    }

    /// Returns the permutation of byte addresses.
    pub fn of_bytes(self) -> Swizzle {
        self.of_elements(8).unwrap_or(Swizzle::identity())
    }

    /// Returns the permutation of the offsets of elements of `bits` bits; `None` if such elements do not fill a piece evenly.
    pub fn of_elements(self, bits: u32) -> Option<Swizzle> {
        if self == SwizzleMode::Plain {
            return Some(Swizzle::identity());
        }
        let pieces = (PIECE_BYTES * 8).checked_div(bits).filter(|n| n * bits == PIECE_BYTES * 8)?;
        Swizzle::new(self.bits(), pieces.ilog2(), SHIFT).ok().filter(|_| pieces.is_power_of_two())
    }

    /// Returns the mode that permutes the offsets of elements of `bits` bits in this way; `None` if the hardware has none.
    pub fn of(swizzle: Swizzle, bits: u32) -> Option<SwizzleMode> {
        let is_same = |own: Swizzle| own.permutes_as(swizzle);
        SwizzleMode::ALL.into_iter().find(|mode| mode.of_elements(bits).is_some_and(is_same))
    }
}
