//! What inference finds wrong, as facts by id.

use hx_dtype::DType;
use hx_index::Expr as Value;

use crate::{ArgProblem, Elem, ExprId, Extent, MemorySpace, Name, PatId, Ty};

/// A block has no more threads than this on any target.
pub const MAX_THREADS: i64 = 1024;
/// A value of compile time has at most this many parts: numbers, types and the like in all its tuples and arrays.
pub const MAX_PARTS: usize = 1 << 14;
/// Arithmetic is done on symbolic integers of at most this many terms and factors.
pub const MAX_TERMS: usize = 512;
/// The threads of a warp on every target: those of a block are a multiple of it.
pub const WARP: i64 = 32;

/// One thing that is wrong in a body or signature. Ids are those of the store that the result belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeProblem {
    /// The arguments of a call do not fit its parameters.
    Args {
        call: ExprId,
        callee: Name,
        problem: ArgProblem,
        labels: Vec<Option<Name>>,
    },
    /// A compile-time argument has no name, or one that no parameter has.
    UnknownGeneric {
        path: ExprId,
        index: usize,
        callee: Name,
        name: Option<Name>,
        known: Vec<Name>,
    },
    NotCallable {
        callee: ExprId,
        found: Ty,
    },
    /// A kernel is launched from device code.
    KernelCall {
        callee: ExprId,
        name: Name,
    },
    /// A function stands where a value is wanted.
    FunctionAsValue {
        expr: ExprId,
        name: Name,
    },
    /// A file or a kind stands where a value is wanted.
    NoValue {
        expr: ExprId,
    },
    Mismatch {
        expr: ExprId,
        found: Ty,
        wanted: &'static str,
    },
    /// The type of a value and the one that was written for it.
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
        /// The operation is elementwise: extents of 1 would be broadcast.
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
        /// It is a view that `gather` made.
        gathered: bool,
    },
    Memory {
        expr: ExprId,
        found: MemorySpace,
        wanted: &'static str,
        operation: String,
    },
    /// Known only at launch or in the block.
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
    /// A pattern takes apart what has not that many parts.
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
    /// Only names can be assigned to.
    NotAPlace {
        expr: ExprId,
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
    /// A constant that needs its own value, or a function that calls itself.
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
    /// A clause that the header lacks.
    MissingClause {
        clause: &'static str,
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
