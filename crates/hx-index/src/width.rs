//! Integers of a fixed number of bits.

/// How an integer is held: in 1 to 64 bits, with a sign or without one.
///
/// An unsigned integer of 64 bits is held as the signed one of the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Width {
    pub bits: u32,
    pub signed: bool,
}

impl Width {
    /// The least and the greatest value.
    pub fn range(self) -> (i64, i64) {
        match (self.bits, self.signed) {
            (64.., _) => (i64::MIN, i64::MAX),
            (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => (0, (1 << bits) - 1),
        }
    }

    /// Whether the value needs no wrapping.
    pub fn holds(self, value: i64) -> bool {
        let (low, high) = self.range();
        (low..=high).contains(&value)
    }

    /// The value modulo 2ʷ, in the range of the width.
    pub fn wrap(self, value: i64) -> i64 {
        let up = 64 - self.bits.min(64);
        if self.signed || up == 0 { (value << up) >> up } else { ((value as u64) << up >> up) as i64 }
    }

    /// The name of the type in the language.
    pub fn name(self) -> String {
        format!("{}{}", if self.signed { 'i' } else { 'u' }, self.bits)
    }
}
