//! Draws steps that take a tile apart or along an axis, and rare kinds of expressions.

use hx_dtype::{AtomicOp, DType};
use hx_target::{AtomicForm, CopyRow, Space};

use super::draw::Draw;
use super::program::{
    Condition, Fold, Input, Join, Node, Op, Range, Scanned, Shape, Value, ViewKind, exact, is_narrow,
    is_unsigned, sums_of,
};

/// Reports whether a row has a multiple of 8 elements, so that rows of packed elements are whole bytes.
pub(super) fn packs([_, columns]: Shape, dtype: DType) -> bool {
    columns % i64::from(8.max(8 / dtype.bits())) == 0
}

/// Returns the type of the elements that an instruction adds to global memory.
pub(super) fn added(row: &CopyRow) -> Option<DType> {
    let sums = |form: &AtomicForm| form.op == AtomicOp::Add && !form.returns;
    let form = row.atomic.filter(sums)?;
    (row.memory_space() == Space::Global).then_some(form.dtype)
}

/// The operators that join one or two conditions.
const TWO: &[Join] = &[
    Join::All,
    Join::Any,
    Join::Not,
    Join::Same,
    Join::Differ,
    Join::AllBits,
    Join::AnyBits,
    Join::NotBits,
    Join::DifferBits,
];

impl Draw {
    pub(super) fn scan(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let axis = self.below(2);
        let mut fold = self.pick(&[Fold::Sum, Fold::Sum, Fold::Max, Fold::Min]);
        let extent = value.shape[axis];
        if fold == Fold::Sum && value.range.magnitude() * extent > exact(value.dtype) {
            fold = Fold::Min;
        }
        let range = match fold {
            Fold::Sum => value.range.map(|x| x * extent).union(value.range),
            Fold::Max | Fold::Min => value.range,
        };
        let beside = self.any_where(|v| v.shape == value.shape && !is_narrow(v.dtype));
        let mut from = vec![at];
        from.extend(beside.filter(|_| self.percent(30)));
        let pair = from.len() > 1;
        let scanned = Scanned { axis, fold, pair, reverse: self.percent(40) };
        self.push(Op::Scan(scanned), from, Value { range, ..value });
    }

    /// Draws a product for each slice of K, and the sum of the products.
    pub(super) fn batch(&mut self) {
        let dtype = self.pick(&[DType::F16, DType::F16, DType::Bf16, DType::F32, DType::I8, DType::F8E4m3]);
        let slices = self.pick(&[2, 2, 3, 4, 8]);
        let (m, n) = (self.pick(&[8, 16, 16, 32, 33]), self.pick(&[8, 8, 16, 24]));
        let k = self.pick(&[16, 32]) * slices;
        if !self.fits([m, n * slices]) || !self.fits([m, k]) || !self.fits([n, k]) {
            return;
        }
        let last = self.part_of([k, 1])[0];
        let [a, b] = [m, n].map(|rows| {
            let input = self.input([rows, k], dtype);
            // Elements beyond K count as zero in both operands.
            let extent = [input.extent[0], last];
            let view = ViewKind::Tile;
            Input {
                extent,
                pad: None,
                transposed: false,
                view,
                around: None,
                skip: None,
                place: None,
                ..input
            }
        });
        let staged = a.is_aligned() && b.is_aligned() && self.percent(50);
        let out = sums_of(dtype).unwrap_or(DType::F32);
        let range = a.range.zip(b.range, |x, y| x * y).map(|x| x * k).union(Range::new(0, 0));
        let value = Value { shape: [m, n], dtype: out, range };
        self.push(Op::Batch { a, b, slices, staged }, Vec::new(), value);
    }

    pub(super) fn part(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let turned = self.percent(40);
        let (mut first, mut shape) = ([0, 0], value.shape);
        for axis in 0..2 {
            let extent = value.shape[axis];
            (first[axis], shape[axis]) = match self.below(6) {
                0 if extent % 2 == 0 => (extent / 2, extent / 2),
                1 if extent % 4 == 0 => (extent / 4, extent / 2),
                2 => (self.below(extent as usize) as i64, 1),
                3 if !turned => {
                    let first = self.below(extent as usize) as i64;
                    (first, 1 + self.below((extent - first) as usize) as i64)
                }
                _ => (0, extent),
            };
        }
        if turned {
            shape.swap(0, 1);
        } else if shape == value.shape {
            return;
        }
        self.push(Op::Part { first, turned }, vec![at], Value { shape, ..value });
    }

    /// Draws packed elements of any width, and widens them.
    pub(super) fn unpack(&mut self) {
        let narrow = [
            DType::I1,
            DType::U1,
            DType::I2,
            DType::U2,
            DType::I4,
            DType::U4,
            DType::I8,
            DType::U8,
            DType::F8E4m3,
            DType::F8E5m2,
            DType::F4E2m1,
        ];
        let from = self.pick(&narrow);
        let wide = [DType::F16, DType::F16, DType::Bf16, DType::F32, DType::I8, DType::U8];
        let to = self.pick(&wide);
        let rows = self.pick(&[4, 8, 16, 32]);
        let columns = self.pick(&[32, 64, 128]);
        let at = self.load([rows, columns], from, None);
        let value = self.value(at);
        if value.dtype == to || is_unsigned(to) && value.range.low < 0 || value.range.magnitude() > exact(to)
        {
            return;
        }
        self.push(Op::Cast, vec![at], Value { dtype: to, ..value });
    }

    /// Draws a type whose elements can be multiplied with those of this type.
    pub(super) fn partner(&mut self, dtype: DType) -> DType {
        let other = match dtype {
            DType::I8 => DType::U8,
            DType::U8 => DType::I8,
            DType::I4 => DType::U4,
            DType::U4 => DType::I4,
            DType::F8E4m3 => DType::F8E5m2,
            DType::F8E5m2 => DType::F8E4m3,
            other => other,
        };
        if self.percent(40) { other } else { dtype }
    }

    /// Returns the first of two expressions if the joined conditions hold, else the second.
    pub(super) fn select(&mut self, conditions: Vec<Condition>, x: Node, y: Node) -> Node {
        let join = match conditions.len() {
            2 => self.pick(TWO),
            3 => self.pick(&[Join::All, Join::Any, Join::Choice, Join::AllBits, Join::AnyBits]),
            _ => self.pick(&[Join::All, Join::Not, Join::NotBits]),
        };
        Node::Select(join, conditions, x.into(), y.into())
    }

    /// Draws a thread-value layout of the tile, with its factors in a random order. `None` if a thread would hold too many
    /// elements.
    pub(super) fn distribution(&mut self, [rows, columns]: Shape) -> Option<String> {
        let mut digits: Vec<(i64, i64)> = Vec::new();
        for (extent, stride) in [(rows, 1), (columns, rows)] {
            let (mut rest, mut step) = (extent, stride);
            for factor in [2, 2, 2, 2, 2, 2, 2, 3, 5, 7, 11] {
                if rest % factor == 0 {
                    digits.push((factor, step));
                    rest /= factor;
                    step *= factor;
                }
            }
            if rest > 1 {
                digits.push((rest, step));
            }
        }
        for i in (1..digits.len()).rev() {
            let j = self.below(i + 1);
            digits.swap(i, j);
        }
        let (mut threads, mut values) = (Vec::new(), Vec::new());
        let mut left = self.threads;
        for digit in digits {
            if left % digit.0 == 0 && self.percent(80) {
                left /= digit.0;
                threads.push(digit);
            } else {
                values.push(digit);
            }
        }
        let held: i64 = values.iter().map(|digit| digit.0).product();
        if held > 128 {
            return None;
        }
        if left > 1 {
            let at = self.below(threads.len() + 1);
            threads.insert(at, (left, 0));
        }
        let mode = |digits: &[(i64, i64)], of: fn(&(i64, i64)) -> i64| {
            let entries: Vec<String> = digits.iter().map(|digit| of(digit).to_string()).collect();
            match entries.as_slice() {
                [one] => one.clone(),
                all => format!("({})", all.join(", ")),
            }
        };
        if values.is_empty() {
            values.push((1, 0));
        }
        let [a, b] = [&threads, &values].map(|digits| mode(digits, |digit| digit.0));
        let [c, d] = [&threads, &values].map(|digits| mode(digits, |digit| digit.1));
        (!threads.is_empty()).then(|| format!("({a}, {b}) : ({c}, {d})"))
    }
}
