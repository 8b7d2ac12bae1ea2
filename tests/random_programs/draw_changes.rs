//! Draws steps that change parts of register tensors, and steps that only look simple: positions of extremes, axes that a counter
//! names, parts of expressions, choices between literals, other shapes.

use hx_dtype::DType;

use super::draw::Draw;
use super::program::{Compare, Fold, Op, Range, Shape, Value, exact, is_unsigned};

/// A step on one tile.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// An assignment to the part of `shape` elements from `first` on.
    Assign { first: Shape, shape: Shape, how: How, value: Assigned },
    /// The sum of the tile and its folds along both axes. The counter of an unrolled loop is the axis: `for axis in 0..2 { …
    /// sum(v, axis: axis) }`.
    Axes { fold: Fold },
    /// The positions of the largest or the least elements.
    Position { axis: usize, least: bool },
    /// A part of the tile doubled, perhaps transposed.
    OfExpression { first: Shape, turned: bool },
    /// The tile times a literal that a comparison with a literal chooses.
    Literals { compare: Compare, with: i64, chosen: [i64; 2] },
    /// The elements in another shape, in their order.
    Reshape,
    /// The tile is split into parts along an axis, and they are joined in another order: each moves one place to the front.
    Rotated { axis: usize, parts: i64 },
    /// The elements in reverse order along an axis.
    Flipped { axis: usize },
    /// The tile where some or all elements satisfy a comparison with a number, along an axis or in the whole tile; elsewhere 0.
    Truths { all: bool, axis: Option<usize>, compare: Compare, with: i64 },
}

impl Change {
    /// Reports whether the tile is held with the layout of another tile, of which it is a part.
    pub(super) fn is_part(&self) -> bool {
        match self {
            Change::OfExpression { .. }
            | Change::Position { .. }
            | Change::Reshape
            | Change::Flipped { .. }
            | Change::Rotated { .. } => true,
            Change::Assign { .. } | Change::Axes { .. } | Change::Literals { .. } | Change::Truths { .. } => {
                false
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    Set,
    Add,
    Sub,
    Mul,
}

/// The value that is assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assigned {
    Number(i64),
    /// This row or column of the tile, in all rows or columns of the part.
    Line {
        axis: usize,
        at: i64,
    },
    /// The part of the same extents that begins here along the axis.
    Part {
        axis: usize,
        at: i64,
    },
}

impl How {
    pub(super) fn range(self, a: Range, b: Range) -> Range {
        match self {
            How::Set => b,
            How::Add => a.zip(b, |x, y| x + y),
            How::Sub => a.zip(b, |x, y| x - y),
            How::Mul => a.zip(b, i64::saturating_mul),
        }
    }
}

impl Draw {
    /// Draws a part of an axis: its first element, and its extent.
    fn cut(&mut self, extent: i64) -> (i64, i64) {
        let first = self.below(extent as usize) as i64;
        match self.below(3) {
            0 if extent % 2 == 0 => (extent / 2, extent / 2),
            1 => (first, 1),
            _ => (first, 1 + self.below((extent - first) as usize) as i64),
        }
    }

    pub(super) fn assign(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let (mut first, mut shape) = ([0, 0], value.shape);
        let axis = self.below(2);
        (first[axis], shape[axis]) = self.cut(value.shape[axis]);
        let (assigned, range) = if self.percent(35) {
            let places = value.shape[axis] - shape[axis] + 1;
            (Assigned::Part { axis, at: self.below(places as usize) as i64 }, value.range)
        } else if self.percent(50) {
            let line = self.below(value.shape[axis] as usize) as i64;
            (Assigned::Line { axis, at: line }, value.range)
        } else {
            if self.percent(30) {
                (first[1 - axis], shape[1 - axis]) = self.cut(value.shape[1 - axis]);
            }
            let number = self.below(5) as i64;
            (Assigned::Number(number), Range::new(number, number))
        };
        let how = self.pick(&[How::Set, How::Set, How::Add, How::Add, How::Sub, How::Mul]);
        let fits = how.range(value.range, range).magnitude() <= exact(value.dtype);
        let signed = how != How::Sub || !is_unsigned(value.dtype);
        let how = if fits && signed { how } else { How::Set };
        let range = how.range(value.range, range).union(value.range);
        let change = Change::Assign { first, shape, how, value: assigned };
        self.push(Op::Changed(change), vec![at], Value { range, ..value });
    }

    pub(super) fn axes(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let sums = value.range.map(|x| x * (1 + value.shape[0] + value.shape[1])).union(value.range);
        let (fold, range) = if sums.magnitude() <= exact(value.dtype) {
            (self.pick(&[Fold::Sum, Fold::Sum, Fold::Max]), sums)
        } else {
            (Fold::Max, sums)
        };
        let range = if fold == Fold::Max { value.range.map(|x| 3 * x).union(value.range) } else { range };
        if range.magnitude() <= exact(value.dtype) {
            self.push(Op::Changed(Change::Axes { fold }), vec![at], Value { range, ..value });
        }
    }

    pub(super) fn position(&mut self) {
        let at = self.any_wide();
        let mut shape = self.value(at).shape;
        let axis = self.below(2);
        let range = Range::new(0, shape[axis] - 1);
        shape[axis] = 1;
        let change = Change::Position { axis, least: self.percent(50) };
        self.push(Op::Changed(change), vec![at], Value { shape, dtype: DType::I32, range });
    }

    pub(super) fn of_expression(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let range = value.range.map(|x| 2 * x);
        if range.magnitude() > exact(value.dtype) {
            return;
        }
        let (mut first, mut shape) = ([0, 0], value.shape);
        let turned = self.percent(50);
        if !turned || self.percent(30) {
            let axis = self.below(2);
            (first[axis], shape[axis]) = self.cut(value.shape[axis]);
        }
        if turned {
            shape.swap(0, 1);
        }
        let change = Change::OfExpression { first, turned };
        self.push(Op::Changed(change), vec![at], Value { shape, range, ..value });
    }

    pub(super) fn literals(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let least = if is_unsigned(value.dtype) { 0 } else { -2 };
        let chosen = [0, 1].map(|_| least + self.below(5) as i64);
        let range = value.range.zip(Range::new(chosen[0], chosen[1]), |x, y| x * y);
        if range.magnitude() > exact(value.dtype) {
            return;
        }
        let change = Change::Literals { compare: self.compare(), with: self.below(4) as i64, chosen };
        self.push(Op::Changed(change), vec![at], Value { range, ..value });
    }

    /// Draws a tile with its elements, or its parts, in another order along an axis.
    pub(super) fn reordered(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        if self.percent(50) {
            let axis = self.below(2);
            self.push(Op::Changed(Change::Flipped { axis }), vec![at], value);
            return;
        }
        let fits = |(axis, parts): &(usize, i64)| value.shape[*axis] % parts == 0;
        let all: Vec<(usize, i64)> =
            [0, 1].into_iter().flat_map(|axis| [2, 3, 4].map(|parts| (axis, parts))).filter(fits).collect();
        if all.is_empty() {
            return self.assign();
        }
        let (axis, parts) = self.pick(&all);
        self.push(Op::Changed(Change::Rotated { axis, parts }), vec![at], value);
    }

    pub(super) fn truths(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let (all, axis) = (self.percent(50), self.pick(&[None, Some(0), Some(1)]));
        let change = Change::Truths { all, axis, compare: self.compare(), with: self.below(4) as i64 };
        let range = value.range.union(Range::new(0, 0));
        self.push(Op::Changed(change), vec![at], Value { range, ..value });
    }

    /// Reports whether a tile of this shape can be drawn for a reshape: threads, rows and columns are powers of two, so that it
    /// has a layout in any other shape of powers of two.
    pub(super) fn is_reshaped(&self, shape: Shape) -> bool {
        let powers = [self.threads, shape[0], shape[1]];
        powers.into_iter().all(|n| n.count_ones() == 1)
    }

    pub(super) fn reshaped(&mut self) {
        let few = [self.pick(&[2, 4, 8, 16]), self.pick(&[8, 16, 32])];
        if !self.is_reshaped(few) {
            return self.assign();
        }
        // Only a tile that is loaded from memory can have every layout, so the reshape gets a tile of its own.
        let dtype = self.pick(&[DType::F16, DType::F32, DType::I32, DType::F64, DType::I16]);
        let at = self.load(few, dtype, None);
        let value = self.value(at);
        let count = value.shape[0] * value.shape[1];
        let rows: Vec<i64> = (1..=count.min(128)).filter(|rows| count % rows == 0).collect();
        let rows = self.pick(&rows);
        let shape = [rows, count / rows];
        self.push(Op::Changed(Change::Reshape), vec![at], Value { shape, ..value });
    }
}
