//! Draws guarded reads and views of global memory: with a halo, of windows, and with modes of several parts.

use hx_dtype::DType;

use super::draw::Draw;
use super::program::{Op, Range, Shape, Value, bounds, exact};

#[derive(Clone, Debug)]
pub(super) enum View {
    /// The tile plus an element of a tensor, or `other` outside of it.
    Guarded { extent: i64, index: i64, of_block: bool, other: i64, range: Range },
    /// A tile that may begin before its tensor and end behind it.
    Halo { extent: Shape, start: Shape, launched: bool, pad: Option<i64>, of_block: bool },
    /// The sums of windows of `size` elements along each axis.
    Windows {
        extent: Shape,
        start: Shape,
        launched: bool,
        size: i64,
        stride: i64,
        dilation: i64,
        range: Range,
    },
    /// The pixels of a tile of an image, one a row.
    Pixels { extent: Shape, start: Shape, tile: Shape, launched: bool },
}

impl Draw {
    /// Draws a step of the family whose turn is `number`.
    pub(super) fn family(&mut self, number: u64) {
        match number % 16 {
            0 | 1 => self.assign(),
            2 => self.axes(),
            3 => self.position(),
            4 => self.of_expression(),
            5 => self.literals(),
            6 if self.percent(50) => self.reshaped(),
            6 => self.reordered(),
            7 => self.gathered(),
            8 => self.scattered(),
            9 | 10 => self.atomic(),
            11 => self.guarded(),
            12 => self.halo(),
            13 => self.truths(),
            14 => self.reordered(),
            _ if self.threads.count_ones() > 1 || self.percent(50) => self.windows(),
            _ => self.pixels(),
        }
    }

    fn guarded(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        // Numbers of the type u64 are not read from tensors yet.
        if value.dtype == DType::U64 {
            return;
        }
        let range = self.small(value.dtype);
        let (extent, other) = (1 + self.below(6) as i64, self.below(4) as i64);
        let index = self.below(extent as usize + 6) as i64 - 3;
        let of_block = self.percent(50);
        let added = value.range.zip(range.union(Range::new(other, other)), |x, y| x + y);
        let (low, high) = bounds(value.dtype);
        if added.low >= low && added.high <= high {
            let view = View::Guarded { extent, index, of_block, other, range };
            self.push(Op::Viewed(view), vec![at], Value { range: added, ..value });
        }
    }

    /// Draws the row and column at which a view begins; a negative one lies before the tensor.
    fn begin(&mut self) -> Shape {
        [0, 1].map(|_| self.pick(&[-3, -2, -1, -1, 0, 0, 1, 4]))
    }

    fn halo(&mut self) {
        let shape = self.shape();
        let types =
            [DType::F16, DType::F16, DType::F32, DType::F32, DType::F64, DType::I32, DType::I8, DType::U16];
        let dtype = self.pick(&types);
        let range = self.small(dtype);
        let (start, launched, of_block) = (self.begin(), self.percent(65), self.percent(60));
        let pad = self.percent(30).then(|| self.below(4) as i64);
        let extent = self.part_of(shape);
        let all = range.union(Range::new(pad.unwrap_or(0), pad.unwrap_or(0)));
        let view = View::Halo { extent, start, launched, pad, of_block };
        self.push(Op::Viewed(view), vec![], Value { shape, dtype, range: all });
    }

    fn windows(&mut self) {
        let shape = [self.pick(&[4, 8, 8, 16]), self.pick(&[8, 16, 32])];
        let dtype = self.pick(&[DType::F16, DType::F32, DType::F32, DType::I32, DType::F64]);
        let (size, stride, dilation) =
            (self.pick(&[2, 2, 3]), self.pick(&[1, 1, 2, 3]), self.pick(&[1, 1, 2]));
        if shape[0] * shape[1] * size * size > 32 * self.threads {
            return;
        }
        let range = self.small(dtype);
        let sums = range.map(|x| x * size * size).union(Range::new(0, 0));
        if sums.magnitude() > exact(dtype) {
            return;
        }
        let extent = shape.map(|extent| (extent * stride + self.below(5) as i64 - 2).max(1));
        let (start, launched) = (self.begin(), self.percent(65));
        let view = View::Windows { extent, start, launched, size, stride, dilation, range };
        self.push(Op::Viewed(view), vec![], Value { shape, dtype, range: sums });
    }

    fn pixels(&mut self) {
        let tile = [self.pick(&[2, 4]), self.pick(&[4, 8])];
        let shape = [tile[0] * tile[1], self.pick(&[8, 16, 32])];
        let dtype = self.pick(&[DType::F16, DType::Bf16, DType::F32, DType::I32, DType::I8]);
        let range = self.small(dtype).union(Range::new(0, 0));
        let extent = tile.map(|extent| (extent + self.below(5) as i64 - 2).max(1));
        let (start, launched) = (self.begin(), self.percent(65));
        let view = View::Pixels { extent, start, tile, launched };
        self.push(Op::Viewed(view), vec![], Value { shape, dtype, range });
    }
}
