//! Draws products: of tiles, and with a loop over K.

use hx_dtype::DType;

use super::draw::Draw;
use super::program::{Feed, Fills, Input, Op, Range, Shape, Step, Value, ViewKind, is_narrow, sums_of};

impl Draw {
    pub(super) fn gemm(&mut self) {
        let multiplies =
            |v: &Value| sums_of(v.dtype).is_some() && (!is_narrow(v.dtype) || v.range.magnitude() <= 15);
        let product = |step: &Step| matches!(step.op, Op::Gemm { .. } | Op::Product { .. });
        let sums: Vec<usize> = (0..self.steps.len())
            .filter(|&at| product(&self.steps[at]) && self.steps[at].value.dtype == DType::F32)
            .collect();
        let a = if !sums.is_empty() && self.percent(75) {
            // A product's result becomes an operand of the next product, rounded to the operand type.
            let sum = self.pick(&sums);
            let small = self.shrunk(sum, 15);
            let to = self.pick(&[DType::F16, DType::Bf16]);
            let value = Value { dtype: to, ..self.value(small) };
            self.push(Op::Cast, vec![small], value)
        } else {
            let Some(a) = self.any_where(multiplies) else { return };
            self.shrunk(a, 15)
        };
        let Value { shape: [m, k], dtype, range } = self.value(a);
        let Some(out) = sums_of(dtype).filter(|_| dtype.bits() >= 8 || k % 32 == 0) else { return };
        let own = dtype;
        let dtype = self.partner(own);
        let alike = |v: &Value| v.dtype == dtype && v.shape[1] == k && multiplies(v);
        let b = match self.any_where(alike) {
            Some(b) if self.percent(40) => self.shrunk(b, 15),
            _ => {
                let n = self.shape()[0];
                if !self.fits([n, k]) {
                    return;
                }
                self.load([n, k], dtype, Some(7))
            }
        };
        let n = self.value(b).shape[0];
        if !self.fits([m, n]) || m * n * k > 1 << 18 {
            return;
        }
        let product = range.zip(self.value(b).range, |x, y| x * y).map(|x| x * k);
        let start = self.any_where(|v| v.dtype == out && v.shape == [m, n] && v.range.magnitude() < 1 << 20);
        // A part is read-only, and a reduced tile is a part of a tile that keeps the axis: neither can be the accumulator.
        let start = start.filter(|&at| !self.is_part(at));
        let start = match start.filter(|_| self.percent(50)) {
            None if self.percent(25) => Some(self.load([m, n], out, None)),
            start => start,
        };
        let init = if start.is_some() { None } else { Some(self.below(3) as i64) };
        let begins = start.map_or(Range::new(0, init.unwrap_or(0)), |c| self.value(c).range);
        let range = product.union(Range::new(0, 0)).zip(begins, |x, y| x + y);
        let staged = [self.percent(30), self.percent(30)];
        let tf32 = own == DType::F32 && k % 4 == 0 && self.percent(50);
        let warps = self.warps([m, n], own);
        let from = [a, b].into_iter().chain(start).collect();
        let [x, y] = [self.value(a), self.value(b)];
        let (places, walk) = self.slices_of_operands(staged, [x, y], if tf32 { 4 } else { 1 });
        let op = Op::Gemm { init, staged, places, walk, warps, tf32 };
        self.push(op, from, Value { shape: [m, n], dtype: out, range });
    }

    /// Reports whether a tile is held with the layout of another tile, of which it is a part.
    fn is_part(&self, at: usize) -> bool {
        match self.steps[at].op {
            Op::Part { .. } | Op::Reduce { .. } => true,
            Op::Changed(ref change) => change.is_part(),
            Op::Cast => self.is_part(self.steps[at].from[0]),
            _ => false,
        }
    }

    /// Draws the numbers of warps along M and N; `None` leaves them to the compiler, as when the tile does not permit the drawn
    /// ones.
    fn warps(&mut self, [m, n]: Shape, dtype: DType) -> Option<[i64; 2]> {
        let warps = self.threads / 32;
        let along_m = self.pick(&[1, 2, 3, 4]);
        let fits = warps % along_m == 0 && m % (16 * along_m) == 0 && n % (8 * (warps / along_m)) == 0;
        (fits && dtype.bits() == 16 && self.percent(40)).then(|| [along_m, warps / along_m])
    }

    /// Draws a product with a loop over K; with `ring` through the stages of a pipeline, if its copies can be asynchronous.
    pub(super) fn product(&mut self, ring: bool) {
        let dtype = self.pick(&[
            DType::F16,
            DType::F16,
            DType::Bf16,
            DType::F32,
            DType::F64,
            DType::I8,
            DType::U8,
            DType::F8E4m3,
            DType::F8E5m2,
            DType::I4,
            DType::U4,
        ]);
        let [m, mut n, mut k] = self.extents_of_product(dtype, ring);
        let narrow = is_narrow(dtype);
        if dtype.bits() == 16 && self.percent(8) {
            // Use a single matrix of eight by eight elements.
            (n, k) = (8, 8);
        }
        if !self.fits([m, k]) || !self.fits([n, k]) || m * n * k > 1 << 17 {
            return;
        }
        let steps = 1 + self.below(4) as i64;
        let last = self.part_of([k, 1])[0];
        let kinds = [dtype, self.partner(dtype)];
        let [mut a, mut b] = [0, 1].map(|i| {
            let input = self.input([[m, k], [n, k]][i], kinds[i]);
            // Elements beyond K count as zero in both operands. Packed elements come in whole bytes.
            let last = if kinds[i].bits() < 8 { k } else { last };
            let view = ViewKind::Tile;
            Input { extent: [input.extent[0], last], pad: None, view, around: None, skip: None, ..input }
        });
        if steps > 1 || narrow && dtype.bits() < 8 {
            // `extent` describes the last tile, which is also the last along K. Therefore no operand is transposed.
            a.transposed = false;
            b.transposed = false;
        }
        let pipelined = [&a, &b].into_iter().all(|input| Input { place: None, ..*input }.is_aligned());
        let feed = match self.below(5) {
            _ if ring && pipelined => Feed::Ring { stages: 2 + self.below(3) as i64, fills: Fills::Copies },
            0 => Feed::Registers,
            1..4 if pipelined => Feed::Pipeline { stages: 2 + self.below(3) as i64 },
            _ => Feed::Shared,
        };
        if let Feed::Pipeline { .. } | Feed::Ring { .. } = feed {
            // Asynchronous copies write to slices that begin at multiples of 4 bytes.
            for input in [&mut a, &mut b] {
                input.place = input.place.filter(|_| input.is_aligned());
            }
        }
        let (init, scale) = (self.below(3) as i64, feed == Feed::Registers && !narrow && self.percent(50));
        let out = sums_of(dtype).unwrap_or(DType::F32);
        let factor = if scale { 2 } else { 1 };
        let range = a.range.zip(b.range, |x, y| x * y * factor).map(|x| x * k * steps);
        let range = range.union(Range::new(0, 0)).map(|x| x + init);
        let value = Value { shape: [m, n], dtype: out, range };
        self.push(Op::Product { a, b, steps, feed, asynchronous: false, init, scale }, Vec::new(), value);
    }
}
