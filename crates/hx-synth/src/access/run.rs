//! Runs: elements of a tile that are contiguous in a memory, in the order of the memory.

use hx_dtype::DType;
use hx_tile::TileMode;

use crate::distribution::{Placed, ThreadValueLayout, cut};

/// The order of elements in memory as steps through the tile, the first between neighbours. A block of memory may keep the elements
/// of a dimension out of order: in `(2, 4) : (4, 1)` the even ones come first, with the steps `4 by 2, 2 by 1`. It may also
/// alternate between dimensions: in `(2, 8) : (1, 2)` two rows come first, then the columns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Run {
    pub(crate) steps: Vec<Step>,
}

/// A digit of an element's number in a run: `extent` steps of `by` along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub(crate) dim: usize,
    pub(crate) extent: i64,
    pub(crate) by: i64,
}

/// Reports whether registers hold elements of this type in the order of their memory: no instruction moves one such element
/// alone.
pub(crate) fn is_packed(dtype: DType) -> bool {
    dtype.bits() < 8
}

impl Run {
    /// Returns a run of `width` elements along one dimension, in ascending order.
    pub(crate) fn plain(dim: usize, width: i64) -> Run {
        Run { steps: vec![Step { dim, extent: width, by: 1 }] }
    }

    /// Returns the run of contiguous elements in a blocked memory whose leaves along these dimensions have these extents and
    /// strides.
    pub(crate) fn in_block(dims: &[(usize, &[(i64, i64)])]) -> Run {
        let mut open: Vec<(i64, Step)> = Vec::new();
        for &(dim, leaves) in dims {
            let mut by = 1;
            for &(extent, stride) in leaves.iter().filter(|leaf| leaf.0 > 1) {
                open.push((stride, Step { dim, extent, by }));
                by *= extent;
            }
        }
        open.sort_unstable_by_key(|(stride, step)| (*stride, step.dim));
        let mut run = Run { steps: vec![] };
        for (stride, step) in open {
            if stride != run.width() {
                break;
            }
            run.steps.push(step);
        }
        run
    }

    /// Returns the run of a thread's first `width` values, or `None` if they are not `width` neighbours of one dimension.
    pub(crate) fn leading(layout: &ThreadValueLayout, width: i64) -> Option<Run> {
        let (dim, _) = layout.value.first()?.along()?;
        let step = |mode: &TileMode| {
            let (own, by) = mode.along()?;
            (own == dim).then_some(Step { dim, extent: mode.extent, by })
        };
        Run { steps: layout.value.iter().map_while(step).collect() }.first(width)
    }

    /// Returns the run of a thread's first `width` values, along any dimensions; `None` if they do not step along dimensions.
    pub(crate) fn leading_piece(layout: &ThreadValueLayout, width: i64) -> Option<Run> {
        let step = |mode: &TileMode| {
            let (dim, by) = mode.along()?;
            Some(Step { dim, extent: mode.extent, by })
        };
        Run { steps: layout.value.iter().map_while(step).collect() }.piece(width)
    }

    /// Returns the dimension along which the first two elements of the run are neighbours; 0 for a run without steps.
    pub(crate) fn dim(&self) -> usize {
        self.steps.first().map_or(0, |step| step.dim)
    }

    /// Returns the dimensions that the run walks, in ascending order.
    pub(crate) fn dims(&self) -> Vec<usize> {
        let mut dims: Vec<usize> = self.steps.iter().filter(|s| s.extent > 1).map(|s| s.dim).collect();
        dims.sort_unstable();
        dims.dedup();
        dims
    }

    /// Returns the length of the run along a dimension, in elements, gaps included; 1 if the run does not walk it. Other
    /// accesses begin at multiples of this length, or in the gaps.
    pub(crate) fn period(&self, dim: usize) -> i64 {
        let along = self.steps.iter().filter(|step| step.dim == dim && step.extent > 1);
        along.map(|step| step.extent * step.by).max().unwrap_or(1)
    }

    /// Reports whether the elements fill a box without gaps.
    pub(crate) fn is_box(&self) -> bool {
        self.dims().into_iter().map(|dim| self.period(dim)).product::<i64>() == self.width()
    }

    /// Reports whether whole periods of the run fill a tile of extents `shape`.
    pub(crate) fn divides(&self, shape: &[i64]) -> bool {
        self.steps.iter().all(|step| shape[step.dim] % self.period(step.dim) == 0)
    }

    /// Reports whether every offset that these modes reach has digit 0 in each step of the run, so that an access can begin
    /// there.
    pub(crate) fn may_begin(&self, modes: &[&TileMode]) -> bool {
        self.steps.iter().filter(|step| step.extent > 1).all(|step| {
            let along = modes.iter().map(|mode| (mode.extent, mode.strides[step.dim]));
            let below = along.clone().filter(|(_, stride)| *stride < step.by);
            let reach: i64 = below.map(|(extent, stride)| (extent - 1) * stride).sum();
            let mut above = along.filter(|(_, stride)| *stride >= step.by);
            reach < step.by && above.all(|(_, stride)| stride % (step.by * step.extent) == 0)
        })
    }

    /// Returns the run along other dimensions; `None` if one of them has no counterpart.
    pub(crate) fn renamed(&self, dim: impl Fn(usize) -> Option<usize>) -> Option<Run> {
        let step = |step: &Step| Some(Step { dim: dim(step.dim)?, ..*step });
        Some(Run { steps: self.steps.iter().map(step).collect::<Option<_>>()? })
    }

    /// Adds to a coordinate the distance of element number `i` from the first element.
    pub(crate) fn walk(&self, i: i64, at: &mut [i64]) {
        let mut rest = i;
        for step in &self.steps {
            at[step.dim] += rest % step.extent * step.by;
            rest /= step.extent;
        }
    }

    pub(crate) fn width(&self) -> i64 {
        self.steps.iter().map(|step| step.extent).product()
    }

    /// Reports whether the elements lie along one dimension, in ascending order.
    pub(crate) fn is_plain(&self) -> bool {
        let mut next = 1;
        let dim = self.dim();
        self.steps.iter().filter(|step| step.extent > 1).all(|step| {
            let follows = step.dim == dim && step.by == next;
            next *= step.extent;
            follows
        })
    }

    /// Returns the run of the first `width` elements. `None` if `width` cuts a step unevenly, or if elements along a single
    /// dimension would have gaps: there they must be `width` neighbours, in any order.
    pub(crate) fn first(&self, width: i64) -> Option<Run> {
        self.piece(width).filter(|run| run.is_box() || run.dims().len() > 1)
    }

    /// Returns the run of the first `width` elements, which may have gaps; `None` if `width` cuts a step unevenly.
    pub(crate) fn piece(&self, width: i64) -> Option<Run> {
        let (mut steps, mut need) = (Vec::new(), width);
        for &Step { dim, extent, by } in &self.steps {
            let take = if need % extent == 0 { extent } else { need };
            if need == 1 {
                break;
            }
            if extent % take != 0 {
                return None;
            }
            steps.push(Step { dim, extent: take, by });
            need /= take;
        }
        if steps.is_empty() {
            steps.push(Step { dim: self.dim(), extent: 1, by: 1 });
        }
        (need == 1).then_some(Run { steps })
    }

    /// Returns the longest beginning of the run that fills a box.
    pub(crate) fn longest_box(&self) -> Run {
        let of = |steps: usize| Run { steps: self.steps[..steps].to_vec() };
        (1..=self.steps.len()).rev().map(of).find(Run::is_box).unwrap_or(Run::plain(self.dim(), 1))
    }

    /// Returns the run as modes over a tile with `rank` dimensions.
    pub(crate) fn modes(&self, rank: usize) -> Vec<TileMode> {
        let mode = |step: &Step| {
            let mut along = vec![0; rank];
            along[step.dim] = step.by;
            TileMode::new(step.extent, along)
        };
        self.steps.iter().map(mode).collect()
    }

    /// Removes the elements of the run from the values of a thread and returns them in the run's order. Returns `None` if a
    /// thread does not hold them.
    pub(crate) fn take(&self, rest: &mut Vec<Placed>) -> Option<Vec<Placed>> {
        let mut out = Vec::new();
        for &Step { dim, extent, by } in &self.steps {
            let mut have = 1;
            while have < extent {
                let placed = starting_at(rest, dim, by * have)?;
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

    /// Returns a thread-value layout with the same elements in every thread, with the elements of the run first, in its
    /// order. `None` if a thread does not hold the run.
    pub(crate) fn order(&self, layout: &ThreadValueLayout) -> Option<ThreadValueLayout> {
        let mut rest = layout.placed();
        let first = self.take(&mut rest)?;
        rest.sort_by_key(|placed| placed.position);
        let value = first.into_iter().chain(rest).map(|placed| placed.mode).collect();
        Some(ThreadValueLayout { tile: layout.tile.clone(), thread: layout.thread.clone(), value })
    }
}

/// Removes from the list the mode with step `step` along the dimension, cut off a finer mode where needed. `None` if no mode
/// has such a step.
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
    use super::{Run, Step};
    use crate::distribution::ThreadValueLayout;
    use hx_tile::TileMode;

    /// Returns a layout of 128 elements in which each thread holds one of four groups of 32.
    fn layout() -> ThreadValueLayout {
        let along = |extent, step| TileMode::new(extent, vec![step]);
        ThreadValueLayout::covering(&[128], vec![along(4, 32)], vec![along(32, 1)])
    }

    /// Returns the coordinate of an element of a run that begins at 0.
    fn walked(run: &Run, i: i64) -> Vec<i64> {
        let mut at = vec![0; 2];
        run.walk(i, &mut at);
        at
    }

    #[test]
    fn a_block_that_alternates_between_dimensions() {
        // Two columns, then four rows, then further columns.
        let run = Run::in_block(&[(0, &[(4, 2), (4, 64)]), (1, &[(2, 1), (8, 8)])]);
        assert_eq!(run.width(), 256);
        assert!(!run.is_plain());
        let first = run.first(8).unwrap();
        let eight: Vec<Vec<i64>> = (0..8).map(|i| walked(&first, i)).collect();
        assert_eq!(eight[..4], [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert!(first.is_box() && first.divides(&[4, 6]) && !first.divides(&[6, 4]));
        let along = |extent, strides: [i64; 2]| TileMode::new(extent, strides.to_vec());
        let layout = ThreadValueLayout::covering(
            &[16, 16],
            vec![along(32, [0, 0])],
            vec![along(16, [0, 1]), along(16, [1, 0])],
        );
        assert_eq!(crate::access::vector::held(&layout, &run, Run::first), 256);
        let ordered = first.order(&layout).unwrap();
        assert_eq!((0..4).map(|value| ordered.coordinate(0, value)).collect::<Vec<_>>(), eight[..4]);
    }

    #[test]
    fn a_block_in_the_order_of_fragments() {
        // Sixteen by sixteen elements, in which the eight that a lane holds of operand A follow each other.
        let run = Run::in_block(&[(0, &[(8, 32), (2, 2)]), (1, &[(2, 1), (4, 8), (2, 4)])]);
        let first = run.first(8).unwrap();
        let eight: Vec<Vec<i64>> = (0..8).map(|i| walked(&first, i)).collect();
        assert_eq!(eight, [[0, 0], [0, 1], [8, 0], [8, 1], [0, 8], [0, 9], [8, 8], [8, 9]]);
        assert!(!first.is_box() && run.is_box());
        assert_eq!((first.period(0), first.period(1)), (16, 16));
        let along = |extent, strides: [i64; 2]| TileMode::new(extent, strides.to_vec());
        let (columns, rows) = (along(4, [0, 2]), along(8, [1, 0]));
        assert!(first.may_begin(&[&columns, &rows, &along(3, [16, 0])]));
        assert!(!first.may_begin(&[&along(8, [0, 2])]) && !first.may_begin(&[&along(2, [24, 0])]));
    }

    #[test]
    fn a_block_that_keeps_even_elements_first() {
        let run = Run::in_block(&[(0, &[(2, 4), (4, 1), (16, 8)])]);
        let step = |extent, by| Step { dim: 0, extent, by };
        assert_eq!(run.steps, [step(4, 2), step(2, 1), step(16, 8)]);
        assert!(!run.is_plain());
        let widths: Vec<i64> = (1..=128).filter(|width| run.first(*width).is_some()).collect();
        assert_eq!(widths, [1, 8, 16, 32, 64, 128]);
        let eight: Vec<i64> = (0..8).map(|i| walked(&run, i)[0]).collect();
        assert_eq!(eight, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(crate::access::vector::held(&layout(), &run, Run::first), 32);
        let ordered = run.first(32).and_then(|run| run.order(&layout())).unwrap();
        let held: Vec<i64> = (0..10).map(|value| ordered.coordinate(0, value)[0]).collect();
        assert_eq!(held, [0, 2, 4, 6, 1, 3, 5, 7, 8, 10]);
        assert_eq!(Run::leading(&ordered, 16), run.first(16));
    }
}
