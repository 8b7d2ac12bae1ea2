//! A random program as data: steps that each make one tile, and what is known of the numbers in it.
//!
//! Every element is an integer that its type holds exactly, so sums come out the same in any order and results are compared
//! with `==`. [`Range`] is what guarantees it: it follows every operation.

use hx_dtype::DType;

/// Rows and columns of a tile.
pub(super) type Shape = [i64; 2];

/// What elements may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Range {
    pub(super) fn new(a: i64, b: i64) -> Range {
        Range { low: a.min(b), high: a.max(b) }
    }

    pub(super) fn magnitude(self) -> i64 {
        self.low.abs().max(self.high.abs())
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range::new(self.low.min(other.low), self.high.max(other.high))
    }

    pub(super) fn of_all(values: &[i64]) -> Range {
        let low = values.iter().copied().min().unwrap_or(0);
        let high = values.iter().copied().max().unwrap_or(0);
        Range::new(low, high)
    }

    pub(super) fn map(self, f: impl Fn(i64) -> i64) -> Range {
        Range::new(f(self.low), f(self.high))
    }

    pub(super) fn zip(self, other: Range, f: impl Fn(i64, i64) -> i64) -> Range {
        let [a, b] = [[self.low, self.high], [other.low, other.high]];
        Range::of_all(&[f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])])
    }
}

/// The greatest magnitude up to which every integer is exact.
pub(super) fn exact(dtype: DType) -> i64 {
    match dtype {
        DType::I1 | DType::I2 => 1,
        DType::U1 => 1,
        DType::U2 => 3,
        DType::I4 => 7,
        DType::U4 => 15,
        DType::I8 => 127,
        DType::U8 => 255,
        DType::F8E5m2 => 1 << 3,
        DType::F8E4m3 => 1 << 4,
        DType::Bf16 => 1 << 8,
        DType::F16 | DType::Tf32 => 1 << 11,
        DType::F32 => 1 << 24,
        DType::I32 | DType::U32 => 1 << 30,
        _ => 1 << 50,
    }
}

/// The least and the greatest integer of a type, among those that are exact.
pub(super) fn bounds(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::I1 => (-1, 0),
        DType::I2 => (-2, 1),
        _ if is_unsigned(dtype) => (0, exact(dtype)),
        _ => (-exact(dtype), exact(dtype)),
    }
}

pub(super) fn is_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U1 | DType::U2 | DType::U4 | DType::U8 | DType::U32 | DType::U64)
}

/// Types that are moved, converted and multiplied, but not computed with element by element.
pub(super) fn is_narrow(dtype: DType) -> bool {
    dtype.bits() <= 8
}

/// The type of a product's sums, if there are products of these elements.
pub(super) fn sums_of(dtype: DType) -> Option<DType> {
    match dtype {
        DType::I4 | DType::U4 | DType::I8 | DType::U8 | DType::I32 => Some(DType::I32),
        DType::U32 => Some(DType::U32),
        DType::F64 => Some(DType::F64),
        DType::F16 | DType::Bf16 | DType::Tf32 | DType::F32 | DType::F8E4m3 | DType::F8E5m2 => {
            Some(DType::F32)
        }
        _ => None,
    }
}

/// A tile in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    pub(super) range: Range,
}

/// A kernel of one block shape and its steps; the number of a step is the name of its tile.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) threads: i64,
    pub(super) blocks: i64,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    /// The steps whose tiles it takes.
    pub(super) from: Vec<usize>,
    pub(super) value: Value,
    /// How the tile is stored, if nothing else takes it.
    pub(super) store: Store,
    /// Rows and columns of the last block that are stored.
    pub(super) stored: Shape,
    /// Where it lies in the larger tensor that it is stored in.
    pub(super) margin: Option<Inset>,
    /// Where it lies in a larger shared tensor that it passes on its way.
    pub(super) place: Option<Inset>,
    /// False once the shrinker left it out.
    pub(super) kept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Store {
    Direct,
    ThroughShared,
    Transposed,
    /// Added to what other blocks give.
    Added,
}

/// Where a tile lies in a larger tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inset {
    /// Rows and columns before the tile.
    pub(super) before: Shape,
    /// Rows and columns after it.
    pub(super) after: Shape,
    pub(super) start: Start,
}

/// How a program says where a slice starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// By numbers.
    Written,
    /// By integers that the launch gives.
    Launch,
    /// Its columns by so many times an integer that the launch gives.
    Steps(i64),
}

impl Inset {
    /// How many elements an integer of the launch counts along an axis; nothing where the text says the start.
    pub(super) fn step(&self, axis: usize) -> Option<i64> {
        match self.start {
            Start::Launch => Some(1),
            Start::Steps(n) => (axis == 1).then_some(n),
            Start::Written => None,
        }
    }

    /// What is known at compile time to divide the start along an axis; 0 for the start 0.
    pub(super) fn divisor(&self, axis: usize) -> i64 {
        self.step(axis).unwrap_or(self.before[axis])
    }

    /// Whether the first tile of the slice is provably one: its start leaves no whole tiles before it.
    pub(super) fn is_tiled(&self, tile: Shape) -> bool {
        [0, 1].into_iter().all(|axis| self.divisor(axis) < tile[axis])
    }

    /// The extents of the larger tensor.
    pub(super) fn whole(&self, shape: Shape) -> Shape {
        [0, 1].map(|axis| self.before[axis] + shape[axis] + self.after[axis])
    }
}

/// A tensor in global memory. Each block reads one tile of it, or all read the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Input {
    pub(super) dtype: DType,
    pub(super) tile: Shape,
    /// Rows and columns of the last tile that exist.
    pub(super) extent: Shape,
    pub(super) per_block: bool,
    /// Stored by columns, and seen through `.T`.
    pub(super) transposed: bool,
    /// Columns of a wider tensor that it is part of, to its left and right.
    pub(super) around: Option<[i64; 2]>,
    /// What is read where nothing exists.
    pub(super) pad: Option<i64>,
    pub(super) range: Range,
    pub(super) view: ViewKind,
    /// Where it begins in a larger tensor, as the kernel says.
    pub(super) skip: Option<Inset>,
    /// Where it lies in a larger shared tensor on its way, or its table does.
    pub(super) place: Option<Inset>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ViewKind {
    Tile,
    GlobalView,
    /// Blocks of the tile's size, with the even elements of each word before the odd ones.
    Paired,
    /// A tensor of one dimension, with a new one before or after it.
    Vector,
    /// Rows that a table picks from so many; the table lies in shared memory, or in global.
    Gathered {
        rows: i64,
        shared: bool,
    },
}

impl Input {
    /// Whether an asynchronous copy can be aligned: pieces of 4 bytes that exist as a whole.
    pub(super) fn is_aligned(&self) -> bool {
        let even = |n: i64| n * i64::from(self.dtype.bits()) % 32 == 0;
        let [rows, columns] = self.extent;
        let along = if self.transposed { [rows, self.tile[0]] } else { [columns, self.tile[1]] };
        let total = if self.transposed && self.per_block { self.tile[0] } else { 0 };
        let wide = self.around.is_none_or(|around| around.iter().all(|&n| even(n)));
        // Of a stride, no more is known than that 16 divides it.
        let known = self.dtype.bits() > 1;
        let axis = usize::from(!self.transposed);
        let starts = [self.skip, self.place]
            .into_iter()
            .flatten()
            .all(|inset| even(inset.divisor(axis)) && even(inset.whole(self.tile)[axis] - self.tile[axis]));
        known && starts && even(along[0]) && even(along[1]) && even(total) && wide
    }
}

/// How a tile gets from global memory to registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Load,
    Copy,
    Shared,
    Async,
}

/// How the operands of a product with a loop over K get to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    Registers,
    Shared,
    Pipeline { stages: i64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fold {
    Sum,
    Max,
    Min,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Load {
        input: Input,
        way: Way,
    },
    Fill {
        value: i64,
        pin: Option<String>,
    },
    Map {
        node: Node,
        function: bool,
    },
    Cast,
    Reduce {
        axis: usize,
        fold: Fold,
        closure: bool,
    },
    /// From A, B and perhaps what C begins with.
    Gemm {
        init: Option<i64>,
        staged: [bool; 2],
        /// Where staged operands lie in larger shared tensors.
        places: [Option<Inset>; 2],
        /// Staged operands that are multiplied slice by slice of K, in a loop.
        walk: Option<Walk>,
        warps: Option<[i64; 2]>,
        tf32: bool,
    },
    /// All of K, tile by tile.
    Product {
        a: Input,
        b: Input,
        steps: i64,
        feed: Feed,
        init: i64,
        scale: bool,
    },
    /// A product for each of so many slices of K, and their sum.
    Batch {
        a: Input,
        b: Input,
        slices: i64,
        staged: bool,
    },
    /// Through shared memory.
    Stage {
        transposed: bool,
        permute: bool,
        /// Of the larger tensor, if there is one.
        pin: Option<String>,
        place: Option<Inset>,
    },
    /// A part of the tile by way of shared memory, or the sum of several, each further along an axis than the one before.
    Window {
        first: Shape,
        walk: Walk,
        axis: usize,
        /// How far each is from the one before.
        step: i64,
        start: Start,
    },
    Rearrange {
        layout: Option<String>,
    },
    /// Every prefix along an axis; beside it, of another tile by another operator.
    Scan {
        axis: usize,
        fold: Fold,
        pair: bool,
    },
    /// Rows and columns of a tile from these on, and then turned.
    Part {
        first: Shape,
        turned: bool,
    },
    /// The tile, changed so many times by an expression of itself (argument 0) and others.
    Repeat {
        node: Node,
        count: i64,
        at_launch: bool,
    },
    /// One of two expressions, by a parameter.
    Branch {
        yes: Node,
        no: Node,
        flag: bool,
    },
}

/// A loop over slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Walk {
    pub(super) count: i64,
    pub(super) unroll: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Min,
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

/// An elementwise expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Arg(usize),
    Const(i64),
    /// The coordinate along an axis.
    Index(usize),
    Neg(Box<Node>),
    Abs(Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Rem(Box<Node>, i64),
    /// Of integers, rounded down.
    Quotient(Box<Node>, i64),
    /// Half of a floating-point number, by `floor`, `ceil` or `round`.
    Half(&'static str, Box<Node>),
    /// `x * n / n`.
    Ratio(Box<Node>, i64),
    Fma(Box<Node>, Box<Node>, Box<Node>),
    /// A row of [`POINTS`].
    Point(usize, Box<Node>),
    /// The conditions hold together, or not.
    Select(Join, Vec<(Compare, Node, Node)>, Box<Node>, Box<Node>),
}

/// How conditions are joined: the first with those after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Join {
    All,
    Any,
    /// Not all of them.
    Not,
    /// Both hold, or both do not.
    Same,
    Differ,
    /// The second if the first holds, the third otherwise.
    Choice,
}

/// Functions at a point where they are exact: the text with `{z}` for a zero that the compiler cannot see, and the value.
pub(super) const POINTS: &[(&str, i64)] = &[
    ("exp({z})", 1),
    ("exp2({z})", 1),
    ("log({z} + 1.0)", 0),
    ("log2({z} + 1.0)", 0),
    ("sqrt({z} + 9.0)", 3),
    ("rsqrt({z} + 1.0)", 1),
    ("tanh({z})", 0),
    ("sigmoid({z}) * 2.0", 1),
    ("erf({z})", 0),
    ("sin({z})", 0),
    ("cos({z})", 1),
];

impl Program {
    /// Steps whose tiles nothing else takes: the results.
    pub(super) fn results(&self) -> Vec<usize> {
        let used = |at: usize| self.kept().any(|(_, step)| step.from.contains(&at));
        self.kept().map(|(at, _)| at).filter(|&at| !used(at)).collect()
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = (usize, &Step)> {
        self.steps.iter().enumerate().filter(|(_, step)| step.kept)
    }
}

impl Node {
    /// The expression with its arguments counted from `by` on.
    pub(super) fn renumbered(&self, by: usize) -> Node {
        let again = |node: &Node| Box::new(node.renumbered(by));
        match self {
            Node::Arg(at) => Node::Arg(at + by),
            Node::Const(_) | Node::Index(_) => self.clone(),
            Node::Neg(x) => Node::Neg(again(x)),
            Node::Abs(x) => Node::Abs(again(x)),
            Node::Binary(op, x, y) => Node::Binary(*op, again(x), again(y)),
            Node::Rem(x, n) => Node::Rem(again(x), *n),
            Node::Quotient(x, n) => Node::Quotient(again(x), *n),
            Node::Half(how, x) => Node::Half(how, again(x)),
            Node::Ratio(x, n) => Node::Ratio(again(x), *n),
            Node::Fma(x, y, z) => Node::Fma(again(x), again(y), again(z)),
            Node::Point(at, x) => Node::Point(*at, again(x)),
            Node::Select(join, conditions, x, y) => {
                let conditions =
                    conditions.iter().map(|(how, a, b)| (*how, a.renumbered(by), b.renumbered(by))).collect();
                Node::Select(*join, conditions, again(x), again(y))
            }
        }
    }

    /// Whether it takes that argument.
    pub(super) fn mentions(&self, at: usize) -> bool {
        match self {
            Node::Arg(arg) => *arg == at,
            Node::Const(_) | Node::Index(_) => false,
            Node::Neg(x)
            | Node::Abs(x)
            | Node::Rem(x, _)
            | Node::Quotient(x, _)
            | Node::Half(_, x)
            | Node::Ratio(x, _)
            | Node::Point(_, x) => x.mentions(at),
            Node::Binary(_, x, y) => x.mentions(at) || y.mentions(at),
            Node::Fma(x, y, z) => [x, y, z].into_iter().any(|x| x.mentions(at)),
            Node::Select(_, conditions, x, y) => {
                conditions.iter().any(|(_, a, b)| a.mentions(at) || b.mentions(at))
                    || x.mentions(at)
                    || y.mentions(at)
            }
        }
    }
}
