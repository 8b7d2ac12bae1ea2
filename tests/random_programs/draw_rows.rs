//! Draws steps that request a row of the catalogue. Programs take turns with the rows, so that rare rows occur as often as common
//! ones. The compiler may still choose another row.

use hx_dtype::DType;
use hx_target::{Catalogue, ComputeRow, ConvertRow, CopyRow, GemmRow, Target};

use super::bits::{Bit, Bits, joined_bits};
use super::draw::Draw;
use super::draw_more::added;
use super::program::{
    Binary, Compare, Condition, Input, Join, LoadPath, Node, Op, POINTS, Range, Shape, Store, Value,
    ViewKind, exact, is_narrow, is_unsigned,
};

/// The row that a program requests.
enum Asked {
    Convert(&'static ConvertRow),
    Gemm(&'static GemmRow),
    /// A copy that moves matrices of eight by eight between shared memory and registers.
    Matrices(&'static CopyRow),
    Add(&'static CopyRow),
    /// An exchange of matrices of eight by eight between lanes.
    Turned,
}

/// Returns request number `at` of program number `case`. A program has several, so that each row has many programs.
fn asked(case: u64, at: u64) -> Option<Asked> {
    let Catalogue { converts, gemms, copies, exchanges, .. } = Target::usual().rows();
    // Products by descriptor need warp groups and tiles of 64 rows: rings draw them.
    let gemms: Vec<&GemmRow> = gemms.iter().filter(|row| !row.is_by_descriptor()).collect();
    // Programs compute with small integers, and a scale is neither 0 nor negative.
    let converts = || converts.iter().filter(|row| !row.from.is_scale() && !row.to.is_scale());
    let mut all: Vec<Asked> = converts().map(Asked::Convert).collect();
    all.extend(copies.iter().filter(|row| added(row).is_some()).map(Asked::Add));
    let is_packed = |row: &&GemmRow| row.is_swapped && row.a.dtype().bits() < 8;
    // The compiler grants one in ten of these requests: the instruction with its operands in plain order is often cheaper.
    all.extend(gemms.iter().filter(|row| is_packed(row)).flat_map(|row| [*row; 8].map(Asked::Gemm)));
    let (swapped, plain): (Vec<&GemmRow>, Vec<&GemmRow>) = gemms.into_iter().partition(|row| row.is_swapped);
    // Request these rows more often, because the compiler often finds another way.
    for _ in 0..2 {
        all.extend(plain.iter().chain(&swapped).copied().map(Asked::Gemm));
        let is_rare =
            |row: &&ConvertRow| row.values >= 16 || !row.order.is_empty() || row.from == DType::F8E5m2;
        all.extend(converts().filter(is_rare).map(Asked::Convert));
        all.extend(copies.iter().filter(|row| row.is_collective()).map(Asked::Matrices));
        all.extend(copies.iter().filter(|row| row.is_collective() && !row.is_load()).map(Asked::Matrices));
        let turned = exchanges.iter().filter(|row| row.held.is_some());
        all.extend(turned.flat_map(|_| [Asked::Turned, Asked::Turned, Asked::Turned]));
    }
    let of = all.len() as u64;
    (of > 0).then(|| all.swap_remove(turned_to(case, (at, REQUESTS), of)))
}

/// The number of rows that a program requests, and the number of operators.
const REQUESTS: u64 = 5;
const OPERATORS: u64 = 3;

/// Returns the place in a list of `of` entries that request `at` of `requests` has in program number `case`.
fn turned_to(case: u64, (at, requests): (u64, u64), of: u64) -> usize {
    ((case + at * of / requests) % of) as usize
}

impl Draw {
    /// Draws the operands of the requested instruction. Some need a block of one warp, so this precedes all other steps.
    pub(super) fn instructions(&mut self, case: u64) {
        for at in 0..REQUESTS {
            self.instruction(case, at);
        }
    }

    pub(super) fn instruction(&mut self, case: u64, at: u64) {
        let first = self.steps.is_empty();
        match asked(case, at) {
            Some(Asked::Convert(row)) => self.converted(row),
            Some(Asked::Gemm(row)) => self.multiplied(row),
            Some(Asked::Matrices(row)) if row.is_load() => self.matrices_loaded(row),
            Some(Asked::Matrices(row)) if first => self.matrices_stored(row),
            Some(Asked::Turned) if first => self.turned(),
            _ => {}
        }
    }

    /// Draws the last steps: operators of a single thread, and an addition to memory with the requested instruction.
    pub(super) fn last(&mut self, case: u64) {
        let operators = &Target::usual().rows().computes;
        let of = operators.len() as u64;
        for at in 0..OPERATORS.min(of) {
            self.computed(&operators[turned_to(case, (at, OPERATORS), of)]);
        }
        // There are many combinations of types, operators and ways to wrap.
        self.integers();
        self.divided_by_zero(case);
        for at in 0..REQUESTS {
            if let Some(Asked::Add(row)) = asked(case, at) {
                self.added(row);
            }
        }
    }

    fn added(&mut self, row: &CopyRow) {
        let Some(dtype) = added(row) else { return };
        // The width is an odd multiple of the row's elements, so that twice as many do not fit.
        let each = i64::from(row.bytes * 8 / dtype.bits());
        let shape = [self.pick(&[4, 8, 16, 32]), each * self.pick(&[1, 3, 5])];
        let from = self.load(shape, dtype, Some(3));
        let value = self.value(from);
        let op = Op::Map { node: binary(Binary::Add, Node::Arg(0)), function: false };
        let at = self.push(op, vec![from], Value { range: value.range.map(|x| 2 * x), ..value });
        (self.steps[at].store, self.steps[at].stored) = (Store::Added, shape);
    }

    fn converted(&mut self, row: &ConvertRow) {
        if !row.order.is_empty() {
            return self.paired(row);
        }
        let shape = match row.values {
            // Elements narrower than a byte are stored in whole bytes.
            1 if row.to.bits() >= 8 => [self.pick(&[4, 8, 16, 32]), self.pick(&[1, 3, 5, 7, 33])],
            ..16 => [self.pick(&[4, 8, 16, 32]), self.pick(&[32, 64, 128])],
            // Each thread needs enough elements.
            _ => [32, self.pick(&[64, 128])],
        };
        let at = self.load(shape, row.from, Some(exact(row.to)));
        let value = self.value(at);
        if value.dtype == row.from && !(is_unsigned(row.to) && value.range.low < 0) {
            self.push(Op::Cast, vec![at], Value { dtype: row.to, ..value });
        }
    }

    /// Multiplies packed elements in the order in which the instruction takes them.
    fn paired(&mut self, row: &ConvertRow) {
        let shape = [64, 64];
        let place = |element: usize| row.order.get(element).map_or(0, |place| i64::from(*place));
        let paired = ViewKind::Paired { values: i64::from(row.values), places: [1, 2, 4, 8].map(place) };
        let input = self.input(shape, row.from);
        let range = input.range;
        let input = Input {
            extent: shape,
            transposed: false,
            around: None,
            pad: None,
            view: self.pick(&[paired, paired, ViewKind::Inferred]),
            skip: None,
            place: None,
            ..input
        };
        let path = self.pick(&[LoadPath::Load, LoadPath::Async]);
        let at = self.push(Op::Load { input, path }, vec![], Value { shape, dtype: row.from, range });
        let wide = self.push(Op::Cast, vec![at], Value { shape, dtype: row.to, range });
        let other = self.load([16, 64], row.to, Some(7));
        self.multiply(wide, other, (DType::F32, false), [false; 2]);
    }

    fn multiplied(&mut self, row: &GemmRow) {
        let types = [row.a.dtype(), row.b.dtype()];
        let rivals = Target::usual().rows().gemms.iter().filter(|r| !r.is_by_descriptor());
        let rivals = rivals.filter(|r| [r.a.dtype(), r.b.dtype()] == types);
        let steps: Vec<i64> = rivals.map(|r| r.shape[2]).filter(|k| *k > 1).collect();
        let is_long = steps.iter().any(|step| *step < row.shape[2]);
        let [m, n, k] = if row.is_swapped {
            // With swapped operands an instruction has 8 rows instead of 16, so M is 8, 24 or 40, which are no multiples of 16.
            // A long step is faster only if a warp has several instructions along M and N.
            match is_long {
                true => [self.pick(&[8, 24, 40]), self.pick(&[48, 64, 128]), row.shape[2] * 2],
                false => [self.pick(&[8, 24]), self.pick(&[16, 32]), row.shape[2] * self.pick(&[1, 3])],
            }
        } else if row.threads == 1 {
            // Use a K that the step of no other instruction divides.
            let few = [2, 3, 4, 6, 8, 12, 20, 24].into_iter();
            let few: Vec<i64> = few.filter(|k| steps.iter().all(|step| k % step != 0)).collect();
            [self.pick(&[16, 32, 48]), self.pick(&[8, 16, 24, 32]), self.pick(&few)]
        } else if is_long {
            // The step is long, so K is at least two steps.
            [self.pick(&[32, 48]), self.pick(&[24, 32]), row.shape[2] * self.pick(&[2, 3])]
        } else {
            [self.pick(&[16, 32, 48]), self.pick(&[8, 16, 24, 32]), row.shape[2] * self.pick(&[1, 3])]
        };
        let staged = [self.percent(30), self.percent(30)];
        let [a, b] = [([m, k], types[0]), ([n, k], types[1])].map(|(shape, dtype)| {
            // The elements are f32 until the instruction reads them.
            self.load(shape, if dtype == DType::Tf32 { DType::F32 } else { dtype }, Some(7))
        });
        self.multiply(a, b, (row.c.dtype, types[0] == DType::Tf32), staged);
    }

    fn multiply(&mut self, a: usize, b: usize, (out, tf32): (DType, bool), staged: [bool; 2]) {
        let [x, y] = [a, b].map(|at| self.value(at));
        let ([m, k], n) = (x.shape, y.shape[0]);
        let range = x.range.zip(y.range, |x, y| x * y).map(|x| x * k).union(Range::new(0, 0));
        let op = Op::Gemm { init: Some(0), staged, places: [None; 2], walk: None, warps: None, tf32 };
        self.push(op, vec![a, b], Value { shape: [m, n], dtype: out, range });
    }

    /// Draws an operand B that is loaded from shared memory, with as many matrices of eight by eight as the row moves at once.
    fn matrices_loaded(&mut self, row: &CopyRow) {
        let (dtype, [n, k]) = (self.pick(&[DType::F16, DType::Bf16]), eights(row));
        let m = self.pick(&[16, 32]);
        let a = self.load([m, k], dtype, Some(7));
        let (b, staged) = if transposes(row) {
            let from = self.load([k, n], dtype, Some(7));
            let value = Value { shape: [n, k], ..self.value(from) };
            let op = Op::Stage { transposed: true, permute: false, pin: None, place: None };
            (self.push(op, vec![from], value), false)
        } else {
            (self.load([n, k], dtype, Some(7)), true)
        };
        self.multiply(a, b, (DType::F32, false), [false, staged]);
    }

    /// Draws an operand B of one warp that is also stored to shared memory.
    fn matrices_stored(&mut self, row: &CopyRow) {
        self.threads = 32;
        let (dtype, [n, k]) = (self.pick(&[DType::F16, DType::Bf16]), eights(row));
        let a = self.load([16, k], dtype, Some(7));
        let b = self.load([n, k], dtype, Some(7));
        self.multiply(a, b, (DType::F32, false), [false; 2]);
        let value = self.value(b);
        let transposed = transposes(row);
        let shape = if transposed { [k, n] } else { [n, k] };
        // After the store of a single matrix each lane has two neighbours. Reading them back would transpose them as well, unless
        // the columns are contiguous.
        let pin = (transposed && row.words == 1).then(|| format!("({n}, {k}) : (1, {n})"));
        let op = Op::Stage { transposed, permute: false, pin, place: None };
        let at = self.push(op, vec![b], Value { shape, ..value });
        (self.steps[at].store, self.steps[at].stored) = (Store::Direct, shape);
    }

    /// Draws a product that becomes, transposed, operand B of the next product. Each warp has the elements that it needs there.
    fn turned(&mut self) {
        let warps = self.pick(&[1, 2]);
        self.threads = 32 * warps;
        let (m, n, k) = (self.pick(&[16, 32]), 16 * warps, self.pick(&[16, 32]));
        let [a, b] = [[m, k], [n, k]].map(|shape| self.load(shape, DType::F16, Some(2)));
        self.product_over([1, warps], a, b);
        let small = self.shrunk(self.steps.len() - 1, 15);
        let value = Value { dtype: DType::F16, ..self.value(small) };
        let cast = self.push(Op::Cast, vec![small], value);
        let op = Op::Part { first: [0, 0], turned: true };
        let turned = self.push(op, vec![cast], Value { shape: [n, m], ..value });
        let e = self.load([16, m], DType::F16, Some(3));
        self.product_over([1, warps], e, turned);
    }

    /// Draws a product with this arrangement of the warps.
    fn product_over(&mut self, arrangement: Shape, a: usize, b: usize) {
        self.multiply(a, b, (DType::F32, false), [false; 2]);
        if let Some(Op::Gemm { warps, .. }) = self.steps.last_mut().map(|step| &mut step.op) {
            *warps = Some(arrangement);
        }
    }

    /// Draws an expression with one operator, of a separate tile.
    fn computed(&mut self, row: &ComputeRow) {
        let dtype = if row.dtype == DType::Bool { DType::F32 } else { row.dtype };
        if is_narrow(dtype) {
            return;
        }
        let shape = [self.pick(&[4, 8, 16]), self.pick(&[2, 5, 8, 16, 32])];
        let at = self.load(shape, dtype, Some(3));
        let value = self.value(at);
        let Some((node, range)) = expression(&row.operator, row.dtype, value.range) else { return };
        let function = self.percent(30);
        self.push(Op::Map { node, function }, vec![at], Value { range, ..value });
    }
}

fn transposes(row: &CopyRow) -> bool {
    row.name.ends_with(".trans")
}

/// Returns the shape of operand B with as many matrices of eight by eight as the row moves at once.
fn eights(row: &CopyRow) -> Shape {
    match row.words {
        1 => [8, 8],
        2 => [8, 16],
        _ => [16, 16],
    }
}

fn binary(op: Binary, x: Node) -> Node {
    Node::Binary(op, x.clone().into(), x.into())
}

/// Returns an expression that applies the operator to the first argument, with its range. `None` if the language has no such
/// operator.
fn expression(operator: &str, dtype: DType, range: Range) -> Option<(Node, Range)> {
    let x = || Node::Arg(0);
    let one = || Node::Const(1);
    let most = range.magnitude();
    // The conditions differ between elements.
    let chosen = |join: Join, how: &[Compare]| {
        let condition = |how: &Compare| Condition { compare: *how, operands: [x(), one()], dtype };
        let conditions = how.iter().map(condition).collect();
        let other = Node::Binary(Binary::Add, x().into(), one().into());
        let node = Node::Select(join, conditions, x().into(), other.into());
        Some((node, range.union(range.map(|x| x + 1))))
    };
    let point = |name: &str| {
        let at = POINTS.iter().position(|(text, _)| text.split('(').any(|part| part == name))?;
        let value = POINTS[at].1;
        if is_unsigned(dtype) && value < 0 {
            return None;
        }
        let sum = Node::Binary(Binary::Add, x().into(), Node::Point(at, x().into()).into());
        Some((sum, range.map(|x| x + value)))
    };
    let squares = Range::new(0, most * most);
    match (operator, dtype) {
        ("And", DType::Bool) => chosen(Join::All, &[Compare::Lt, Compare::Ge]),
        ("Or", DType::Bool) => chosen(Join::Any, &[Compare::Lt, Compare::Eq]),
        ("Not", DType::Bool) => chosen(Join::Not, &[Compare::Lt]),
        ("Eq", DType::Bool) => chosen(Join::Same, &[Compare::Lt, Compare::Gt]),
        ("Ne", DType::Bool) => chosen(Join::Differ, &[Compare::Le, Compare::Gt]),
        ("Select", DType::Bool) => chosen(Join::Choice, &[Compare::Le, Compare::Gt, Compare::Lt]),
        ("Xor", DType::Bool) => chosen(Join::DifferBits, &[Compare::Le, Compare::Gt]),
        (_, DType::Bool) => None,
        ("And" | "Or" | "Xor" | "Shl" | "Shr" | "Popcount" | "Clz" | "Mulhi", _) => {
            bits_of(operator, dtype, range)
        }
        ("Add", _) => Some((binary(Binary::Add, x()), range.map(|x| 2 * x))),
        ("Sub", _) => Some((binary(Binary::Sub, x()), Range::new(0, 0))),
        ("Mul", _) => Some((binary(Binary::Mul, x()), squares)),
        ("Min", _) => Some((Node::Binary(Binary::Min, x().into(), one().into()), range.map(|x| x.min(1)))),
        ("Max", _) => Some((Node::Binary(Binary::Max, x().into(), one().into()), range.map(|x| x.max(1)))),
        ("Div", dtype) if dtype.is_float() => Some((Node::Ratio(x().into(), 3), range)),
        ("Div", _) => Some((Node::Quotient(x().into(), 2), range.map(|x| x.div_euclid(2)))),
        ("Rem", _) => Some((Node::Rem(x().into(), 3), Range::new(0, 2))),
        ("Neg", dtype) if is_unsigned(dtype) => {
            Some((Node::Neg(binary(Binary::Sub, x()).into()), Range::new(0, 0)))
        }
        ("Neg", _) => Some((Node::Neg(x().into()), range.map(|x| -x))),
        ("Abs", _) => Some((Node::Abs(x().into()), Range::new(0, most))),
        ("Fma", _) => {
            let range = Range::new(-most * most, most * most).zip(range, |a, b| a + b);
            Some((Node::Fma(x().into(), x().into(), x().into()), range))
        }
        ("Lt", _) => chosen(Join::All, &[Compare::Lt]),
        ("Le", _) => chosen(Join::All, &[Compare::Le]),
        ("Eq", _) => chosen(Join::All, &[Compare::Eq]),
        ("Ne", _) => chosen(Join::All, &[Compare::Ne]),
        ("Select", _) => chosen(Join::All, &[Compare::Gt]),
        ("Floor" | "Ceil" | "Round", _) => {
            let how =
                ["floor", "ceil", "round"].into_iter().find(|how| how.eq_ignore_ascii_case(operator))?;
            let range = Range::new(range.low.div_euclid(2) - 1, range.high.div_euclid(2) + 1);
            Some((Node::Half(how, x().into()), range))
        }
        _ => point(&operator.to_lowercase()),
    }
}

/// Returns an operation on the bits of the first argument and of its successor.
fn bits_of(operator: &str, dtype: DType, range: Range) -> Option<(Node, Range)> {
    let x = Node::Arg(0);
    let next = Node::Binary(Binary::Add, x.clone().into(), Node::Const(1).into());
    let after = range.map(|x| x + 1);
    let joined = |op: Bit| Some((Bits::node(op, dtype, &[&x, &next]), joined_bits(op, range, after)));
    let shifted = |op: Bit, range: Range| Some((Bits::node(op, dtype, &[&x, &Node::Const(2)]), range));
    let counted = |op: Bit| Some((Bits::node(op, dtype, &[&x]), Range::new(0, i64::from(dtype.bits()))));
    match operator {
        "And" => joined(Bit::And),
        "Or" => joined(Bit::Or),
        "Xor" => joined(Bit::Xor),
        "Shl" => shifted(Bit::Shl, range.map(|x| x << 2)),
        "Shr" => shifted(Bit::Shr, range.map(|x| x >> 2)),
        "Popcount" => counted(Bit::Ones),
        "Clz" => counted(Bit::Zeros),
        _ => Some((Bits::node(Bit::Upper, dtype, &[&x, &next]), Range::new(-1, 0))),
    }
}
