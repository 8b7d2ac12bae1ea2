//! Integers of a fixed number of bits.

/// The representation of an integer: 1 to 64 bits, signed or unsigned.
///
/// An unsigned integer of 64 bits is held as the signed one with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Width {
    pub bits: u32,
    pub signed: bool,
}

impl Width {
    /// Returns the least and the greatest value.
    pub fn range(self) -> (i64, i64) {
        match (self.bits, self.signed) {
            (64.., _) => (i64::MIN, i64::MAX),
            (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => (0, (1 << bits) - 1),
        }
    }

    /// Reports whether the value fits the width without wrapping.
    pub fn holds(self, value: i64) -> bool {
        let (low, high) = self.range();
        (low..=high).contains(&value)
    }

    /// Returns the value modulo 2ʷ, in the range of the width.
    pub fn wrap(self, value: i64) -> i64 {
        let up = 64 - self.bits.min(64);
        if self.signed || up == 0 { (value << up) >> up } else { ((value as u64) << up >> up) as i64 }
    }

    /// Returns the name of the type in the language.
    pub fn name(self) -> String {
        format!("{}{}", if self.signed { 'i' } else { 'u' }, self.bits)
    }
}
