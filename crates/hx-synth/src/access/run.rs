//! Runs: elements of one dimension that are contiguous in a memory, in the order of the memory.

use hx_dtype::DType;
use hx_tile::TileMode;

use crate::distribution::{Placed, Tv, cut};

/// The order of elements in memory as steps along one dimension, the first between neighbours. A block of memory may keep the
/// elements of a dimension out of order: in `(2, 4) : (4, 1)` the even ones come first, with the steps `(4, 2), (2, 1)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Run {
    pub(crate) dim: usize,
    /// Extents and steps along the dimension.
    pub(crate) steps: Vec<(i64, i64)>,
}

/// Reports whether registers hold elements of this type in the order of their memory: no instruction moves one such element
/// alone.
pub(crate) fn is_packed(dtype: DType) -> bool {
    dtype.bits() < 8
}

impl Run {
    /// Returns a run of `width` elements in ascending order.
    pub(crate) fn plain(dim: usize, width: i64) -> Run {
        Run { dim, steps: vec![(width, 1)] }
    }

    /// Returns the run of contiguous elements in a blocked memory whose leaves along the dimension have these extents and
    /// strides.
    pub(crate) fn in_block(dim: usize, leaves: &[(i64, i64)]) -> Run {
        let mut step = 1;
        let mut open: Vec<(i64, i64, i64)> = Vec::new();
        for (extent, stride) in leaves.iter().filter(|leaf| leaf.0 > 1) {
            open.push((*stride, *extent, step));
            step *= extent;
        }
        open.sort_unstable();
        let mut run = Run { dim, steps: vec![] };
        for (stride, extent, step) in open {
            if stride != run.width() {
                break;
            }
            run.steps.push((extent, step));
        }
        run
    }

    /// Returns the run of a thread's first `width` values, or `None` if they are not `width` neighbours of one dimension.
    pub(crate) fn leading(tv: &Tv, width: i64) -> Option<Run> {
        let (dim, _) = tv.value.first()?.along()?;
        let along =
            tv.value.iter().map_while(|mode| mode.along().filter(|(d, _)| *d == dim).map(|(_, s)| (mode, s)));
        let steps = along.map(|(mode, step)| (mode.extent, step)).collect();
        Run { dim, steps }.first(width)
    }

    /// Returns the distance of element number `i` from the first element, along the dimension.
    pub(crate) fn offset(&self, i: i64) -> i64 {
        let mut rest = i;
        let digit = |(extent, step): &(i64, i64)| {
            let digit = rest % extent;
            rest /= extent;
            digit * step
        };
        self.steps.iter().map(digit).sum()
    }

    pub(crate) fn width(&self) -> i64 {
        self.steps.iter().map(|(extent, _)| extent).product()
    }

    /// Reports whether the elements are in ascending order.
    pub(crate) fn is_plain(&self) -> bool {
        let mut next = 1;
        self.steps.iter().filter(|(extent, _)| *extent > 1).all(|(extent, step)| {
            let follows = *step == next;
            next *= extent;
            follows
        })
    }

    /// Returns the run of the first `width` elements, or `None` if they are not `width` neighbours of the dimension in some
    /// order. An access begins at a multiple of its width.
    pub(crate) fn first(&self, width: i64) -> Option<Run> {
        let (mut steps, mut need) = (Vec::new(), width);
        for &(extent, step) in &self.steps {
            let take = if need % extent == 0 { extent } else { need };
            if need == 1 {
                break;
            }
            if extent % take != 0 {
                return None;
            }
            steps.push((take, step));
            need /= take;
        }
        if steps.is_empty() {
            steps.push((1, 1));
        }
        let last: i64 = steps.iter().map(|(extent, step)| (extent - 1) * step).sum();
        (need == 1 && last + 1 == width).then_some(Run { dim: self.dim, steps })
    }

    /// Returns the run as modes over a tile with `rank` dimensions.
    pub(crate) fn modes(&self, rank: usize) -> Vec<TileMode> {
        let mode = |(extent, step): &(i64, i64)| {
            let mut along = vec![0; rank];
            along[self.dim] = *step;
            TileMode::new(*extent, along)
        };
        self.steps.iter().map(mode).collect()
    }

    /// Removes the elements of the run from the values of a thread and returns them in the run's order. Returns `None` if a
    /// thread does not hold them.
    pub(crate) fn take(&self, rest: &mut Vec<Placed>) -> Option<Vec<Placed>> {
        let mut out = Vec::new();
        for &(extent, step) in &self.steps {
            let mut have = 1;
            while have < extent {
                let placed = starting_at(rest, self.dim, step * have)?;
                let need = extent / have;
                let own = placed.mode.extent;
                let taken = if need % own == 0 {
                    placed
                } else if own % need == 0 {
                    let (inner, outer) = cut(&placed, need);
                    rest.push(outer);
                    inner
                } else {
                    return None;
                };
                have *= taken.mode.extent;
                out.push(taken);
            }
        }
        Some(out)
    }

    /// Returns a thread-value layout with the same elements in every thread, with the elements of the run first, in its order.
    pub(crate) fn order(&self, tv: &Tv) -> Option<Tv> {
        let mut rest = tv.placed();
        let first = self.take(&mut rest)?;
        rest.sort_by_key(|placed| placed.position);
        let value = first.into_iter().chain(rest).map(|placed| placed.mode).collect();
        Some(Tv { tile: tv.tile.clone(), thread: tv.thread.clone(), value })
    }
}

/// Removes from the list the mode with step `step` along the dimension, cut off a finer mode where needed.
fn starting_at(rest: &mut Vec<Placed>, dim: usize, step: i64) -> Option<Placed> {
    let along = |placed: &Placed| {
        let step = placed.mode.along().filter(|(d, _)| *d == dim).map(|(_, own)| own);
        step.filter(|_| placed.mode.extent > 1)
    };
    if let Some(at) = rest.iter().position(|placed| along(placed) == Some(step)) {
        return Some(rest.remove(at));
    }
    let within = |placed: &Placed| {
        along(placed).is_some_and(|own| {
            let inner = if own > 0 && step % own == 0 { step / own } else { 1 };
            inner > 1 && placed.mode.extent > inner && placed.mode.extent % inner == 0
        })
    };
    let at = rest.iter().position(within)?;
    let own = along(&rest[at])?;
    let (inner, outer) = cut(&rest.remove(at), step / own);
    rest.push(inner);
    Some(outer)
}

#[cfg(test)]
mod tests {
    use super::Run;
    use crate::distribution::Tv;
    use hx_tile::TileMode;

    /// Returns a layout of 128 elements in which each thread holds one of four groups of 32.
    fn tv() -> Tv {
        let along = |extent, step| TileMode::new(extent, vec![step]);
        Tv::covering(&[128], vec![along(4, 32)], vec![along(32, 1)])
    }

    #[test]
    fn a_block_that_keeps_even_elements_first() {
        let run = Run::in_block(0, &[(2, 4), (4, 1), (16, 8)]);
        assert_eq!(run.steps, [(4, 2), (2, 1), (16, 8)]);
        assert!(!run.is_plain());
        let widths: Vec<i64> = (1..=128).filter(|width| run.first(*width).is_some()).collect();
        assert_eq!(widths, [1, 8, 16, 32, 64, 128]);
        let eight: Vec<i64> = (0..8).map(|i| run.offset(i)).collect();
        assert_eq!(eight, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(crate::access::vector::held(&tv(), &run), 32);
        let ordered = run.first(32).and_then(|run| run.order(&tv())).unwrap();
        let held: Vec<i64> = (0..10).map(|value| ordered.coordinate(0, value)[0]).collect();
        assert_eq!(held, [0, 2, 4, 6, 1, 3, 5, 7, 8, 10]);
        assert_eq!(Run::leading(&ordered, 16), run.first(16));
    }
}
