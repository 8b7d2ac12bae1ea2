//! Composition by its definition: the layout *R* with *R(c) = a(b(c))*, whose shape refines that of *b*.
//!
//! The first layout is read as a mixed-radix number system: its coalesced extents are the radixes, and the last mode is open. As
//! long as multiples of a stride of *b* produce no carry, the composition is linear. It bends at the first carry, and there a
//! mode of the result must end. Divisibility of strides is never required as such.

use super::check_count;
use super::coalesce::coalesced_open;
use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError, Tiler};

/// A mode of the result: its extent, its stride, and the digits that one step adds to the argument of `a`.
struct Piece {
    extent: i64,
    stride: i64,
    digits: Vec<i64>,
}

/// The first layout as a number system.
pub(super) struct Radix {
    modes: Vec<Mode>,
}

impl Radix {
    pub(super) fn new(layout: &Layout) -> Radix {
        Radix { modes: coalesced_open(layout.leaves()) }
    }

    /// Returns how many times `step` can be added to `x` without a carry in any place; `i64::MAX` if no number of steps
    /// carries.
    pub(super) fn room(&self, x: i64, step: i64) -> i64 {
        let bounded = self.modes.len() - 1;
        let places = self.modes[..bounded].iter().zip(self.digits(x)).zip(self.digits(step));
        let used = places.filter(|&(_, step)| step > 0);
        used.map(|((&(radix, _), x), step)| (radix - 1 - x) / step).min().unwrap_or(i64::MAX)
    }

    /// Returns the digits of `x`, one for each mode. The last is unbounded.
    fn digits(&self, mut x: i64) -> Vec<i64> {
        let last = self.modes.len() - 1;
        let mut out = Vec::with_capacity(last + 1);
        for &(radix, _) in &self.modes[..last] {
            out.push(x % radix);
            x /= radix;
        }
        out.push(x);
        out
    }

    /// Returns the smallest `j` for which adding up `j` numbers with these digits carries in some place; `None` if none does.
    fn first_carry(&self, digits: &[i64]) -> Option<i64> {
        let last = self.modes.len() - 1;
        let bounded = self.modes[..last].iter().zip(digits);
        bounded.filter(|&(_, &d)| d > 0).map(|(&(radix, _), &d)| (radix - 1) / d + 1).min()
    }

    /// Returns the index at `x`, with the last mode open. Fails if it does not fit an `i64`.
    pub(super) fn eval(&self, x: i64) -> Result<i64, LayoutError> {
        let overflow = LayoutError::Overflow("an index of the composition");
        let mut sum = 0i64;
        for (digit, &(_, stride)) in self.digits(x).into_iter().zip(&self.modes) {
            let part = digit.checked_mul(stride).ok_or(overflow.clone())?;
            sum = sum.checked_add(part).ok_or(overflow.clone())?;
        }
        Ok(sum)
    }
}

impl Layout {
    /// Returns the layout *R* with *R(c) = self(b(c))* for every coordinate of `b`. Its shape refines the shape of `b`.
    ///
    /// Indices of `b` beyond the size of `self` use its last mode as open.
    ///
    /// # Errors
    /// If no layout does this, an index of `b` is negative, or a number does not fit an `i64`.
    pub fn compose(&self, b: &Layout) -> Result<Layout, LayoutError> {
        if b.has_negative_stride() {
            return Err(LayoutError::NegativeStride {
                what: "the second layout of a composition",
                layout: b.clone(),
            });
        }
        let radix = Radix::new(self);
        let mut parts = Vec::with_capacity(b.leaves().len());
        for &(extent, stride) in b.leaves() {
            parts.push(compose_mode(&radix, extent, stride).map_err(|e| e.into_error(self, b))?);
        }
        let exact = no_carry_between(&radix, &parts);
        let result = assemble(b, &parts)?;
        if !exact {
            check_sum(self, b, &radix, &parts, &result)?;
        }
        Ok(result)
    }
}

impl Layout {
    /// Composes mode by mode. Modes of `self` past the tiler are dropped.
    ///
    /// # Errors
    /// If the tiler has more modes than `self` somewhere, or a mode does not compose.
    pub fn compose_tiler(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        match tiler {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Layout(b) => self.compose(b),
            Tiler::Modes(entries) => {
                super::zip::check_rank(self, entries)?;
                let parts = entries.iter().enumerate().map(|(i, t)| self.mode(i).compose_tiler(t));
                Layout::concat(&parts.collect::<Result<Vec<_>, _>>()?)
            }
        }
    }
}

/// The reason why a mode does not compose, before the layouts are known.
enum ModeError {
    /// The composition bends at a coordinate that does not divide the mode's extent.
    Bend {
        extent: i64,
        stride: i64,
        at: i64,
    },
    Other(LayoutError),
}

impl From<LayoutError> for ModeError {
    fn from(error: LayoutError) -> Self {
        ModeError::Other(error)
    }
}

impl ModeError {
    fn into_error(self, a: &Layout, b: &Layout) -> LayoutError {
        match self {
            ModeError::Other(error) => error,
            ModeError::Bend { extent, stride, at } => LayoutError::NotALayout {
                a: Box::new(a.clone()),
                b: Box::new(b.clone()),
                why: format!(
                    "along mode {extent}:{stride} its stride changes after {at} steps, which do not divide {extent}"
                ),
            },
        }
    }
}

/// Composes with one plain mode. Returns the pieces from the fastest up; none for an extent of 1.
fn compose_mode(radix: &Radix, extent: i64, stride: i64) -> Result<Vec<Piece>, ModeError> {
    let (mut left, mut step) = (extent, stride);
    let mut pieces = Vec::new();
    while left > 1 {
        let digits = radix.digits(step);
        let unit = radix.eval(step)?;
        let run = match radix.first_carry(&digits) {
            Some(carry) if carry < left => bend(radix, step, unit, carry, left)?,
            _ => left,
        };
        if left % run != 0 {
            return Err(ModeError::Bend { extent, stride, at: extent / left * run });
        }
        pieces.push(Piece { extent: run, stride: unit, digits });
        left /= run;
        if left > 1 {
            step = step.checked_mul(run).ok_or(LayoutError::Overflow("an index of the composition"))?;
        }
    }
    Ok(pieces)
}

/// Returns the first `j`, from `carry` on, for which the index at `j * step` is not `j * unit`; `left` if there is none below
/// it.
///
/// A carry in one place always changes the index, because neighbouring modes do not merge. Several carries at once may cancel;
/// only then does this function search further.
fn bend(radix: &Radix, step: i64, unit: i64, carry: i64, left: i64) -> Result<i64, LayoutError> {
    for j in carry..left {
        check_count("finding where a composition bends", j - carry)?;
        let overflow = LayoutError::Overflow("an index of the composition");
        let x = step.checked_mul(j).ok_or(overflow)?;
        if unit.checked_mul(j) != Some(radix.eval(x)?) {
            return Ok(j);
        }
    }
    Ok(left)
}

/// Reports whether no sum of steps of the pieces carries in any place, so that the index of a sum is the sum of indices.
fn no_carry_between(radix: &Radix, parts: &[Vec<Piece>]) -> bool {
    let last = radix.modes.len() - 1;
    (0..last).all(|place| {
        let mut largest = 0i64;
        parts.iter().flatten().all(|piece| {
            let reach = piece.digits[place].saturating_mul(piece.extent - 1);
            largest = largest.saturating_add(reach);
            largest < radix.modes[place].0
        })
    })
}

/// Returns the layout of the shape of `b` with every integer replaced by its pieces.
fn assemble(b: &Layout, parts: &[Vec<Piece>]) -> Result<Layout, LayoutError> {
    let build = |value: fn(&Piece) -> i64, one: i64| {
        b.shape().map_leaves(|i, _| match parts[i].as_slice() {
            [] => IntTuple::Int(one),
            [piece] => IntTuple::Int(value(piece)),
            pieces => IntTuple::Tuple(pieces.iter().map(|p| IntTuple::Int(value(p))).collect()),
        })
    };
    Layout::new(build(|p| p.extent, 1), build(|p| p.stride, 0))
}

/// Fails with [`LayoutError::NotALayout`] unless indices add up although carries occur.
fn check_sum(
    a: &Layout,
    b: &Layout,
    radix: &Radix,
    parts: &[Vec<Piece>],
    result: &Layout,
) -> Result<(), LayoutError> {
    let fault = |c: i64, left: i64, right: i64| LayoutError::NotALayout {
        a: Box::new(a.clone()),
        b: Box::new(b.clone()),
        why: format!("its modes do not add up: at {c} the index is {left}, the modes give {right}"),
    };
    // If every step has a single digit, a carry always shows, and early. Otherwise several carries may cancel, so all coordinates
    // must be checked.
    let single = parts.iter().flatten().all(|p| p.digits.iter().filter(|&&d| d > 0).count() <= 1);
    if !single {
        check_count("checking whether the modes of a composition add up", b.size())?;
    }
    for c in 0..b.size() {
        if single {
            check_count("finding where a composition fails", c)?;
        }
        let (left, right) = (radix.eval(b.eval(c))?, result.eval(c));
        if left != right {
            return Err(fault(c, left, right));
        }
    }
    Ok(())
}
