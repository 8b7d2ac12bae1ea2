//! Swizzles, which permute indices by xor, and layouts with a swizzle after them.
//!
//! It knows integers only; the unit of an index (element, byte) is the caller's.

use std::fmt;

use crate::{Layout, LayoutError};

/// `Sw<bits, base, shift>`: the `bits` bits from bit `base + max(0, shift)` upward are xor-ed into the `bits` bits
/// from bit `base + max(0, -shift)` upward. It undoes itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The swizzle of these parameters, in CuTe's order.
    ///
    /// # Errors
    /// When `|shift| < bits` or a bit at or above 63 is involved.
    pub fn new(bits: u32, base: u32, shift: i32) -> Result<Swizzle, LayoutError> {
        let error = LayoutError::Swizzle { bits, base, shift };
        let distance = shift.unsigned_abs();
        let top = bits.checked_add(base).and_then(|b| b.checked_add(distance));
        match top {
            Some(top) if distance >= bits && top <= 63 => Ok(Swizzle { bits, base, shift }),
            _ => Err(error),
        }
    }

    /// The swizzle that changes nothing.
    pub const fn identity() -> Swizzle {
        Swizzle { bits: 0, base: 0, shift: 0 }
    }

    /// Whether it changes nothing.
    #[inline]
    pub const fn is_identity(self) -> bool {
        self.bits == 0
    }

    /// Number of bits that are xor-ed.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Number of low bits that neither are read nor change.
    #[inline]
    pub const fn base(self) -> u32 {
        self.base
    }

    /// Distance from the changed bits up to those read; negative when the lower bits are read.
    #[inline]
    pub const fn shift(self) -> i32 {
        self.shift
    }

    /// The mask of the bits that are read.
    #[inline]
    pub const fn source_mask(self) -> i64 {
        let up = if self.shift > 0 { self.shift as u32 } else { 0 };
        ((1i64 << self.bits) - 1) << (self.base + up)
    }

    /// The mask of the bits that change.
    #[inline]
    pub const fn target_mask(self) -> i64 {
        let up = if self.shift < 0 { self.shift.unsigned_abs() } else { 0 };
        ((1i64 << self.bits) - 1) << (self.base + up)
    }

    /// The swizzled index; only the masked bits count, so negative integers are treated as two's complement.
    #[inline]
    pub const fn apply(self, x: i64) -> i64 {
        let read = x & self.source_mask();
        if self.shift >= 0 { x ^ (read >> self.shift) } else { x ^ (read << -self.shift) }
    }

    /// The form in the language's source: `swizzle<3, 3, 3>`.
    pub fn source_form(self) -> String {
        format!("swizzle<{}, {}, {}>", self.bits, self.base, self.shift)
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}

/// A layout, then an offset, then a swizzle: `c` maps to `swizzle(offset + layout(c))`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ComposedLayout {
    pub swizzle: Swizzle,
    pub offset: i64,
    pub layout: Layout,
}

impl ComposedLayout {
    /// The layout itself, with neither offset nor swizzle.
    pub fn plain(layout: Layout) -> ComposedLayout {
        ComposedLayout { swizzle: Swizzle::identity(), offset: 0, layout }
    }

    /// The layout with a swizzle after it.
    pub fn swizzled(swizzle: Swizzle, layout: Layout) -> ComposedLayout {
        ComposedLayout { swizzle, offset: 0, layout }
    }

    /// The number of coordinates.
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// The index of a 1-D coordinate inside the domain. The caller answers for an offset with which indices fit an `i64`.
    #[inline]
    pub fn eval(&self, c: i64) -> i64 {
        self.swizzle.apply(self.offset + self.layout.eval(c))
    }

    /// The index of a 1-D coordinate of at least 0, the last mode open.
    ///
    /// # Errors
    /// When the coordinate is negative or the index does not fit an `i64`.
    pub fn try_eval(&self, c: i64) -> Result<i64, LayoutError> {
        let index =
            self.layout.try_eval(c)?.checked_add(self.offset).ok_or(LayoutError::Overflow("the index"))?;
        Ok(self.swizzle.apply(index))
    }

    /// The form in the language's source: `swizzle<3, 3, 3> ∘ (8,8):(8,1)`, or the layout alone.
    ///
    /// The language has no offsets; one that is not 0 is written `swizzle<..> ∘ 16 ∘ layout` for people to read.
    pub fn source_form(&self) -> String {
        match (self.swizzle.is_identity(), self.offset) {
            (true, 0) => self.layout.to_string(),
            (_, 0) => format!("{} ∘ {}", self.swizzle.source_form(), self.layout),
            _ => format!("{} ∘ {} ∘ {}", self.swizzle.source_form(), self.offset, self.layout),
        }
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}
