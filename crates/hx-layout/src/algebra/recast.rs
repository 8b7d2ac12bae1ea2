//! Reinterprets memory in elements of another width.

use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError};

impl Layout {
    /// Converts indices to units of `n` elements.
    ///
    /// A mode `s:d` with `d = 0` stays; with `n` dividing `d` it becomes `s:d/n`; with `d` dividing `n` it becomes
    /// `ceil(s/(n/|d|))` with stride 1, or -1 if `d` is negative.
    ///
    /// # Errors
    /// If a stride neither divides `n` nor is divided by it, or `n` is below 1.
    pub fn upcast(&self, n: i64) -> Result<Layout, LayoutError> {
        check_factor(n)?;
        self.try_map_modes(|(s, d)| {
            let size = d.abs();
            if size % n == 0 {
                Ok((s, d / n))
            } else if n % size == 0 {
                Ok(((s - 1) / (n / size) + 1, d.signum()))
            } else {
                let why = format!("of {n} and the stride {d} neither divides the other");
                Err(LayoutError::Recast { layout: self.clone(), factor: n, why })
            }
        })
    }

    /// Converts indices to units of an `n`-th of an element: the modes `s:1` and `s:-1` become `s*n:1` and `s*n:-1`, all other
    /// strides are multiplied by `n`.
    ///
    /// # Errors
    /// If a number does not fit or `n` is below 1.
    pub fn downcast(&self, n: i64) -> Result<Layout, LayoutError> {
        check_factor(n)?;
        let overflow = LayoutError::Overflow("a mode of the recast layout");
        self.try_map_modes(|(s, d)| match d {
            1 | -1 => Ok((s.checked_mul(n).ok_or(overflow.clone())?, d)),
            _ => Ok((s, d.checked_mul(n).ok_or(overflow.clone())?)),
        })
    }

    /// Converts indices of elements of `old_bits` bits to indices of elements of `new_bits` bits. With new/old in lowest terms
    /// *p/q*, it is [`upcast`](Self::upcast) by *p*, then [`downcast`](Self::downcast) by *q*.
    ///
    /// # Errors
    /// As for the two, and when a width is below 1.
    pub fn recast(&self, old_bits: i64, new_bits: i64) -> Result<Layout, LayoutError> {
        let (up, down) = factors(old_bits, new_bits)?;
        self.upcast(up)?.downcast(down)
    }

    /// Replaces every plain mode and keeps the structure.
    fn try_map_modes(&self, f: impl Fn(Mode) -> Result<Mode, LayoutError>) -> Result<Layout, LayoutError> {
        let modes = self.leaves().iter().map(|&m| f(m)).collect::<Result<Vec<Mode>, _>>()?;
        let shape = self.shape().map_leaves(|i, _| IntTuple::Int(modes[i].0));
        let stride = self.stride().map_leaves(|i, _| IntTuple::Int(modes[i].1));
        Layout::new(shape, stride)
    }
}

/// Returns new/old in lowest terms: the factors of the upcast and of the downcast.
///
/// # Errors
/// If a width is below 1.
pub(super) fn factors(old_bits: i64, new_bits: i64) -> Result<(i64, i64), LayoutError> {
    check_factor(old_bits.min(new_bits))?;
    let common = gcd(old_bits, new_bits);
    Ok((new_bits / common, old_bits / common))
}

fn check_factor(n: i64) -> Result<(), LayoutError> {
    match n {
        1.. => Ok(()),
        _ => Err(LayoutError::TooSmall { what: "the factor of a recast", least: 1, given: n }),
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
