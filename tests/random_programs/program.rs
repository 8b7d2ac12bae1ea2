//! A random program as data: steps that make one tile each, and the ranges of their numbers.
//!
//! Every element is an integer that its type holds exactly. So sums are the same in any order, and results are compared with
//! `==`. [`Range`] guarantees this, as it follows every operation. Integers that wrap are reduced to such a range again.

use hx_dtype::DType;

use super::bits::Bits;
use super::draw_changes::Change;
use super::draw_places::Place;
use super::draw_views::View;
use super::integers::{Division, Number};

/// Rows and columns of a tile.
pub(super) type Shape = [i64; 2];

/// The bounds of a tile's elements.
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
        self.low.saturating_abs().max(self.high.saturating_abs())
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

/// Returns the greatest magnitude up to which the type holds every integer exactly.
pub(super) fn exact(dtype: DType) -> i64 {
    match dtype {
        DType::I1 | DType::I2 => 1,
        DType::U1 => 1,
        DType::U2 => 3,
        DType::I4 => 7,
        DType::U4 => 15,
        DType::I8 => 127,
        DType::U8 => 255,
        DType::I16 => 32767,
        DType::U16 => 65535,
        DType::F4E2m1 => 1 << 2,
        DType::F8E5m2 => 1 << 3,
        DType::F8E4m3 => 1 << 4,
        DType::Bf16 => 1 << 8,
        DType::F16 | DType::Tf32 => 1 << 11,
        DType::F32 => 1 << 24,
        DType::I32 | DType::U32 => 1 << 30,
        _ => 1 << 50,
    }
}

/// Returns the smallest and the greatest integer of a type within its exact range.
pub(super) fn bounds(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::I1 => (-1, 0),
        DType::I2 => (-2, 1),
        _ if is_unsigned(dtype) => (0, exact(dtype)),
        _ => (-exact(dtype), exact(dtype)),
    }
}

pub(super) fn is_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U1 | DType::U2 | DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64)
}

/// Reports whether a type is moved, converted and multiplied, but has no elementwise computation.
pub(super) fn is_narrow(dtype: DType) -> bool {
    dtype.bits() <= 8
}

/// Returns the type of a product's sums, if elements of this type have products.
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

/// A kernel and its steps. A step's number is the name of its tile.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) threads: i64,
    pub(super) blocks: i64,
    /// The steps are the task of one role. Another role fills the stages of rings, and copies a tensor.
    pub(super) roles: bool,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    /// The steps whose tiles are operands.
    pub(super) from: Vec<usize>,
    pub(super) value: Value,
    /// The kind of store of the tile. Only the tile of a result is stored: no other step uses it.
    pub(super) store: Store,
    /// Rows and columns of the last block that are stored.
    pub(super) stored: Shape,
    /// The place of the tile in the larger tensor that it is stored in; `None` if it fills the tensor.
    pub(super) margin: Option<Inset>,
    /// The place in a larger shared tensor through which the tile passes; `None` if it passes through a tensor of its own size.
    pub(super) place: Option<Inset>,
    /// False after the shrinker has removed the step.
    pub(super) kept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Store {
    Direct,
    ThroughShared,
    Transposed,
    /// Added to the results of other blocks.
    Added,
    /// Through shared memory, from where a copy stores it in boxes.
    Boxes,
    /// By another role, to which a stage hands it on.
    Handed,
}

/// The place of a tile in a larger tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inset {
    /// Rows and columns before the tile.
    pub(super) before: Shape,
    /// Rows and columns after the tile.
    pub(super) after: Shape,
    pub(super) start: Start,
    /// The type of the integers from the launch. If it cannot hold them, they are of `i32`.
    pub(super) integer: DType,
}

/// The form of the start of a slice in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// Numbers in the text.
    Written,
    /// Integers from the launch.
    Launch,
    /// The first column is this many times an integer from the launch; the first row is a number in the text.
    Steps(i64),
}

impl Inset {
    /// Returns the number of elements per unit of the launch's integer along an axis; `None` if the text has the start.
    pub(super) fn step(&self, axis: usize) -> Option<i64> {
        match self.start {
            Start::Launch => Some(1),
            Start::Steps(n) => (axis == 1).then_some(n),
            Start::Written => None,
        }
    }

    /// Returns the divisor of the start along an axis that is known at compile time; 0 for the start 0.
    pub(super) fn divisor(&self, axis: usize) -> i64 {
        self.step(axis).unwrap_or(self.before[axis])
    }

    /// Reports whether the known divisor of the start is less than the tile along both axes. Only then programs view the slice
    /// by `tile`, otherwise by `global_view`.
    pub(super) fn is_tiled(&self, tile: Shape) -> bool {
        [0, 1].into_iter().all(|axis| self.divisor(axis) < tile[axis])
    }

    /// Returns the extents of the larger tensor.
    pub(super) fn whole(&self, shape: Shape) -> Shape {
        [0, 1].map(|axis| self.before[axis] + shape[axis] + self.after[axis])
    }
}

/// A tensor in global memory. Each block reads its own tile, or all blocks read the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Input {
    pub(super) dtype: DType,
    pub(super) tile: Shape,
    /// Rows and columns of the last tile that exist.
    pub(super) extent: Shape,
    pub(super) per_block: bool,
    /// Stored by columns, and viewed through `.T`.
    pub(super) transposed: bool,
    /// Columns to the left and right in a wider tensor that contains it.
    pub(super) around: Option<[i64; 2]>,
    /// The value that is read outside the tensor; `None` stands for 0.
    pub(super) pad: Option<i64>,
    pub(super) range: Range,
    pub(super) view: ViewKind,
    /// The start of the input in a larger tensor, as written in the kernel.
    pub(super) skip: Option<Inset>,
    /// The place of the tile, or of its table, in a larger shared tensor on the way to registers.
    pub(super) place: Option<Inset>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ViewKind {
    Tile,
    GlobalView,
    /// Blocks of the tile's size, in which the elements of each word of `values` are reordered: `places` are those of the elements 1, 2, 4
    /// and, in a word of 16, 8.
    Paired {
        values: i64,
        places: [i64; 4],
    },
    /// Blocks in the order that the compiler infers.
    Inferred,
    /// A one-dimensional tensor, with a new dimension before or after it.
    Vector,
    /// Rows that a table selects from `rows` rows. The table is in shared or in global memory.
    Gathered {
        rows: i64,
        shared: bool,
    },
}

impl Input {
    /// Reports whether an asynchronous copy can be aligned: it consists of whole pieces of 4 bytes.
    pub(super) fn is_aligned(&self) -> bool {
        let even = |n: i64| n * i64::from(self.dtype.bits()) % 32 == 0;
        let [rows, columns] = self.extent;
        let along = if self.transposed { [rows, self.tile[0]] } else { [columns, self.tile[1]] };
        let total = if self.transposed && self.per_block { self.tile[0] } else { 0 };
        let wide = self.around.is_none_or(|around| around.iter().all(|&n| even(n)));
        // The compiler knows of a stride only that it is a multiple of at most 16, and 16 single bits are not 4 bytes.
        let known = self.dtype.bits() > 1;
        let axis = usize::from(!self.transposed);
        let starts = [self.skip, self.place]
            .into_iter()
            .flatten()
            .all(|inset| even(inset.divisor(axis)) && even(inset.whole(self.tile)[axis] - self.tile[axis]));
        known && starts && even(along[0]) && even(along[1]) && even(total) && wide
    }
}

/// The path of a tile from global memory to registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoadPath {
    Load,
    Copy,
    Shared,
    Async,
}

/// The path of the operands of a product with a loop over K.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    Registers,
    Shared,
    Pipeline {
        stages: i64,
    },
    /// Stages of a pipeline that the copies signal.
    Ring {
        stages: i64,
        fills: Fills,
    },
}

/// The threads that fill the stages of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fills {
    /// Asynchronous copies that signal the stages.
    Copies,
    /// Threads that write both operands and publish the stage.
    Threads,
    /// A copy that signals the stage, and the threads of another role beside it.
    Both,
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
        path: LoadPath,
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
    /// A product of A and B. C begins with `init` in all elements, or with the third operand if `init` is `None`.
    Gemm {
        init: Option<i64>,
        staged: [bool; 2],
        /// The places of staged operands in larger shared tensors.
        places: [Option<Inset>; 2],
        /// The loop that multiplies staged operands slice by slice along K.
        walk: Option<Walk>,
        warps: Option<[i64; 2]>,
        tf32: bool,
    },
    /// A product over all of K, tile by tile.
    Product {
        a: Input,
        b: Input,
        steps: i64,
        feed: Feed,
        /// The products are in flight while the loop goes on.
        asynchronous: bool,
        init: i64,
        scale: bool,
    },
    /// A product for each of `slices` slices of K, and their sum.
    Batch {
        a: Input,
        b: Input,
        slices: i64,
        staged: bool,
    },
    /// A copy through shared memory.
    Stage {
        transposed: bool,
        permute: bool,
        /// The pinned layout of the shared tensor; `None` leaves it to the solver.
        pin: Option<String>,
        place: Option<Inset>,
    },
    /// A part of the tile through shared memory, or the sum of several parts, each shifted along an axis.
    Window {
        first: Shape,
        walk: Walk,
        axis: usize,
        /// The shift from one part to the next.
        step: i64,
        start: Start,
    },
    Rearrange {
        layout: Option<String>,
    },
    /// Every prefix along an axis, or every suffix; with `pair` together with those of another tile by another operator.
    Scan(Scanned),
    /// A part of a tile from these rows and columns on, and perhaps transposed.
    Part {
        first: Shape,
        turned: bool,
    },
    /// A loop that replaces the tile `count` times by an expression of itself (argument 0) and others.
    Repeat {
        node: Node,
        count: i64,
        at_launch: bool,
    },
    Changed(Change),
    Placed(Place),
    Viewed(View),
    /// A choice between two expressions by a parameter, whose value in the launch is `flag`.
    Branch {
        yes: Node,
        no: Node,
        flag: bool,
    },
}

/// A scan along an axis, from the last element on with `reverse`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scanned {
    pub(super) axis: usize,
    pub(super) fold: Fold,
    pub(super) pair: bool,
    pub(super) reverse: bool,
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
    /// A quotient of integers, rounded down.
    Quotient(Box<Node>, i64),
    /// Half of a floating-point number, rounded by `floor`, `ceil` or `round`.
    Half(&'static str, Box<Node>),
    /// `x * n / n`.
    Ratio(Box<Node>, i64),
    Fma(Box<Node>, Box<Node>, Box<Node>),
    /// A function at an exact point: an index of [`POINTS`].
    Point(usize, Box<Node>),
    /// Selects by the joined conditions.
    Select(Join, Vec<Condition>, Box<Node>, Box<Node>),
    /// An integer that may leave the range of its type, and then wraps.
    Wrapped(Box<Node>, DType),
    /// A `cast` of an integer to a type that holds it; inside [`Node::Wrapped`] to any type.
    Cast(Box<Node>, [DType; 2]),
    Divided(Box<Division>),
    Bits(Box<Bits>),
    Number(Box<Number>),
    /// An integer from the launch.
    Launched(i64),
}

/// A comparison of two integers or floats of one type.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) compare: Compare,
    pub(super) operands: [Node; 2],
    pub(super) dtype: DType,
}

/// The operator that joins the first condition with those after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Join {
    All,
    Any,
    /// Not all conditions hold.
    Not,
    /// `All`, `Any`, `Not` and `Differ`, written `&`, `|`, `~` and `^`.
    AllBits,
    AnyBits,
    NotBits,
    DifferBits,
    /// Both conditions hold, or neither.
    Same,
    Differ,
    /// The second condition if the first holds, otherwise the third.
    Choice,
}

/// Functions at points where they are exact: the text, in which `{z}` is a zero that the compiler cannot see, and the value.
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
    ("log10({z} + 1.0)", 0),
    ("exp10({z})", 1),
    ("expm1({z})", 0),
    ("log1p({z})", 0),
    ("cbrt({z} - 8.0)", -2),
    ("sinh({z})", 0),
    ("cosh({z})", 1),
    ("tan({z})", 0),
    ("asin({z})", 0),
    ("acos({z} + 1.0)", 0),
    ("atan({z})", 0),
    ("erfinv({z})", 0),
    ("lgamma({z} + 2.0)", 0),
    ("trunc({z} - 2.5)", -2),
    ("sign({z} - 3.0)", -1),
    ("atan2({z}, {z} + 1.0)", 0),
    ("fmod({z} - 7.0, {z} + 4.0)", -3),
    ("copysign({z} + 3.0, {z} - 1.0)", -3),
    ("clamp({z} + 9.0, -1.0, 5.0)", 5),
    ("sin({z})", 0),
    ("cos({z})", 1),
    ("pow({z} + 2.0, {z} + 3.0)", 8),
    ("where(isnan({z}), 1.0, 0.0)", 0),
];

impl Program {
    /// Returns the steps whose tiles no other step uses: the results.
    pub(super) fn results(&self) -> Vec<usize> {
        let used = |at: usize| self.kept().any(|(_, step)| step.from.contains(&at));
        self.kept().map(|(at, _)| at).filter(|&at| !used(at)).collect()
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = (usize, &Step)> {
        self.steps.iter().enumerate().filter(|(_, step)| step.kept)
    }
}

impl Node {
    /// Returns the subexpressions. A scalar of the block has none, because it uses no tiles.
    fn children(&self) -> Vec<&Node> {
        match self {
            Node::Arg(_) | Node::Const(_) | Node::Index(_) | Node::Number(_) | Node::Launched(_) => vec![],
            Node::Neg(x)
            | Node::Abs(x)
            | Node::Rem(x, _)
            | Node::Quotient(x, _)
            | Node::Half(_, x)
            | Node::Ratio(x, _)
            | Node::Point(_, x)
            | Node::Wrapped(x, _)
            | Node::Cast(x, _) => vec![x],
            Node::Binary(_, x, y) => vec![x, y],
            Node::Fma(x, y, z) => vec![x, y, z],
            Node::Divided(division) => division.operands.iter().collect(),
            Node::Bits(bits) => bits.operands.iter().collect(),
            Node::Select(_, conditions, x, y) => {
                let compared = conditions.iter().flat_map(|condition| &condition.operands);
                compared.chain([&**x, &**y]).collect()
            }
        }
    }

    /// Returns the expression with its arguments numbered from `by` on.
    pub(super) fn renumbered(&self, by: usize) -> Node {
        let again = |node: &Node| Box::new(node.renumbered(by));
        match self {
            Node::Arg(at) => Node::Arg(at + by),
            Node::Const(_) | Node::Index(_) | Node::Number(_) | Node::Launched(_) => self.clone(),
            Node::Neg(x) => Node::Neg(again(x)),
            Node::Abs(x) => Node::Abs(again(x)),
            Node::Binary(op, x, y) => Node::Binary(*op, again(x), again(y)),
            Node::Rem(x, n) => Node::Rem(again(x), *n),
            Node::Quotient(x, n) => Node::Quotient(again(x), *n),
            Node::Half(how, x) => Node::Half(how, again(x)),
            Node::Ratio(x, n) => Node::Ratio(again(x), *n),
            Node::Fma(x, y, z) => Node::Fma(again(x), again(y), again(z)),
            Node::Point(at, x) => Node::Point(*at, again(x)),
            Node::Wrapped(x, dtype) => Node::Wrapped(again(x), *dtype),
            Node::Cast(x, types) => Node::Cast(again(x), *types),
            Node::Divided(division) => {
                let operands = division.operands.each_ref().map(|x| x.renumbered(by));
                Node::Divided(Division { operands, ..**division }.into())
            }
            Node::Bits(bits) => Node::Bits(bits.renumbered(by).into()),
            Node::Select(join, conditions, x, y) => {
                let renumbered = |condition: &Condition| {
                    let operands = condition.operands.each_ref().map(|x| x.renumbered(by));
                    Condition { operands, ..*condition }
                };
                Node::Select(*join, conditions.iter().map(renumbered).collect(), again(x), again(y))
            }
        }
    }

    /// Reports whether the expression uses that argument.
    pub(super) fn mentions(&self, at: usize) -> bool {
        matches!(self, Node::Arg(arg) if *arg == at) || self.children().iter().any(|x| x.mentions(at))
    }
}
