//! Draws integers that wrap: expressions of tiles of any width, casts between them, divisions whose divisors may be 0, and
//! scalars of the block.

use hx_dtype::DType;

use super::draw::{Draw, ELEMENTS, PER_THREAD};
use super::integers::{Division, Number, WHOLE, Zero, is_within, limits, wrapped};
use super::program::{Binary, Condition, Join, Node, Op, Range, Shape, Value, bounds, exact, is_unsigned};

/// An expression with its range.
pub(super) type Ranged = (Node, Range);

/// The greatest magnitude of 64-bit elements; some leave the range of narrower types.
const LARGE: i64 = 1 << 40;

/// The tiles whose elements an expression uses.
pub(super) struct Tiles<'a> {
    pub(super) args: &'a [Value],
    pub(super) shape: Shape,
}

impl Draw {
    /// Draws an expression of integers of any width.
    pub(super) fn integers(&mut self) {
        let whole = |v: &Value| WHOLE.contains(&v.dtype);
        let first = match self.any_where(whole) {
            Some(at) if self.percent(60) => at,
            _ => {
                let shape = self.shape();
                self.large(shape)
            }
        };
        let (mut from, mut shape) = (vec![first], self.value(first).shape);
        for _ in 0..self.below(3) {
            let most = ELEMENTS.min(self.threads * PER_THREAD);
            let fits = |v: &Value| {
                let joins = (0..2).all(|i| shape[i] == v.shape[i] || shape[i] == 1 || v.shape[i] == 1);
                let joined = [0, 1].map(|i| shape[i].max(v.shape[i]));
                whole(v) && joins && joined[0] * joined[1] <= most
            };
            let other = match self.any_where(fits) {
                Some(other) if self.percent(60) => other,
                _ => {
                    let shape = [[1, shape[1]], [shape[0], 1], shape][self.below(3)];
                    self.large(shape)
                }
            };
            shape = [0, 1].map(|i| shape[i].max(self.value(other).shape[i]));
            from.push(other);
        }
        let args: Vec<Value> = from.iter().map(|&at| self.value(at)).collect();
        let tiles = Tiles { args: &args, shape };
        let dtype = self.pick(WHOLE);
        let depth = 1 + self.below(3);
        let (mut node, mut range) = self.whole(&tiles, dtype, depth);
        for at in 0..args.len() {
            if !node.mentions(at) {
                let arg = self.argument(&tiles, at, dtype);
                (node, range) = self.joined(dtype, (node, range), arg);
            }
        }
        let (node, range) = self.exact_again(dtype, (node, range));
        self.push(Op::Map { node, function: false }, from, Value { shape, dtype, range });
    }

    /// Draws a tile with integers of every magnitude that its type holds exactly, or with small ones.
    fn large(&mut self, shape: Shape) -> usize {
        let dtype = self.pick(WHOLE);
        let at = self.load(shape, dtype, None);
        if self.percent(60) {
            let (low, high) = bounds(dtype);
            let (low, high) = (low.max(-LARGE), high.min(LARGE));
            let step = &mut self.steps[at];
            if let Op::Load { input, .. } = &mut step.op {
                input.range = Range::new(low, high);
                step.value.range = input.range;
            }
        }
        at
    }

    /// Draws an expression in which each leaf has a tile.
    pub(super) fn whole(&mut self, tiles: &Tiles<'_>, dtype: DType, depth: usize) -> Ranged {
        if depth == 0 || self.percent(10) {
            return self.element(tiles, dtype);
        }
        match self.below(18) {
            14.. => self.bits(tiles, dtype, depth),
            0..4 => {
                let [a, b] = [0, 1].map(|_| self.whole(tiles, dtype, depth - 1));
                self.joined(dtype, a, b)
            }
            4 => {
                let (x, range) = self.whole(tiles, dtype, depth - 1);
                let negated = (Node::Neg(x.into()), range.map(|x| -x));
                wrapped(negated, dtype).unwrap_or_else(|| self.element(tiles, dtype))
            }
            5 if !is_unsigned(dtype) => {
                let (x, range) = self.whole(tiles, dtype, depth - 1);
                // The smallest number of a type is its own absolute value, because negating it wraps.
                wrapped((Node::Abs(x.into()), Range::new(0, range.magnitude())), dtype)
                    .unwrap_or_else(|| self.element(tiles, dtype))
            }
            6..9 => self.divided(tiles, dtype, depth),
            9 | 10 => {
                let conditions = (0..1 + self.below(2)).map(|_| self.compared(tiles)).collect();
                let [x, y] = [0, 1].map(|_| self.whole(tiles, dtype, depth - 1));
                (self.select(conditions, x.0, y.0), x.1.union(y.1))
            }
            11 | 12 => {
                let from = self.pick(WHOLE);
                let inner = self.whole(tiles, from, depth - 1);
                self.converted_to(inner, [from, dtype]).unwrap_or_else(|| self.element(tiles, dtype))
            }
            _ => {
                let (x, _) = self.whole(tiles, dtype, depth - 1);
                let by = self.pick(&[2, 3, 7, 10, 100]);
                (Node::Rem(x.into(), by), Range::new(0, by - 1))
            }
        }
    }

    /// Draws a leaf: an element of a tile, its coordinate, or one of these with a constant or a scalar of the block.
    pub(super) fn element(&mut self, tiles: &Tiles<'_>, dtype: DType) -> Ranged {
        let at = self.below(tiles.args.len());
        let arg = self.argument(tiles, at, dtype);
        match self.below(8) {
            0 => {
                let axis = self.below(2);
                let types = [DType::I32, dtype];
                let index = (Node::Index(axis), Range::new(0, tiles.shape[axis] - 1));
                self.converted_to(index, types).unwrap_or(arg)
            }
            1 => {
                let x = self.constant(dtype);
                self.joined(dtype, arg, (Node::Const(x), Range::new(x, x)))
            }
            2 | 3 => {
                let number = self.number(dtype);
                self.joined(dtype, arg, number)
            }
            _ => arg,
        }
    }

    pub(super) fn argument(&mut self, tiles: &Tiles<'_>, at: usize, dtype: DType) -> Ranged {
        let Value { dtype: own, range, .. } = tiles.args[at];
        match self.converted_to((Node::Arg(at), range), [own, dtype]) {
            Some(converted) => converted,
            // A negative number cast to an unsigned 64-bit type is beyond the reference, which has only the lower half of that
            // range.
            None => {
                let rest = (Node::Rem(Node::Arg(at).into(), 100), Range::new(0, 99));
                (Node::Cast(rest.0.into(), [own, dtype]), rest.1)
            }
        }
    }

    /// Returns a `cast`, which wraps if the type does not hold the range; `None` if the reference of the result is not exact.
    fn converted_to(&mut self, (node, range): Ranged, [from, to]: [DType; 2]) -> Option<Ranged> {
        if from == to {
            return Some((node, range));
        }
        wrapped((Node::Cast(node.into(), [from, to]), range), to)
    }

    /// Combines two expressions by an operator; the result may wrap.
    fn joined(&mut self, dtype: DType, (a, x): Ranged, (b, y): Ranged) -> Ranged {
        let op = self.pick(&[Binary::Add, Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max]);
        self.computed_by(op, dtype, (a.clone(), x), (b.clone(), y))
            .unwrap_or_else(|| (Node::Binary(Binary::Min, a.into(), b.into()), x.zip(y, i64::min)))
    }

    fn computed_by(&self, op: Binary, dtype: DType, (a, x): Ranged, (b, y): Ranged) -> Option<Ranged> {
        let range = x.zip(y, |x, y| match op {
            Binary::Add => x + y,
            Binary::Sub => x - y,
            Binary::Mul => x.saturating_mul(y),
            Binary::Min => x.min(y),
            Binary::Max => x.max(y),
        });
        wrapped((Node::Binary(op, a.into(), b.into()), range), dtype)
    }

    /// Draws a quotient or a remainder. The divisor is an element, which may be 0, or a scalar other than 0.
    fn divided(&mut self, tiles: &Tiles<'_>, dtype: DType, depth: usize) -> Ranged {
        let (x, of) = self.whole(tiles, dtype, depth - 1);
        let (by, divisors) =
            if self.percent(25) { self.number(dtype) } else { self.whole(tiles, dtype, depth - 1) };
        let other = self.below(6) as i64;
        let zero = match &by {
            // A scalar that is 0 must not be a divisor.
            Node::Number(_) if divisors == Range::new(0, 0) => return (x, of),
            Node::Number(_) => Zero::Never,
            _ if self.percent(50) => Zero::Constant(other),
            _ => Zero::Dividend,
        };
        let otherwise = match zero {
            Zero::Constant(other) => Range::new(other, other),
            Zero::Dividend => of,
            Zero::Never | Zero::Reported => Range::new(0, 0),
        };
        let remainder = self.percent(50);
        let range = if remainder {
            // The remainder has the sign of the divisor and a smaller magnitude.
            Range::new((divisors.low + 1).min(0), (divisors.high - 1).max(0))
        } else if divisors.low >= 0 {
            of.union(Range::new(0, 0))
        } else {
            Range::new(-of.magnitude(), of.magnitude())
        };
        let division = Division { remainder, operands: [x, by], zero };
        let range = range.union(otherwise);
        // The smallest number divided by -1 wraps to itself.
        wrapped((Node::Divided(division.into()), range), dtype).unwrap_or_else(|| self.element(tiles, dtype))
    }

    /// Draws a comparison of two expressions of one type, preferably unsigned. It may be 64-bit, since the reference can compare
    /// its upper half.
    fn compared(&mut self, tiles: &Tiles<'_>) -> Condition {
        let unsigned = [DType::U8, DType::U16, DType::U32, DType::U64];
        let dtype = if self.percent(70) { self.pick(&unsigned) } else { self.pick(WHOLE) };
        let operands = [0, 1].map(|_| {
            let own = if dtype == DType::U64 && self.percent(60) { DType::I64 } else { dtype };
            let mut drawn = self.element(tiles, own);
            if dtype == DType::U64 && drawn.1.magnitude() > exact(own) {
                drawn = self.argument(tiles, 0, own);
            }
            let (x, range) = drawn;
            let cast = if own == dtype { x } else { Node::Cast(x.into(), [own, dtype]) };
            // A negative number becomes a large unsigned one: in the reference it lies above all others.
            if range.low < 0 && own != dtype { Node::Wrapped(cast.into(), dtype) } else { cast }
        });
        Condition { compare: self.compare(), operands, dtype }
    }

    pub(super) fn constant(&mut self, dtype: DType) -> i64 {
        let Range { low, high } = limits(dtype);
        let any = [0, 1, 2, 3, 5, 7, 10, 100, high / 3, high, low, low / 3, -1, -2, -7];
        let fitting: Vec<i64> = any.into_iter().filter(|x| (low..=high).contains(x)).collect();
        self.pick(&fitting)
    }

    /// Draws a scalar of the block. Its value is known here and at the launch.
    fn number(&mut self, dtype: DType) -> Ranged {
        let depth = 1 + self.below(3);
        let start = match self.below(3) {
            0 if dtype.bits() < 64 => self.narrowed(dtype),
            _ => self.of_numbers(dtype, depth, false),
        };
        let steps = self.percent(30).then(|| {
            let count = self.pick(&[1, 2, 3, 10, 300]);
            (count, self.of_numbers(dtype, 2, true))
        });
        let annotated = self.percent(50);
        let number = Number { dtype, start, steps, annotated };
        match number.value().filter(|value| is_within(Range::new(*value, *value), limits(dtype))) {
            Some(value) => (Node::Number(number.into()), Range::new(value, value)),
            // The value is beyond the exact range of the reference: use a small number instead.
            None => {
                let value = self.below(8) as i64;
                let number = Number { dtype, start: Node::Launched(value), steps: None, annotated };
                (Node::Number(number.into()), Range::new(value, value))
            }
        }
    }

    /// Draws a number of any magnitude from the launch, reduced to the range of a type.
    fn narrowed(&mut self, to: DType) -> Node {
        let from = self.pick(&[DType::I16, DType::U16, DType::I32, DType::U32, DType::I64]);
        let Range { low, high } = limits(from);
        let (low, high) = (low.max(-LARGE), high.min(LARGE));
        let value = low + self.below((high - low) as usize) as i64;
        let launched = Node::Launched(value);
        if from == to { launched } else { Node::Wrapped(Node::Cast(launched.into(), [from, to]).into(), to) }
    }

    /// Draws an expression of integers of the launch, and perhaps of the scalar itself. Every result is wrapped to the range of
    /// the type, even if it has not left it.
    pub(super) fn of_numbers(&mut self, dtype: DType, depth: usize, own: bool) -> Node {
        if depth == 0 {
            return match self.below(if own { 7 } else { 5 }) {
                0..3 if dtype.bits() < 64 => Node::Launched(self.constant(dtype)),
                0..5 => Node::Launched(self.below(9) as i64),
                _ => Node::Arg(0),
            };
        }
        let x = self.of_numbers(dtype, depth - 1, own);
        let into = |node: Node| Node::Wrapped(node.into(), dtype);
        match self.below(15) {
            12.. => into(self.bits_of_numbers(dtype, &x, depth - 1, own)),
            0 => into(Node::Neg(x.into())),
            1 | 2 => {
                let remainder = self.percent(50);
                let by = self.of_numbers(dtype, depth - 1, own);
                let division = Division { remainder, operands: [x, by], zero: Zero::Dividend };
                into(Node::Divided(division.into()))
            }
            3 => {
                let other = self.of_numbers(dtype, depth - 1, own);
                let operands = [0, 1].map(|_| self.of_numbers(dtype, 0, own));
                let condition = Condition { compare: self.compare(), operands, dtype };
                Node::Select(Join::All, vec![condition], x.into(), other.into())
            }
            4..6 | 9 if !own => {
                let from = self.pick(WHOLE);
                let inner = self.of_numbers(from, depth - 1, own);
                let cast = Node::Cast(inner.into(), [from, dtype]);
                if from == dtype { x } else { into(cast) }
            }
            6 => Node::Rem(x.into(), self.pick(&[2, 3, 7, 10, 100])),
            7 | 8 => {
                // A divisor that is known to be 0 is an error even in a branch that is not chosen, so do not multiply by 0.
                let constant = self.constant(dtype);
                let op = if constant == 0 { Binary::Add } else { self.pick(&[Binary::Add, Binary::Mul]) };
                let constant = Node::Const(constant);
                into(Node::Binary(op, x.into(), constant.into()))
            }
            _ => {
                let y = self.of_numbers(dtype, depth - 1, own);
                let op = self.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max]);
                into(Node::Binary(op, x.into(), y.into()))
            }
        }
    }

    /// Reduces a value to one that is exact without wrapping, because other steps compute with it.
    fn exact_again(&mut self, dtype: DType, (node, range): Ranged) -> Ranged {
        let (low, high) = bounds(dtype);
        if is_within(range, Range::new(low, high)) {
            return (node, range);
        }
        if dtype.bits() <= 16 {
            // Only the smallest number has no negation within the type.
            return (Node::Binary(Binary::Max, node.into(), Node::Const(low).into()), Range::new(low, high));
        }
        let by = self.pick(&[65537, 1_000_003, 1 << 20]).min(exact(dtype));
        (Node::Rem(node.into(), by), Range::new(0, by - 1))
    }

    /// In some programs, divides a tile by the indices of its rows or columns, of which the first is 0.
    pub(super) fn divided_by_zero(&mut self, case: u64) {
        if case % 53 != 7 {
            return;
        }
        let (dtype, axis) = (self.pick(WHOLE), self.below(2));
        let shape = [self.pick(&[2, 4, 8, 16]), self.pick(&[2, 5, 8, 32])];
        let at = self.load(shape, dtype, None);
        let value = self.value(at);
        let index = Node::Cast(Node::Index(axis).into(), [DType::I32, dtype]);
        let by = if dtype == DType::I32 { Node::Index(axis) } else { index };
        let remainder = self.percent(50);
        let division = Division { remainder, operands: [Node::Arg(0), by], zero: Zero::Reported };
        let most = if remainder { 32 } else { value.range.magnitude() };
        let range = Range::new(if remainder { 0 } else { value.range.low.min(0) }, most);
        self.push(
            Op::Map { node: Node::Divided(division.into()), function: false },
            vec![at],
            Value { range, ..value },
        );
    }
}
