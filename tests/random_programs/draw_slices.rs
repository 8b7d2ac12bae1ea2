//! Draws slices: tiles anywhere in larger global or shared tensors. The text or the launch gives their starts, and loops iterate
//! over them.

use hx_dtype::DType;

use super::draw::Draw;
use super::program::{Inset, Op, Shape, Start, Value, Walk, exact, is_narrow};

/// Numbers of columns before a slice: most are not a multiple of 16 bytes.
const BEFORE: &[i64] = &[0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 12, 16, 20, 33];

/// Maximal number of elements of a tile that becomes a part of a larger one.
const LARGEST: i64 = 2048;

impl Draw {
    /// Draws a place in a larger tensor with a probability of `percent` percent. Packed elements begin at whole bytes. `None`
    /// otherwise, if the tile has more than [`LARGEST`] elements, or if no row or column would precede it.
    pub(super) fn inset(&mut self, shape: Shape, dtype: DType, percent: usize) -> Option<Inset> {
        if shape[0] * shape[1] > LARGEST || !self.percent(percent) {
            return None;
        }
        let whole = i64::from(8 / dtype.bits()).max(1);
        let packed = whole > 1;
        let mut start = match self.below(20) {
            0..11 => Start::Written,
            11..16 if !packed => Start::Launch,
            _ => Start::Steps(whole * self.pick(&[2, 4, 4, 8])),
        };
        let columns = match start {
            Start::Steps(step) => step * self.below(4) as i64,
            _ if packed => whole * self.pick(BEFORE),
            _ => self.pick(BEFORE),
        };
        let before = [self.pick(&[0, 0, 1, 2, 3]), columns];
        let mut after = [self.pick(&[0, 0, 1, 2]), self.pick(&[0, 0, 1, 2, 4, 7, 8, 11])];
        if packed {
            // Rows must begin at whole words.
            after[1] = (64 - columns % 64) % 64;
            start = if shape[1] % 64 == 0 { start } else { Start::Written };
        }
        let integer = self.pick(&[DType::I32, DType::I32, DType::I8, DType::U8, DType::I16, DType::U16]);
        (before != [0, 0]).then_some(Inset { before, after, start, integer })
    }

    /// Draws the places of a product's staged operands in larger tensors, and the loop over their slices along K.
    pub(super) fn slices_of_operands(
        &mut self,
        staged: [bool; 2],
        operands: [Value; 2],
        least: i64,
    ) -> ([Option<Inset>; 2], Option<Walk>) {
        let mut places = [None; 2];
        for (i, Value { shape, dtype, .. }) in operands.into_iter().enumerate() {
            if staged[i] {
                places[i] = self.inset(shape, dtype, 50);
            }
        }
        let (k, dtype) = (operands[0].shape[1], operands[0].dtype);
        let count = self.pick(&[2, 2, 3, 4]);
        let whole = k % count == 0 && (k / count) % least == 0;
        let walks = staged == [true; 2] && whole && !is_narrow(dtype) && self.percent(50);
        (places, walks.then(|| Walk { count, unroll: self.percent(50) }))
    }

    /// Draws a part of a tile through shared memory, or the sum of several overlapping parts.
    pub(super) fn window(&mut self) {
        let at = self.any();
        let value = self.value(at);
        let Value { shape: whole, dtype, range } = value;
        if whole[0] * whole[1] > 2 * LARGEST {
            return;
        }
        let packed = i64::from(8 / dtype.bits()).max(1);
        let axis = if self.percent(75) { 1 } else { 0 };
        let mut shape = whole;
        for d in 0..2 {
            shape[d] = match self.below(4) {
                0 => whole[d],
                1 => (whole[d] / 2).max(1),
                _ => 1 + self.below(whole[d] as usize) as i64,
            };
        }
        if packed > 1 {
            // The packed elements of a row must be whole words in memory.
            shape[1] = (shape[1] / 32 * 32).max(32);
            if shape[1] > whole[1] {
                return;
            }
        }
        let free = [whole[0] - shape[0], whole[1] - shape[1]];
        let mut first = free.map(|free| self.below(free as usize + 1) as i64);
        first[1] = first[1] / packed * packed;
        let room = free[axis] - first[axis];
        let most = [4, room + 1, exact(dtype) / range.magnitude().max(1)];
        let most = most.into_iter().min().unwrap_or(1).max(1);
        let count = if is_narrow(dtype) { 1 } else { 1 + self.below(most as usize) as i64 };
        let step = if count > 1 { room / (count - 1) } else { 0 };
        let step = if step > 0 { 1 + self.below(step as usize) as i64 } else { 0 };
        let start =
            if packed == 1 && count == 1 && self.percent(30) { Start::Launch } else { Start::Written };
        let walk = Walk { count, unroll: self.percent(50) };
        let range = range.map(|x| x * count);
        self.push(Op::Window { first, walk, axis, step, start }, vec![at], Value { shape, dtype, range });
    }

    /// Stages a tile through shared memory, in a pinned layout or at a place in a larger tensor, and perhaps transposed.
    pub(super) fn stage(&mut self) {
        let at = self.any();
        let value = self.value(at);
        let packed = value.dtype.bits() < 8;
        let transposed = !packed && self.percent(50);
        let place = self.inset(value.shape, value.dtype, 35);
        let [rows, columns] = place.map_or(value.shape, |place| place.whole(value.shape));
        let pin = match self.below(4) {
            _ if packed => None,
            0 => Some(format!("({rows}, {columns}) : ({}, 1)", columns + self.pick(&[0, 1, 2, 8]))),
            1 => Some(format!("({rows}, {columns}) : (1, {})", rows + self.pick(&[0, 1, 2, 8]))),
            2 if rows % 8 == 0 && columns % 64 == 0 => {
                let bits = 1 + self.below(3);
                Some(format!("swizzle<{bits}, 3, 3> ∘ ({rows}, {columns}) : ({columns}, 1)"))
            }
            _ => None,
        };
        let shape = if transposed { [value.shape[1], value.shape[0]] } else { value.shape };
        let permute = self.percent(30);
        self.push(Op::Stage { transposed, permute, pin, place }, vec![at], Value { shape, ..value });
    }
}
