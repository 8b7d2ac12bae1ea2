//! The complement: a layout of the indices that a layout leaves out.

use super::coalesce::coalesced;
use crate::layout::Mode;
use crate::{Layout, LayoutError};

impl Layout {
    /// Returns the increasing layout *R* for which the sums *x + R(j)*, *x* an index of `self`, reach every integer below *m*
    /// exactly once. *m* is `cotarget` rounded up to a multiple of the largest extent times stride.
    ///
    /// # Errors
    /// If `self` without its stride-0 modes takes a value twice, if no such layout exists, if `cotarget` is below 1, if a
    /// stride is negative, or if an extent times its stride does not fit an `i64`.
    pub fn complement(&self, cotarget: i64) -> Result<Layout, LayoutError> {
        if cotarget < 1 {
            return Err(LayoutError::TooSmall { what: "the cotarget", least: 1, given: cotarget });
        }
        if self.has_negative_stride() {
            return Err(LayoutError::NegativeStride { what: "a complement", layout: self.clone() });
        }
        let mut modes: Vec<Mode> = self.leaves().iter().copied().filter(|m| m.0 > 1 && m.1 != 0).collect();
        modes.sort_by_key(|&(extent, stride)| (stride, extent));
        let mut gaps = Vec::with_capacity(modes.len() + 1);
        let mut filled = 1i64;
        for (extent, stride) in modes {
            if stride % filled != 0 {
                return Err(self.no_complement(stride, filled));
            }
            gaps.push((stride / filled, filled));
            filled =
                extent.checked_mul(stride).ok_or(LayoutError::Overflow("the extent of the complement"))?;
        }
        gaps.push(((cotarget - 1) / filled + 1, filled));
        Layout::flat(&coalesced(&gaps))
    }

    fn no_complement(&self, stride: i64, filled: i64) -> LayoutError {
        match self.filter().is_injective() {
            Ok(false) => LayoutError::NotInjective(self.clone()),
            _ => LayoutError::NoComplement {
                layout: self.clone(),
                why: format!(
                    "its stride {stride} is not a multiple of {filled}, which the smaller strides fill"
                ),
            },
        }
    }
}
