//! Operations on typed tensors in structured control flow.

use std::collections::BTreeSet;

use hx_dtype::{DType, Operator};
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_layout::{ComposedLayout, Layout};

use crate::{Base, Map, Scalar, View};

/// A register or shared tensor of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TensorId(pub u32);

/// A kernel parameter, by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ParamId(pub u32);

/// An operation, numbered in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpId(pub u32);

/// What in the source an operation or tensor comes from. Only its maker can turn it into a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Origin(pub u32);

/// One instance of a kernel: compile-time parameters replaced, run-time dimensions symbolic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileProgram {
    /// The kernel's name.
    pub name: String,
    pub params: Vec<Param>,
    /// What holds of every symbol: `where` clauses, launch facts, ranges of block indices and counters.
    pub facts: Facts,
    /// Blocks along each axis, at most three.
    pub grid: Vec<GridAxis>,
    /// Threads of a block.
    pub threads: u32,
    /// What a launch must satisfy.
    pub requires: Vec<Requirement>,
    /// Indexed by [`TensorId`].
    pub tensors: Vec<Tensor>,
    pub body: Vec<Stmt>,
}

/// The number of blocks along one axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GridAxis {
    pub blocks: Expr,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    Tensor(TensorParam),
    /// A run-time integer.
    Int {
        name: String,
        dtype: DType,
    },
    /// A run-time floating-point number.
    Float {
        name: String,
        dtype: DType,
    },
}

/// A tensor in global memory, passed by pointer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorParam {
    pub name: String,
    pub dtype: DType,
    pub mutable: bool,
    /// Extent of each dimension, in elements.
    pub shape: Vec<Expr>,
    /// Stride of each dimension, in elements; those of row-major order where there is a block.
    pub stride: Vec<Expr>,
    /// Where the elements of a block lie, one top-level mode for each dimension. Its repetitions lie in row-major order, and extents are
    /// multiples of the block's.
    pub block: Option<Layout>,
    /// Bytes to which the pointer is known to be aligned.
    pub align: u32,
}

/// A `where` clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    pub cond: Cond,
    /// As written.
    pub text: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: DType,
    /// Extents in elements, all known.
    pub shape: Vec<i64>,
    pub kind: TensorKind,
    pub origin: Origin,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorKind {
    /// Held in registers, element by thread; `pinned` is the user's thread-value layout.
    Register { pinned: Option<Layout> },
    /// Held in shared memory; `pinned` is the user's memory layout, with its swizzle.
    Shared { pinned: Option<ComposedLayout> },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    Op(Op),
    /// `for var in start..end`; the facts know the range of `var`.
    For {
        var: Symbol,
        start: Expr,
        end: Expr,
        unroll: bool,
        body: Vec<Stmt>,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Runs while the condition holds.
    While {
        cond: Cond,
        body: Vec<Stmt>,
    },
    /// A block-uniform integer that an [`Stmt::Assign`] changes later; other integers are replaced by their values.
    Let {
        var: Symbol,
        value: Expr,
    },
    Assign {
        var: Symbol,
        value: Expr,
    },
    /// A block-uniform number read from an element of a global tensor; the view has no modes.
    LoadScalar {
        var: Symbol,
        src: View,
    },
    /// A block-uniform number that is no expression of integers; a truth value is 1 or 0 where it is used as an integer.
    LetNumber {
        var: Symbol,
        value: Scalar,
    },
    AssignNumber {
        var: Symbol,
        value: Scalar,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    pub id: OpId,
    pub kind: OpKind,
    pub origin: Origin,
}

#[derive(Clone, PartialEq, Debug)]
pub enum OpKind {
    /// Every element becomes `value`.
    Fill { dst: TensorId, value: f64 },
    /// Moves a tile between a memory and registers; one side is a whole register tensor.
    Copy { src: View, dst: View },
    /// `c[m, n] += a[m, k] · b[n, k]`, all in registers.
    Gemm { c: TensorId, a: TensorId, b: TensorId, warps: Option<[i64; 3]> },
    /// Elementwise conversion; between equal types it is a plain move.
    Cast { dst: TensorId, src: TensorId },
    /// Block barrier.
    Sync,
    /// Barrier of each warp on its own.
    SyncWarp,
    /// Moves a tile from global to shared memory without waiting for it; joins the current group.
    CopyAsync { src: View, dst: View },
    /// Closes the current group of asynchronous copies.
    Commit,
    /// Waits until at most `groups` of the thread's groups are in flight.
    Wait { groups: u32 },
    /// An elementwise expression.
    Map(Map),
    /// The same elements in other threads. Where the layouts of both ask for it they change hands in the shared tensor `through`,
    /// which only a solution names.
    Rearrange { dst: TensorId, src: TensorId, through: Option<TensorId> },
    /// `dst` has extent 1 along `axis`: all elements of `src` along it, combined by an associative and commutative operator.
    Reduce { dst: TensorId, src: TensorId, axis: usize, operator: Operator },
    /// `dst` is what a view of a register tensor shows: some of its modes reordered, cut, dropped or added.
    Slice { dst: TensorId, src: View },
    /// The only element of a register tensor that every thread holds becomes a number of the block, in scope until the end of the
    /// statements around.
    ReadNumber { var: Symbol, src: TensorId },
    /// Inclusive scan of tensors of one shape along an axis by an associative operator on tuples: `op[i]` is its component `i`, where
    /// inputs `0..n` are what comes before and `n..2n` what comes after.
    Scan { dst: Vec<TensorId>, src: Vec<TensorId>, axis: usize, op: Vec<Scalar> },
    /// Every element of a register tensor is added to its element of a global view, at once for all threads of the grid.
    AtomicAdd { src: TensorId, dst: View },
    /// Tells the host a text and the elements of a register tensor after it, or the text alone.
    Print { text: String, src: Option<TensorId>, uniform: bool },
    /// Every element of a `bool` tensor should hold; where one does not, the launch fails when it has ended. `uniform`, as of a
    /// print: the only element is a number or truth value of the block and no tensor of the source.
    Assert { cond: TensorId, message: String, uniform: bool },
}

// `value` of a fill is a literal of the source, never NaN.
impl Eq for OpKind {}

impl TileProgram {
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0 as usize]
    }

    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0 as usize]
    }

    /// The parameter as a tensor; a view never refers to another kind.
    pub fn tensor_param(&self, id: ParamId) -> Option<&TensorParam> {
        match self.param(id) {
            Param::Tensor(t) => Some(t),
            _ => None,
        }
    }

    pub fn tensor_ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len() as u32).map(TensorId)
    }

    /// Every operation in the order of the text, with how often it runs in a launch relative to the body: the product of the trip
    /// counts around it, a symbolic count taken as `unknown_trips`.
    pub fn ops(&self, unknown_trips: f64) -> Vec<(&Op, f64)> {
        let mut out = Vec::new();
        collect(&self.body, 1.0, unknown_trips, &mut out);
        out
    }

    /// The warps of a product into `c` as they are written: along M and N, and along the batch where it is one of a batch.
    pub fn warps_text(&self, c: TensorId, [m, n, batch]: [i64; 3]) -> String {
        if self.tensor(c).shape.len() > 2 { format!("[{m}, {n}, {batch}]") } else { format!("[{m}, {n}]") }
    }

    pub fn op(&self, id: OpId) -> Option<&Op> {
        find(&self.body, id)
    }
}

impl Stmt {
    /// The operations of the statement, in the order of the text.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let mut out = Vec::new();
        collect(std::slice::from_ref(self), 1.0, 1.0, &mut out);
        out.into_iter().map(|(op, _)| op)
    }
}

fn find(stmts: &[Stmt], id: OpId) -> Option<&Op> {
    stmts.iter().find_map(|stmt| match stmt {
        Stmt::Op(op) => (op.id == id).then_some(op),
        Stmt::For { body, .. } | Stmt::While { body, .. } => find(body, id),
        Stmt::If { then, otherwise, .. } => find(then, id).or_else(|| find(otherwise, id)),
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::LoadScalar { .. }
        | Stmt::LetNumber { .. }
        | Stmt::AssignNumber { .. } => None,
    })
}

fn collect<'a>(stmts: &'a [Stmt], trips: f64, unknown: f64, out: &mut Vec<(&'a Op, f64)>) {
    for stmt in stmts {
        match stmt {
            Stmt::Op(op) => out.push((op, trips)),
            Stmt::For { start, end, body, .. } => {
                let count = (end.clone() - start.clone()).as_const().map_or(unknown, |n| n.max(0) as f64);
                collect(body, trips * count, unknown, out);
            }
            Stmt::If { then, otherwise, .. } => {
                collect(then, trips, unknown, out);
                collect(otherwise, trips, unknown, out);
            }
            Stmt::While { body, .. } => collect(body, trips * unknown, unknown, out),
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadScalar { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. } => {}
        }
    }
}

impl Tensor {
    /// Number of elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    pub fn is_register(&self) -> bool {
        matches!(self.kind, TensorKind::Register { .. })
    }
}

impl OpKind {
    /// Puts another register tensor in the place of the operand at this position of [`OpKind::registers`].
    pub fn replace(&mut self, operand: usize, with: TensorId) {
        let view = |view: &mut View| {
            if let Base::Register(tensor) = &mut view.base {
                *tensor = with;
            }
        };
        match self {
            OpKind::Fill { dst, .. } => *dst = with,
            OpKind::Copy { src, dst } => [src, dst].into_iter().for_each(view),
            OpKind::Gemm { c, a, b, .. } => *[c, a, b][operand] = with,
            OpKind::Cast { dst, src }
            | OpKind::Rearrange { dst, src, .. }
            | OpKind::Reduce { dst, src, .. } => *[dst, src][operand] = with,
            OpKind::Map(map) => match operand {
                0 => map.dst = with,
                input => map.inputs[input - 1] = with,
            },
            OpKind::Slice { dst, src } => match operand {
                0 => *dst = with,
                _ => view(src),
            },
            OpKind::Scan { dst, src, .. } => match operand.checked_sub(dst.len()) {
                None => dst[operand] = with,
                Some(input) => src[input] = with,
            },
            OpKind::ReadNumber { src, .. } | OpKind::AtomicAdd { src, .. } => *src = with,
            OpKind::Print { src, .. } => *src = Some(with),
            OpKind::Assert { cond, .. } => *cond = with,
            OpKind::Sync
            | OpKind::SyncWarp
            | OpKind::CopyAsync { .. }
            | OpKind::Commit
            | OpKind::Wait { .. } => {}
        }
    }

    /// The word of the language for it.
    pub fn name(&self) -> &'static str {
        match self {
            OpKind::Fill { .. } => "fill",
            OpKind::Copy { .. } => "copy",
            OpKind::Gemm { .. } => "gemm",
            OpKind::Cast { .. } => "cast",
            OpKind::Sync => "sync",
            OpKind::SyncWarp => "sync_warp",
            OpKind::CopyAsync { .. } => "copy_async",
            OpKind::Commit => "commit",
            OpKind::Wait { .. } => "wait",
            OpKind::Map(_) => "elementwise",
            OpKind::Rearrange { .. } => "rearrange",
            OpKind::Reduce { .. } => "reduce",
            OpKind::Slice { .. } => "slice",
            OpKind::ReadNumber { .. } => "scalar",
            OpKind::Scan { .. } => "scan",
            OpKind::AtomicAdd { .. } => "atomic_add",
            OpKind::Print { .. } => "print",
            OpKind::Assert { .. } => "assert",
        }
    }

    /// How many of [`OpKind::registers`], from the first on, it writes.
    pub fn results(&self) -> usize {
        match self {
            OpKind::Fill { .. }
            | OpKind::Gemm { .. }
            | OpKind::Cast { .. }
            | OpKind::Map(_)
            | OpKind::Rearrange { .. }
            | OpKind::Reduce { .. }
            | OpKind::Slice { .. } => 1,
            OpKind::Copy { src, .. } => usize::from(src.register().is_none()),
            OpKind::Scan { dst, .. } => dst.len(),
            _ => 0,
        }
    }

    /// Whether it reads what it writes at this position of [`OpKind::registers`].
    pub fn updates(&self, operand: usize) -> bool {
        matches!(self, OpKind::Gemm { .. }) && operand == 0
    }

    /// The register tensors that take part, in the order of the operands.
    pub fn registers(&self) -> Vec<TensorId> {
        match self {
            OpKind::Fill { dst, .. } => vec![*dst],
            OpKind::Copy { src, dst } => src.register().or(dst.register()).into_iter().collect(),
            OpKind::Gemm { c, a, b, .. } => vec![*c, *a, *b],
            OpKind::Cast { dst, src } => vec![*dst, *src],
            OpKind::Map(map) => std::iter::once(map.dst).chain(map.inputs.iter().copied()).collect(),
            OpKind::Rearrange { dst, src, .. } | OpKind::Reduce { dst, src, .. } => vec![*dst, *src],
            OpKind::Slice { dst, src } => std::iter::once(*dst).chain(src.register()).collect(),
            OpKind::ReadNumber { src, .. } => vec![*src],
            OpKind::Scan { dst, src, .. } => dst.iter().chain(src).copied().collect(),
            OpKind::AtomicAdd { src, .. } => vec![*src],
            OpKind::Print { src, .. } => src.iter().copied().collect(),
            OpKind::Assert { cond, .. } => vec![*cond],
            OpKind::Sync
            | OpKind::SyncWarp
            | OpKind::CopyAsync { .. }
            | OpKind::Commit
            | OpKind::Wait { .. } => Vec::new(),
        }
    }
    /// The register and shared tensors that it reads or writes.
    pub fn tensors(&self) -> BTreeSet<TensorId> {
        let mut tensors: BTreeSet<TensorId> = self.registers().into_iter().collect();
        if let OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst } = self {
            for view in [src, dst] {
                if let Base::Shared(tensor) | Base::Register(tensor) = view.base {
                    tensors.insert(tensor);
                }
            }
        }
        tensors
    }
}
