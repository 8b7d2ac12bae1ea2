//! Expressions, statements, patterns and written types as data, for device and host code.
//!
//! An [`ExprStore`] holds those of one body or signature. They carry no positions and no meanings: places are in a
//! [`SourceMap`](crate::SourceMap), meanings in the results of inference. Parentheses are dropped.

use std::ops::Index;

use hx_index::BitOp;
use la_arena::{Arena, Idx};
use smol_str::SmolStr;

pub use hx_syntax::ast::{ArithOp, BinaryOp, CmpOp, LogicOp, MeasureKind, MemorySpace, RoleKind, UnaryOp};

/// Returns the operator on the bits of integers; `None` for other arithmetic.
pub fn bit_op(op: ArithOp) -> Option<BitOp> {
    match op {
        ArithOp::BitAnd => Some(BitOp::And),
        ArithOp::BitOr => Some(BitOp::Or),
        ArithOp::BitXor => Some(BitOp::Xor),
        ArithOp::Shl => Some(BitOp::Shl),
        ArithOp::Shr => Some(BitOp::Shr),
        ArithOp::Add | ArithOp::Sub | ArithOp::Mul | ArithOp::Div | ArithOp::Rem | ArithOp::MatMul => None,
    }
}

/// A name as written.
pub type Name = SmolStr;

/// An expression of a store.
pub type ExprId = Idx<Expr>;
/// A statement of a store.
pub type StmtId = Idx<Stmt>;
/// A pattern of a store. A [`Pat::Bind`] is the identity of the local that it introduces.
pub type PatId = Idx<Pat>;
/// A written type of a store.
pub type TypeRefId = Idx<TypeRef>;

/// All expressions, statements, patterns and written types of one body or signature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExprStore {
    pub exprs: Arena<Expr>,
    pub stmts: Arena<Stmt>,
    pub pats: Arena<Pat>,
    pub types: Arena<TypeRef>,
}

impl Index<ExprId> for ExprStore {
    type Output = Expr;
    fn index(&self, id: ExprId) -> &Expr {
        &self.exprs[id]
    }
}

impl Index<StmtId> for ExprStore {
    type Output = Stmt;
    fn index(&self, id: StmtId) -> &Stmt {
        &self.stmts[id]
    }
}

impl Index<PatId> for ExprStore {
    type Output = Pat;
    fn index(&self, id: PatId) -> &Pat {
        &self.pats[id]
    }
}

impl Index<TypeRefId> for ExprStore {
    type Output = TypeRef;
    fn index(&self, id: TypeRefId) -> &TypeRef {
        &self.types[id]
    }
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// An expression that is missing from the text or malformed; a syntax error has been reported.
    Missing,
    Literal(Literal),
    /// `std::math::LOG2E`, `matmul<BM = 128>`, `swizzle<3, 3, 3>`.
    Path {
        path: Path,
        generics: Vec<GenericArg>,
    },
    Unary {
        op: UnaryOp,
        operand: ExprId,
    },
    /// `lhs op rhs`; `:` of layouts is [`Expr::Layout`].
    Binary {
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
    },
    Call {
        callee: ExprId,
        args: Vec<Arg>,
    },
    /// `receiver.name(args)`.
    MethodCall {
        receiver: ExprId,
        name: Name,
        args: Vec<Arg>,
    },
    /// `base.name`, as `t.T`.
    Field {
        base: ExprId,
        name: Name,
    },
    /// `base[args]`; an argument may be a [`Expr::Range`] or [`Expr::New`].
    Index {
        base: ExprId,
        args: Vec<ExprId>,
    },
    /// `t[i, j] else value`. The read is an [`Expr::Index`] in sound text.
    Guarded {
        read: ExprId,
        otherwise: ExprId,
    },
    /// `(a, b)`, `(8,)`, `(warp: 4, lane: 8)`, `()`.
    Tuple(Vec<TupleField>),
    /// `[a, b]`.
    Array(Vec<ExprId>),
    /// `shape : stride`.
    Layout {
        shape: ExprId,
        stride: ExprId,
    },
    /// `a..b`, `a..`, `..b`, `..`.
    Range {
        start: Option<ExprId>,
        end: Option<ExprId>,
    },
    /// `new`: a mode of extent 1, in an index.
    New,
    /// `_`: a mode that a tiler keeps.
    Wildcard,
    /// `|(a, b), c| body`.
    Closure {
        params: Vec<PatId>,
        body: ExprId,
    },
    /// `if condition { … } else { … }`; both branches are blocks, the second may be another `if`.
    If {
        condition: ExprId,
        then: ExprId,
        otherwise: Option<ExprId>,
    },
    Block(Block),
}

/// `{ statements tail }`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    pub stmts: Vec<StmtId>,
    /// The value of the block: its last expression, if no `;` follows it.
    pub tail: Option<ExprId>,
}

/// A literal. Numbers adapt to the expected type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// Never negative: the sign is an operator.
    Int(i128),
    Float(Float),
    String(SmolStr),
    Bool(bool),
    /// `inf`.
    Inf,
}

/// An f64 of the source that compares by its bits, so that it can be part of query results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Float(u64);

impl Float {
    /// Makes a value from the bits of `value`.
    pub fn new(value: f64) -> Float {
        Float(value.to_bits())
    }

    /// Returns the number with the bits of this value.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl std::fmt::Debug for Float {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

/// Names joined by `::`; never empty.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Path {
    pub segments: Vec<Name>,
}

impl Path {
    /// Makes a path of one name.
    pub fn from_name(name: impl Into<Name>) -> Path {
        Path { segments: vec![name.into()] }
    }

    /// Returns the name if the path consists of a single one.
    pub fn as_name(&self) -> Option<&Name> {
        match self.segments.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, segment) in self.segments.iter().enumerate() {
            if i > 0 {
                f.write_str("::")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}

/// `BM = 128`, or a value alone as in `swizzle<3, 3, 3>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GenericArg {
    pub name: Option<Name>,
    pub value: ExprId,
}

/// An argument of a call, `seed: 1` or `x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    pub name: Option<Name>,
    pub value: ExprId,
}

/// A field of a tuple, with its label if it has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TupleField {
    pub label: Option<Name>,
    pub value: ExprId,
}

/// A statement with its attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    pub attrs: Vec<Attr>,
    pub kind: StmtKind,
}

/// `#[unroll]`, `#[unroll(4)]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attr {
    /// The path as text.
    pub name: Name,
    pub args: Vec<ExprId>,
}

/// The form of a statement. Expressions, patterns and types are ids into the body that holds the statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StmtKind {
    /// `let pat: ty = value;`
    Let {
        pat: PatId,
        ty: Option<TypeRefId>,
        value: ExprId,
    },
    /// `place = value;`, `place += value;` where `op` is the arithmetic part.
    Assign {
        place: ExprId,
        op: Option<ArithOp>,
        value: ExprId,
    },
    Expr(ExprId),
    /// `for pat in iterable pipelined(stages) { … }`; the body is a block.
    For {
        pat: PatId,
        iterable: ExprId,
        stages: Option<ExprId>,
        body: ExprId,
    },
    While {
        condition: ExprId,
        body: ExprId,
    },
    WarpGroups(Vec<WarpRole>),
    /// `measure flops x bytes y { … }`.
    Measure {
        quantities: Vec<(MeasureKind, ExprId)>,
        body: ExprId,
    },
    /// `baseline call`.
    Baseline(ExprId),
}

/// `producer registers 40 { … }`, `consumer each 2 (g) registers 232 { … }`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpRole {
    pub kind: RoleKind,
    /// Whether each group has its own tile.
    pub each: bool,
    /// The number of groups; 1 if omitted.
    pub count: Option<ExprId>,
    /// The name of the group's index.
    pub binder: Option<PatId>,
    pub registers: Option<ExprId>,
    pub body: ExprId,
}

/// A pattern of a `let`, a `for`, a closure, a test's cases or a `forall`; also the name of a warp group's index, always a `Bind`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pat {
    Missing,
    /// A name: a local.
    Bind(Name),
    /// `(a, b)`.
    Tuple(Vec<PatId>),
    /// `[a, b]`.
    Array(Vec<PatId>),
    /// `_`.
    Wildcard,
}

/// A type as written: `f32`, `mut f16[m, k] : [lda, 1]`, `shared mut f16[K]`, `layout`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRef {
    Missing,
    Named {
        space: Option<MemorySpace>,
        mutable: bool,
        path: Path,
        /// The extents; `None` for a scalar or a compile-time kind.
        shape: Option<Vec<ExprId>>,
        /// `: [lda, 1]` names strides, `: W` is a layout.
        layout: Option<ExprId>,
    },
    Tuple(Vec<TypeRefId>),
}
