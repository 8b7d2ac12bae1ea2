//! Swizzles, which permute indices by xor, and layouts followed by a swizzle.
//!
//! This module knows integers only; the caller decides the unit of an index (element, byte).

use std::fmt;

use crate::{Layout, LayoutError};

/// `Sw<bits, base, shift>`: xors the `bits` bits from bit `base + max(0, shift)` upward into the `bits` bits from bit
/// `base + max(0, -shift)` upward. A swizzle is its own inverse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// Makes the swizzle of these parameters, in CuTe's order.
    ///
    /// # Errors
    /// If `|shift| < bits`, or a bit at or above 63 is involved.
    pub fn new(bits: u32, base: u32, shift: i32) -> Result<Swizzle, LayoutError> {
        let error = LayoutError::Swizzle { bits, base, shift };
        let distance = shift.unsigned_abs();
        let top = bits.checked_add(base).and_then(|b| b.checked_add(distance));
        match top {
            Some(top) if distance >= bits && top <= 63 => Ok(Swizzle { bits, base, shift }),
            _ => Err(error),
        }
    }

    /// Returns the identity.
    pub const fn identity() -> Swizzle {
        Swizzle { bits: 0, base: 0, shift: 0 }
    }

    /// Reports whether the swizzle changes nothing.
    #[inline]
    pub const fn is_identity(self) -> bool {
        self.bits == 0
    }

    /// Reports whether both permute in the same way: all swizzles of no bits are the identity.
    pub fn permutes_as(self, other: Swizzle) -> bool {
        self == other || self.is_identity() && other.is_identity()
    }

    /// Returns the number of bits that are xored.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number of low bits that are neither read nor changed.
    #[inline]
    pub const fn base(self) -> u32 {
        self.base
    }

    /// Returns the distance from the changed bits up to the bits read; negative if the lower bits are read.
    #[inline]
    pub const fn shift(self) -> i32 {
        self.shift
    }

    /// Returns the mask of the bits that are read.
    #[inline]
    pub const fn source_mask(self) -> i64 {
        let up = if self.shift > 0 { self.shift as u32 } else { 0 };
        ((1i64 << self.bits) - 1) << (self.base + up)
    }

    /// Returns the mask of the bits that change.
    #[inline]
    pub const fn target_mask(self) -> i64 {
        let up = if self.shift < 0 { self.shift.unsigned_abs() } else { 0 };
        ((1i64 << self.bits) - 1) << (self.base + up)
    }

    /// Returns the least power of two above all bits that the swizzle reads or changes; 1 for the identity. Adding a multiple of
    /// it to an index adds the same multiple to the swizzled index.
    pub const fn period(self) -> i64 {
        let masks = self.source_mask() | self.target_mask();
        1 << (i64::BITS - masks.leading_zeros())
    }

    /// Returns the swizzled index. Only the masked bits count, so negative integers are treated as two's complement.
    #[inline]
    pub const fn apply(self, x: i64) -> i64 {
        let read = x & self.source_mask();
        if self.shift >= 0 { x ^ (read >> self.shift) } else { x ^ (read << -self.shift) }
    }

    /// Returns the smallest index that the swizzle takes to `n` or more; all smaller ones go below `n`. It is `n` itself iff
    /// the swizzle permutes the indices below `n`.
    pub fn first_beyond(self, n: i64) -> i64 {
        if n <= 0 {
            return 0;
        }
        // A swizzle undoes itself, so this is the least swizzled value of all `y >= n`. They are `n`, and for each bit that is 0
        // in `n` the integers with the bits of `n` above it, 1 at this bit, and any bits below.
        let after_bit = |bit: u32| {
            let y = (n >> bit | 1) << bit;
            let free = (1i64 << bit) - 1;
            if self.shift >= 0 {
                // Each source bit lies above its target bit. Free bits therefore affect only free bits of the result, and can
                // make all of them 0.
                return self.apply(y) & !free;
            }
            // Each source bit lies below its target bit. Set the free source bits whose target bit is 1 in `y`: this clears the
            // target bits, which count more.
            self.apply(y | ((y & self.target_mask()) >> -self.shift) & self.source_mask() & free)
        };
        let open = (0..i64::BITS - 1).filter(|bit| (n >> bit) & 1 == 0);
        open.map(after_bit).fold(self.apply(n), i64::min)
    }

    /// Returns the form in the language's source: `swizzle<3, 3, 3>`.
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
    /// Returns the layout with neither offset nor swizzle.
    pub fn plain(layout: Layout) -> ComposedLayout {
        ComposedLayout { swizzle: Swizzle::identity(), offset: 0, layout }
    }

    /// Returns the layout followed by a swizzle.
    pub fn swizzled(swizzle: Swizzle, layout: Layout) -> ComposedLayout {
        ComposedLayout { swizzle, offset: 0, layout }
    }

    /// Returns the number of coordinates.
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Returns the index of a 1-D coordinate inside the domain. The caller guarantees that the offset keeps the indices in an
    /// `i64`.
    #[inline]
    pub fn eval(&self, c: i64) -> i64 {
        self.swizzle.apply(self.offset + self.layout.eval(c))
    }

    /// Returns the index of a 1-D coordinate of at least 0, the last mode open.
    ///
    /// # Errors
    /// If the coordinate is negative or the index does not fit an `i64`.
    pub fn try_eval(&self, c: i64) -> Result<i64, LayoutError> {
        let index =
            self.layout.try_eval(c)?.checked_add(self.offset).ok_or(LayoutError::Overflow("the index"))?;
        Ok(self.swizzle.apply(index))
    }

    /// Returns the form in the language's source: `swizzle<3, 3, 3> ∘ (8,8):(8,1)`, or the layout alone.
    ///
    /// The language has no offsets. An offset that is not 0 is written `swizzle<..> ∘ 16 ∘ layout`, for people to read.
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
