//! Draws accesses to places that index tensors pick: gathered and scattered elements, and atomic accesses.

use hx_dtype::DType;

use super::bits::{Bit, joined_bits};
use super::draw::Draw;
use super::program::{Fold, Op, Range, Shape, Value, bounds, exact};

/// The most elements of a tile that is scattered: the reference selects each by a matrix.
const FEW: i64 = 256;

/// Types of gathered elements.
const TYPES: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::I32,
    DType::Bf16,
    DType::F64,
    DType::I64,
    DType::U32,
    DType::U64,
    DType::I16,
    DType::I8,
    DType::U8,
];

/// A step on one tile, or on two.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Elements of a tensor that the operands pick. With `two`, the first operand has the rows and the second the columns;
    /// otherwise the only operand has indices into a vector of `extent[1]` elements.
    Gather { extent: Shape, two: bool, range: Range },
    /// Element `i` of the tile is copied to the place `(i * times + plus) % count - minus`, and all places are read.
    Scatter { times: i64, plus: i64, minus: i64, start: i64, shared: bool },
    /// An atomic access combines the elements with memory that is filled with `start`. The memory is then read.
    Atomic { op: Atomic, meet: Option<Meet>, start: i64, shared: bool, returned: bool },
}

/// Several elements access the same place: element `i` accesses `i * times % (count + 2) - 1`, which may lie outside of the
/// `count` places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meet {
    pub(super) times: i64,
    pub(super) count: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    Fold(Fold),
    Bits(Bit),
}

impl Draw {
    pub(super) fn gathered(&mut self) {
        let picks = |v: &Value| v.dtype.is_int() && v.dtype != DType::U64 && v.dtype.bits() >= 8;
        let small = |v: &Value| picks(v) && v.shape[0] * v.shape[1] <= 4 * FEW;
        let first = match self.any_where(small) {
            Some(at) if self.percent(70) => at,
            _ => {
                let (shape, dtype) =
                    (self.few(), self.pick(&[DType::I32, DType::I64, DType::U8, DType::I16]));
                self.load(shape, dtype, None)
            }
        };
        let shape = self.value(first).shape;
        let second = self.any_where(|v| small(v) && v.shape == shape).filter(|_| self.percent(60));
        let two = second.is_some();
        let extent =
            if two { [self.pick(&[1, 3, 6]), self.pick(&[2, 5, 7])] } else { [1, 1 + self.below(20) as i64] };
        let dtype = self.pick(TYPES);
        let range = self.small(dtype);
        let from = [first].into_iter().chain(second).collect();
        let value = Value { shape, dtype, range: range.union(Range::new(0, 0)) };
        self.push(Op::Placed(Place::Gather { extent, two, range }), from, value);
    }

    /// Draws a shape of few elements.
    fn few(&mut self) -> Shape {
        [self.pick(&[1, 2, 4, 8, 8]), self.pick(&[3, 5, 8, 16, 32])]
    }

    /// Draws a tile of few elements of one of these types.
    fn tile_of(&mut self, types: &[DType]) -> usize {
        let fits = |v: &Value| types.contains(&v.dtype) && v.shape[0] * v.shape[1] <= FEW;
        match self.any_where(fits) {
            Some(at) if self.percent(60) => at,
            _ => {
                let (shape, dtype) = (self.few(), self.pick(types));
                self.load(shape, dtype, None)
            }
        }
    }

    pub(super) fn scattered(&mut self) {
        let at = self.tile_of(TYPES);
        let value = self.value(at);
        let count = value.shape[0] * value.shape[1];
        let apart = |times: &i64| (2..=*times).all(|n| count % n != 0 || times % n != 0);
        let times: Vec<i64> = [1, 3, 5, 7, 11, 13].into_iter().filter(apart).collect();
        let place = Place::Scatter {
            times: self.pick(&times),
            plus: self.below(count as usize) as i64,
            minus: if self.percent(60) { 0 } else { self.below(4) as i64 },
            start: self.below(4) as i64,
            shared: self.percent(60),
        };
        let range = value.range.union(Range::new(0, 3));
        self.push(Op::Placed(place), vec![at], Value { range, ..value });
    }

    pub(super) fn atomic(&mut self) {
        let whole = [DType::I32, DType::U32, DType::I64, DType::U64];
        let floats = [DType::F32, DType::F64, DType::F16];
        let kind = self.below(6);
        let types: Vec<DType> =
            if kind == 0 { whole.into_iter().chain(floats).collect() } else { whole.to_vec() };
        let at = self.tile_of(&types);
        let value = self.value(at);
        let count = value.shape[0] * value.shape[1];
        let start = self.below(8) as i64;
        let begin = Range::new(start, start);
        let sums = value.range.map(|x| x * count + start).union(begin);
        let op = match kind {
            0 if sums.magnitude() <= exact(value.dtype) => Atomic::Fold(Fold::Sum),
            0 if value.dtype.is_float() => return,
            0..=2 => Atomic::Fold(self.pick(&[Fold::Max, Fold::Min])),
            _ => Atomic::Bits(self.pick(&[Bit::And, Bit::Or, Bit::Xor])),
        };
        let range = match op {
            Atomic::Fold(Fold::Sum) => sums,
            Atomic::Fold(_) => value.range.union(begin),
            Atomic::Bits(bit) => joined_bits(bit, value.range, begin),
        };
        let folds = matches!(op, Atomic::Fold(_));
        let meet = (folds && self.percent(45))
            .then(|| Meet { times: self.pick(&[1, 2, 3, 5]), count: 1 + self.below(12) as i64 });
        let returned = meet.is_none() && self.percent(45);
        let range = if returned { range.zip(begin, |x, y| x + y).union(range) } else { range };
        let (low, high) = bounds(value.dtype);
        if range.low < low || range.high > high {
            return;
        }
        let shape = meet.map_or(value.shape, |meet| [1, meet.count]);
        let shared = self.percent(50);
        let place = Place::Atomic { op, meet, start, shared, returned };
        self.push(Op::Placed(place), vec![at], Value { shape, range, ..value });
    }
}
