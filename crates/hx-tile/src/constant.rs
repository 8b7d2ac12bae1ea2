//! The literal values of padding and fills.

use std::fmt;

/// A literal value: of padding, or of a fill. Two are equal if their bits are, so NaN equals itself and 0 differs from −0.
///
/// Without that, a program with `pad: nan` would differ from itself, and each query behind it would run again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Constant(u64);

impl Constant {
    /// The value of reads beyond the end of a tensor if the source says nothing else. The bulk copies fill with it.
    pub const ZERO: Constant = Constant(0);

    /// Makes the literal `value`.
    #[must_use]
    pub fn new(value: f64) -> Constant {
        Constant(value.to_bits())
    }

    /// Returns the value before it is rounded to the type of the tile.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::Constant;

    #[test]
    fn constants_are_equal_by_their_bits() {
        assert_eq!(Constant::new(f64::NAN), Constant::new(f64::NAN));
        assert_ne!(Constant::new(-0.0), Constant::ZERO);
        assert_eq!(format!("{} {:?}", Constant::new(-0.0), Constant::new(1.0)), "-0 1.0");
    }
}
