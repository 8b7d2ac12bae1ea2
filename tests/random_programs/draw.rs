//! Draws programs. Each is a function of a seed and a number.

use hx_dtype::DType;
use hx_target::Target;

use super::draw_more::{added, packs};
use super::program::{
    Binary, Compare, Condition, Fold, Input, Inset, LoadPath, Node, Op, POINTS, Program, Range, Shape, Step,
    Store, Value, ViewKind, bounds, exact, is_narrow, is_unsigned,
};
use crate::support::Random;

/// Numbers of threads of a block.
const THREADS: &[i64] = &[32, 64, 96, 128, 128, 160, 192, 256];

/// Extents that suit matrix instructions (`EVEN`), and others (`ODD`).
const EVEN: &[i64] = &[8, 16, 16, 24, 32, 32, 40, 48, 64, 64, 80, 96];
const ODD: &[i64] = &[1, 2, 3, 4, 5, 6, 7, 10, 12, 20, 33, 36, 50, 56, 100];

/// Element types, repeated in proportion to their probability.
const TYPES: &[DType] = &[
    DType::F16,
    DType::F16,
    DType::F16,
    DType::Bf16,
    DType::Bf16,
    DType::F32,
    DType::F32,
    DType::F32,
    DType::F64,
    DType::I32,
    DType::I32,
    DType::I64,
    DType::U32,
    DType::U64,
    DType::I16,
    DType::U16,
    DType::I8,
    DType::I8,
    DType::U8,
    DType::I4,
    DType::U4,
    DType::F8E4m3,
    DType::F8E5m2,
    DType::F4E2m1,
];

/// Maximal number of elements of a tile per thread.
pub(super) const PER_THREAD: i64 = 64;

/// Maximal number of elements of a tile.
pub(super) const ELEMENTS: i64 = 6144;

/// Returns program number `case` of a seed. It requests the rows of number `turn`.
pub(super) fn program(seed: u64, case: u64, turn: u64) -> Program {
    let mut random = Random::new(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95));
    let threads = THREADS[below(&mut random, THREADS.len())];
    let blocks = 1 + below(&mut random, 3) as i64;
    let mut draw = Draw { random, threads, blocks, extents: Vec::new(), steps: Vec::new() };
    for _ in 0..3 {
        let extent = draw.extent();
        draw.extents.push(extent);
    }
    draw.instructions(turn);
    let wanted = draw.steps.len() + 3 + draw.below(7);
    let first = draw.shape();
    let dtype = draw.dtype();
    draw.load(first, dtype, None);
    draw.family(turn);
    while draw.steps.len() < wanted {
        draw.step();
    }
    draw.last(turn);
    let roles = draw.in_flight(seed, case);
    Program { name: format!("random_{case}"), threads: draw.threads, blocks, roles, steps: draw.steps }
}

fn below(random: &mut Random, n: usize) -> usize {
    (random.next() % n.max(1) as u64) as usize
}

pub(super) struct Draw {
    pub(super) random: Random,
    pub(super) threads: i64,
    pub(super) blocks: i64,
    extents: Vec<i64>,
    pub(super) steps: Vec<Step>,
}

impl Draw {
    pub(super) fn below(&mut self, n: usize) -> usize {
        below(&mut self.random, n)
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns true with a probability of `n` percent.
    pub(super) fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    fn extent(&mut self) -> i64 {
        if self.percent(75) { self.pick(EVEN) } else { self.pick(ODD) }
    }

    pub(super) fn fits(&self, shape: Shape) -> bool {
        shape[0] * shape[1] <= ELEMENTS.min(self.threads * PER_THREAD)
    }

    pub(super) fn shape(&mut self) -> Shape {
        loop {
            let extents = self.extents.clone();
            let mut shape = [self.pick(&extents), self.pick(&extents)];
            if self.percent(5) {
                shape[self.below(2)] = 1;
            }
            if self.fits(shape) {
                return shape;
            }
            let at = self.below(self.extents.len());
            self.extents[at] = self.extent();
        }
    }

    fn dtype(&mut self) -> DType {
        self.pick(TYPES)
    }

    pub(super) fn value(&self, at: usize) -> Value {
        self.steps[at].value
    }

    pub(super) fn push(&mut self, op: Op, from: Vec<usize>, value: Value) -> usize {
        let mut store = self.pick(&[
            Store::Direct,
            Store::Direct,
            Store::Direct,
            Store::ThroughShared,
            Store::ThroughShared,
            Store::Transposed,
            Store::Transposed,
            Store::Added,
        ]);
        let mut stored = self.part_of(value.shape);
        let packed = value.dtype.bits() < 8;
        if packed {
            stored[1] = value.shape[1];
        }
        let adds = Target::usual().rows().copies.iter().any(|row| added(row) == Some(value.dtype));
        let exact_sum = value.range.magnitude().saturating_mul(self.blocks) <= exact(value.dtype);
        if packed && store == Store::Transposed || store == Store::Added && !(adds && exact_sum) {
            store = Store::Direct;
        }
        let place =
            if store == Store::ThroughShared { self.inset(value.shape, value.dtype, 30) } else { None };
        let margin = self.inset(value.shape, value.dtype, 25);
        self.steps.push(Step { op, from, value, store, stored, margin, place, kept: true });
        self.steps.len() - 1
    }

    /// Draws the numbers of rows and columns that exist in a tile: often all.
    pub(super) fn part_of(&mut self, shape: Shape) -> Shape {
        shape.map(|extent| match self.below(5) {
            0 => 1 + self.below(extent as usize) as i64,
            1 => (extent - 1).max(1),
            2 => (extent / 2).max(1),
            _ => extent,
        })
    }

    /// Draws an existing tile, preferably a late one.
    pub(super) fn any(&mut self) -> usize {
        let count = self.steps.len();
        if self.percent(70) { count - 1 - self.below(count.min(2)) } else { self.below(count) }
    }

    /// Draws a tile whose type supports elementwise computation.
    pub(super) fn any_wide(&mut self) -> usize {
        let at = self.any();
        if !is_narrow(self.value(at).dtype) {
            return at;
        }
        match self.any_where(|v| !is_narrow(v.dtype)) {
            Some(at) => at,
            None => {
                let shape = self.shape();
                self.load(shape, DType::F32, None)
            }
        }
    }

    pub(super) fn any_where(&mut self, good: impl Fn(&Value) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.steps.len()).filter(|&at| good(&self.steps[at].value)).collect();
        if fitting.is_empty() { None } else { Some(self.pick(&fitting)) }
    }

    fn step(&mut self) {
        match self.below(168) {
            160..168 => {
                let number = self.random.next();
                self.family(number);
            }
            154..160 => self.integers(),
            140..154 => self.window(),
            132..140 => self.batch(),
            124..132 => {
                let number = self.random.next();
                self.instruction(number, 0);
            }
            100..106 => self.scan(),
            106..113 => self.part(),
            113..116 => self.unpack(),
            116..124 => self.gemm(),
            0..8 => {
                let (shape, dtype) = (self.shape(), self.dtype());
                self.load(shape, dtype, None);
            }
            8..13 => self.fill(),
            13..36 => self.map(),
            36..46 => self.cast(),
            46..55 => self.reduce(),
            55..66 => self.gemm(),
            66..77 => self.product(false),
            77..84 => self.stage(),
            84..90 => self.rearrange(),
            90..95 => self.repeat(),
            _ => self.branch(),
        }
    }

    pub(super) fn compare(&mut self) -> Compare {
        self.pick(&[Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Eq, Compare::Ne])
    }

    pub(super) fn small(&mut self, dtype: DType) -> Range {
        let high = self.pick(&[1, 2, 3, 4, 7]);
        let (least, most) = bounds(dtype);
        Range::new(least.max(-high), most.min(high))
    }

    pub(super) fn input(&mut self, tile: Shape, dtype: DType) -> Input {
        let range = self.small(dtype);
        let extent = self.part_of(tile);
        let transposed = self.percent(20);
        let around =
            (!transposed && self.percent(15)).then(|| [8 * self.below(3) as i64, 2 + self.below(7) as i64]);
        let view = if !transposed && self.percent(25) { ViewKind::GlobalView } else { ViewKind::Tile };
        let pad = self.percent(12).then(|| self.below(4) as i64).filter(|pad| *pad <= bounds(dtype).1);
        let per_block = self.percent(60);
        let skip = if transposed || around.is_some() { None } else { self.inset(tile, dtype, 20) };
        let skip = skip.map(|inset| Inset { after: [0, 0], ..inset });
        let place = self.inset(tile, dtype, 30);
        Input { dtype, tile, extent, per_block, transposed, around, pad, range, view, skip, place }
    }

    /// Loads a tile from global memory and returns its step. `most` bounds the magnitude of the elements; `None` keeps the
    /// drawn range.
    pub(super) fn load(&mut self, shape: Shape, dtype: DType, most: Option<i64>) -> usize {
        // A row of packed elements must be whole bytes. Otherwise load a tile of `u8`.
        let dtype = if dtype.bits() < 8 && !packs(shape, dtype) { DType::U8 } else { dtype };
        let mut input = self.input(shape, dtype);
        if dtype.bits() < 8 {
            let extent = [input.extent[0], shape[1]];
            input = Input { extent, transposed: false, around: None, view: ViewKind::Tile, ..input };
        }
        if let Some(most) = most {
            input.range = Range::new(input.range.low.max(-most), input.range.high.min(most));
            input.pad = input.pad.filter(|pad| *pad <= most);
        }
        if shape[0] == 1 && dtype.bits() >= 8 && self.percent(60) {
            let view = ViewKind::Vector;
            input = Input { per_block: false, transposed: false, around: None, skip: None, view, ..input };
        }
        if input.view == ViewKind::Tile && !input.transposed && input.around.is_none() && self.percent(12) {
            let view = ViewKind::Gathered {
                rows: 1 + self.below(2 * shape[0] as usize) as i64,
                shared: self.percent(40),
            };
            input = Input { view, skip: None, ..input };
        }
        if input.view == ViewKind::Tile && input.around.is_none() && self.percent(10) {
            let view = ViewKind::Inferred;
            input = Input { view, extent: shape, transposed: false, skip: None, pad: None, ..input };
        }
        let mut path =
            self.pick(&[LoadPath::Load, LoadPath::Load, LoadPath::Copy, LoadPath::Shared, LoadPath::Async]);
        if path == LoadPath::Async
            && (input.pad.is_some() || input.view == ViewKind::Vector || !input.is_aligned())
        {
            path = LoadPath::Shared;
        }
        let pad = input.pad.unwrap_or(0);
        let range = input.range.union(Range::new(pad, pad));
        self.push(Op::Load { input, path }, Vec::new(), Value { shape, dtype, range })
    }

    fn fill(&mut self) {
        let (shape, mut dtype) = (self.shape(), self.dtype());
        if is_narrow(dtype) {
            dtype = DType::F32;
        }
        let value = self.below(5) as i64;
        let pin = if self.percent(70) { self.distribution(shape) } else { None };
        let range = Range::new(value, value);
        self.push(Op::Fill { value, pin }, Vec::new(), Value { shape, dtype, range });
    }

    fn map(&mut self) {
        let first = self.any_wide();
        let Value { shape, dtype, .. } = self.value(first);
        let mut from = vec![first];
        let mut out = shape;
        let joins = |a: Shape, b: Shape| (0..2).all(|i| a[i] == b[i] || a[i] == 1 || b[i] == 1);
        for _ in 0..self.below(3) {
            let threads = self.threads;
            let fits = |v: &Value| {
                let joined = [out[0].max(v.shape[0]), out[1].max(v.shape[1])];
                v.dtype == dtype
                    && joins(out, v.shape)
                    && joined[0] * joined[1] <= ELEMENTS.min(threads * PER_THREAD)
            };
            let other = match self.any_where(fits) {
                Some(other) if self.percent(70) => other,
                _ => {
                    let broadcast = [[1, out[1]], [out[0], 1], out][self.below(3)];
                    self.load(broadcast, dtype, None)
                }
            };
            let shape = self.value(other).shape;
            out = [out[0].max(shape[0]), out[1].max(shape[1])];
            from.push(other);
        }
        let args: Vec<Value> = from.iter().map(|&at| self.value(at)).collect();
        let function = self.percent(15);
        let depth = 1 + self.below(3);
        let (mut node, mut range) = self.node(&args, dtype, depth, !function, out);
        // Every argument must occur, and the result has the common shape of all arguments.
        for (at, arg) in args.iter().enumerate() {
            if !node.mentions(at) {
                let op = self.pick(&[Binary::Add, Binary::Max, Binary::Min]);
                (node, range) = self.binary(dtype, op, (node, range), (Node::Arg(at), arg.range));
            }
        }
        self.push(Op::Map { node, function }, from, Value { shape: out, dtype, range });
    }

    /// Draws an expression of the arguments that stays exact, and returns its range.
    fn node(
        &mut self,
        args: &[Value],
        dtype: DType,
        depth: usize,
        index: bool,
        shape: Shape,
    ) -> (Node, Range) {
        if depth == 0 || self.percent(10) {
            return self.leaf(args, dtype, index, shape);
        }
        let signed = !is_unsigned(dtype);
        let inner = self.node(args, dtype, depth - 1, index, shape);
        match self.below(16) {
            0 if !signed => {
                let none = Node::Binary(Binary::Sub, inner.0.clone().into(), inner.0.into());
                (Node::Neg(none.into()), Range::new(0, 0))
            }
            0 if signed => (Node::Neg(inner.0.into()), inner.1.map(|x| -x)),
            1 if signed => {
                let range = Range::new(0, inner.1.magnitude());
                (Node::Abs(inner.0.into()), range)
            }
            2 | 3 => self.rem(inner),
            4 if dtype.is_float() => {
                let rounding = self.pick(&["floor", "ceil", "round"]);
                let range = Range::new(inner.1.low.div_euclid(2) - 1, inner.1.high.div_euclid(2) + 1);
                (Node::Half(rounding, inner.0.into()), range)
            }
            4 => {
                let by = self.pick(&[2, 3, 5]);
                (Node::Quotient(inner.0.into(), by), inner.1.map(|x| x.div_euclid(by)))
            }
            5 if dtype.is_float() => {
                let inner = self.fitted(dtype, inner, 8);
                (Node::Ratio(inner.0.into(), self.pick(&[2, 3, 4])), inner.1)
            }
            6 | 10 | 11 if dtype.is_float() && (dtype == DType::F64 || self.percent(50)) => {
                let point = self.below(POINTS.len());
                let value = POINTS[point].1;
                let one = (Node::Point(point, inner.0.into()), Range::new(value, value));
                let other = self.leaf(args, dtype, index, shape);
                self.binary(dtype, Binary::Add, one, other)
            }
            7 | 8 => {
                let conditions = (0..1 + self.below(3)).map(|_| {
                    let compare = self.compare();
                    let operands = [0, 1].map(|_| self.leaf(args, dtype, index, shape).0);
                    Condition { compare, operands, dtype }
                });
                let conditions: Vec<_> = conditions.collect();
                let other = self.node(args, dtype, depth - 1, index, shape);
                let range = inner.1.union(other.1);
                (self.select(conditions, inner.0, other.0), range)
            }
            9 if dtype.is_float() => {
                let mut a = inner;
                let mut b = self.leaf(args, dtype, index, shape);
                if a.1.magnitude().saturating_mul(b.1.magnitude()) > exact(dtype) / 2 {
                    (a, b) = (self.rem(a), self.rem(b));
                }
                let last = self.leaf(args, dtype, index, shape);
                let c = self.fitted(dtype, last, 16);
                let range = a.1.zip(b.1, |x, y| x * y).zip(c.1, |x, y| x + y);
                (Node::Fma(a.0.into(), b.0.into(), c.0.into()), range)
            }
            _ => {
                let other = self.node(args, dtype, depth - 1, index, shape);
                let op = self.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max]);
                let op = if op == Binary::Sub && !signed { Binary::Add } else { op };
                self.binary(dtype, op, inner, other)
            }
        }
    }

    fn leaf(&mut self, args: &[Value], dtype: DType, index: bool, shape: Shape) -> (Node, Range) {
        match self.below(10) {
            0 => {
                // Use an argument as one operand: numbers alone would be computed at compile time.
                let (x, at) = (self.below(6) as i64, self.below(args.len()));
                let op = self.pick(&[Binary::Add, Binary::Mul, Binary::Min, Binary::Max]);
                self.binary(dtype, op, (Node::Arg(at), args[at].range), (Node::Const(x), Range::new(x, x)))
            }
            1 if index => {
                let axis = self.below(2);
                (Node::Index(axis), Range::new(0, shape[axis] - 1))
            }
            _ => {
                let at = self.below(args.len());
                debug_assert_eq!(args[at].dtype, dtype);
                (Node::Arg(at), args[at].range)
            }
        }
    }

    fn rem(&mut self, inner: (Node, Range)) -> (Node, Range) {
        let by = self.pick(&[2, 3, 4, 5, 7, 8, 10]);
        (Node::Rem(inner.0.into(), by), Range::new(0, by - 1))
    }

    /// Reduces an expression so that `factor` times its magnitude is still exact.
    fn fitted(&mut self, dtype: DType, inner: (Node, Range), factor: i64) -> (Node, Range) {
        if inner.1.magnitude().saturating_mul(factor) <= exact(dtype) { inner } else { self.rem(inner) }
    }

    fn binary(&mut self, dtype: DType, op: Binary, a: (Node, Range), b: (Node, Range)) -> (Node, Range) {
        let compute = |x: i64, y: i64| match op {
            Binary::Add => x.saturating_add(y),
            Binary::Sub => x.saturating_sub(y),
            Binary::Mul => x.saturating_mul(y),
            Binary::Min => x.min(y),
            Binary::Max => x.max(y),
        };
        let comparing = matches!(op, Binary::Min | Binary::Max);
        let (mut a, mut b) = (a, b);
        if !comparing && a.1.zip(b.1, compute).magnitude() > exact(dtype) {
            a = self.rem(a);
            b = if matches!(b.0, Node::Const(_)) { b } else { self.rem(b) };
        }
        let range = a.1.zip(b.1, compute);
        (Node::Binary(op, a.0.into(), b.0.into()), range)
    }

    fn cast(&mut self) {
        let at = self.any();
        let Value { shape, dtype, range } = self.value(at);
        let to = self.dtype();
        let packed = to.bits() < 8 && !packs(shape, to);
        if to == dtype || packed || is_unsigned(to) && range.low < 0 {
            return;
        }
        let range = if range.magnitude() <= exact(to) {
            range
        } else if dtype.is_float() && to.is_float() && !is_narrow(to) && range.magnitude() <= 1 << 14 {
            // The cast rounds once, as the reference does.
            let bound = (range.magnitude() as u64).next_power_of_two() as i64;
            Range::new(if range.low < 0 { -bound } else { 0 }, bound)
        } else {
            return;
        };
        self.push(Op::Cast, vec![at], Value { shape, dtype: to, range });
    }

    fn reduce(&mut self) {
        let at = self.any_wide();
        let Value { shape, dtype, range } = self.value(at);
        let axis = self.below(2);
        let mut fold = self.pick(&[Fold::Sum, Fold::Sum, Fold::Max, Fold::Min]);
        if fold == Fold::Sum && range.magnitude() * shape[axis] > exact(dtype) {
            fold = Fold::Max;
        }
        let range = match fold {
            Fold::Sum => range.map(|x| x * shape[axis]),
            Fold::Max | Fold::Min => range,
        };
        let mut out = shape;
        out[axis] = 1;
        let closure = self.percent(45);
        self.push(Op::Reduce { axis, fold, closure }, vec![at], Value { shape: out, dtype, range });
    }

    /// Returns a tile of at most that magnitude: the given one, or a remainder of it.
    pub(super) fn shrunk(&mut self, at: usize, most: i64) -> usize {
        let value = self.value(at);
        if value.range.magnitude() <= most {
            return at;
        }
        let node = Node::Rem(Node::Arg(0).into(), most + 1);
        let range = Range::new(0, most);
        self.push(Op::Map { node, function: false }, vec![at], Value { range, ..value })
    }

    fn rearrange(&mut self) {
        let at = self.any();
        let value = self.value(at);
        let packed = value.dtype.bits() < 8;
        let layout = if !packed && self.percent(75) { self.distribution(value.shape) } else { None };
        self.push(Op::Rearrange { layout }, vec![at], value);
    }

    fn repeat(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let dtype = value.dtype;
        let at = self.shrunk(at, exact(dtype) / 4);
        let start = self.value(at);
        let other = self.any_where(|v| v.dtype == dtype && v.shape == value.shape);
        let mut from = vec![at];
        from.extend(other);
        let args: Vec<Value> = from.iter().map(|&at| self.value(at)).collect();
        let drawn = self.node(&args[args.len() - 1..], dtype, 1, true, value.shape);
        let (step, added) = self.fitted(dtype, (drawn.0.renumbered(args.len() - 1), drawn.1), 8);
        let count = 1 + self.below(4) as i64;
        let acc = Box::new(Node::Arg(0));
        let total = start.range.zip(added, |x, y| x + y * count).union(start.range);
        let (node, range) = match self.below(3) {
            0 if total.magnitude() <= exact(dtype) => (Node::Binary(Binary::Add, acc, step.into()), total),
            1 => (Node::Binary(Binary::Max, acc, step.into()), start.range.union(added)),
            _ => {
                let by = self.pick(&[3, 5, 8]);
                let sum = Node::Binary(Binary::Add, acc, step.into());
                (Node::Rem(sum.into(), by), start.range.union(Range::new(0, by - 1)))
            }
        };
        let at_launch = self.percent(50);
        self.push(Op::Repeat { node, count, at_launch }, from, Value { range, ..value });
    }

    fn branch(&mut self) {
        let at = self.any_wide();
        let value = self.value(at);
        let args = [value];
        let (yes, a) = self.node(&args, value.dtype, 1, true, value.shape);
        let (no, b) = self.node(&args, value.dtype, 1, true, value.shape);
        let flag = self.percent(50);
        let range = a.union(b);
        self.push(Op::Branch { yes, no, flag }, vec![at], Value { range, ..value });
    }
}
