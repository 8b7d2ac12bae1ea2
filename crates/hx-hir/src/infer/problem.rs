//! The errors that inference finds, as facts about ids.

use hx_dtype::DType;
use hx_index::Expr as Value;

use crate::{ArgProblem, Elem, ExprId, Extent, MemorySpace, Name, PatId, StmtId, Ty};

/// The largest number of threads of a block on any target.
pub const MAX_THREADS: i64 = 1024;
/// The largest number of parts of a compile-time value. Each number, type and the like in its tuples and arrays counts as one.
pub const MAX_PARTS: usize = 1 << 14;
/// The largest number of terms and factors of a symbolic integer in arithmetic.
pub const MAX_TERMS: usize = 512;
/// The number of threads of a warp on every target; a block has a multiple of it.
pub const WARP: i64 = 32;

/// An error in a body or signature. Its ids refer to the store of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeProblem {
    /// The arguments of a call do not fit its parameters.
    Args {
        call: ExprId,
        callee: Name,
        problem: ArgProblem,
        labels: Vec<Option<Name>>,
    },
    /// A compile-time argument has no name, or a name that no parameter has.
    UnknownGeneric {
        path: ExprId,
        index: usize,
        callee: Name,
        name: Option<Name>,
        known: Vec<Name>,
    },
    /// A compile-time argument is given twice.
    GenericTwice {
        path: ExprId,
        index: usize,
        /// The index of the first argument of this name.
        first: usize,
        name: Name,
    },
    NotCallable {
        callee: ExprId,
        found: Ty,
    },
    /// Device code launches a kernel.
    KernelCall {
        callee: ExprId,
        name: Name,
    },
    /// A function is used as a value.
    FunctionAsValue {
        expr: ExprId,
        name: Name,
    },
    /// A file or a kind is used as a value.
    NoValue {
        expr: ExprId,
    },
    Mismatch {
        expr: ExprId,
        found: Ty,
        wanted: &'static str,
    },
    /// `infer` is not the default of a layout that a tensor parameter of the kernel has.
    MisplacedInfer {
        expr: ExprId,
    },
    /// The type of a value does not match its annotation.
    Annotation {
        expr: ExprId,
        found: Ty,
        wanted: Ty,
    },
    NoOperation {
        expr: ExprId,
        op: &'static str,
        lhs: Ty,
        rhs: Option<Ty>,
    },
    DTypes {
        expr: ExprId,
        found: Elem,
        other: ExprId,
        wanted: Elem,
    },
    Shapes {
        expr: ExprId,
        /// The operation is elementwise, so extents of 1 would broadcast.
        broadcasts: bool,
        left: (ExprId, Vec<Extent>),
        right: (ExprId, Vec<Extent>),
    },
    /// `mode` is M, N, K or batch.
    GemmShape {
        mode: &'static str,
        at: ExprId,
        found: Value,
        other: ExprId,
        wanted: Value,
    },
    Rank {
        expr: ExprId,
        found: usize,
        wanted: String,
    },
    TooManyIndices {
        expr: ExprId,
        base: ExprId,
        found: usize,
        shape: Vec<Extent>,
    },
    IndexOutside {
        expr: ExprId,
        index: Value,
        extent: Value,
    },
    NotMutable {
        expr: ExprId,
        param: Option<u32>,
        /// The tensor is a view made by `gather`.
        gathered: bool,
    },
    Memory {
        expr: ExprId,
        found: MemorySpace,
        wanted: &'static str,
        operation: String,
    },
    /// The value is known only at launch or within the block.
    NotConstant {
        expr: ExprId,
        value: Value,
    },
    NonPositive {
        expr: ExprId,
        value: Value,
    },
    NotUniform {
        expr: ExprId,
    },
    /// A pattern has a number of parts that the value does not have.
    Pattern {
        pat: PatId,
        found: Ty,
        wanted: usize,
    },
    Member {
        expr: ExprId,
        base: Ty,
        name: Name,
    },
    /// An assignment to an expression that is no name.
    NotAPlace {
        expr: ExprId,
        /// The memory of the tensor, for a part of one.
        space: Option<MemorySpace>,
    },
    /// An assignment to an element of a tensor in memory.
    ElementWritten {
        expr: ExprId,
        base: ExprId,
        indices: Vec<ExprId>,
        value: ExprId,
        /// Whether the assignment is compound, such as `+=`.
        added: bool,
    },
    /// An assignment to a name of a function, of a pipeline, of turns or of a counter, which compile time fixes.
    FixedHandle {
        expr: ExprId,
        found: Ty,
    },
    Literal {
        expr: ExprId,
        value: String,
        dtype: DType,
    },
    UnusedResult {
        expr: ExprId,
        found: Ty,
    },
    /// A constant that depends on itself, or a function that calls itself.
    Recursion {
        expr: ExprId,
        name: Name,
    },
    /// A tuple or array with more than [`MAX_PARTS`] parts.
    TooManyParts {
        expr: ExprId,
    },
    DivisionByZero {
        expr: ExprId,
    },
    Overflow {
        expr: ExprId,
    },
    /// The header lacks a clause.
    MissingClause {
        clause: &'static str,
    },
    /// The roles of a kernel, or one of them, break a rule.
    Roles {
        stmt: StmtId,
        problem: RolesProblem,
    },
    /// The header has `threads`, which the roles determine.
    ThreadsAndRoles {
        threads: ExprId,
    },
    /// A number of a role mentions a local of the body.
    RoleNumber {
        expr: ExprId,
    },
    GridRank {
        expr: ExprId,
        found: usize,
    },
    Threads {
        expr: ExprId,
        found: i64,
    },
}

/// A rule of `warp_groups` that a kernel breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RolesProblem {
    /// `warp_groups` is in a function, not in a kernel.
    InFunction,
    /// `warp_groups` is inside of a loop or branch.
    Inside,
    /// Another statement follows `warp_groups`.
    NotLast,
    NoRole,
    /// The role names the index of its group, but all its groups run together.
    Binder(PatId),
}
