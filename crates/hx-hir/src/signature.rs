//! The headers of kernels and functions: parameters, `where`, grid, threads.

use crate::{ExprId, ExprStore, Name, TypeRefId};

/// The header of a kernel. Its expressions live in `store`, apart from those of the body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelSignature {
    pub store: ExprStore,
    pub generics: Vec<GenericParam>,
    pub params: Vec<Param>,
    pub wheres: Vec<Predicate>,
    /// The number of blocks along each axis: an array, a tuple or one integer.
    pub grid: Option<ExprId>,
    /// The number of threads of a block.
    pub threads: Option<ExprId>,
    /// The number of blocks of a cluster along each axis.
    pub cluster: Option<ExprId>,
    /// The number of blocks that a multiprocessor holds together, at least.
    pub blocks_per_sm: Option<ExprId>,
}

/// The header of a tile function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FnSignature {
    pub store: ExprStore,
    pub generics: Vec<GenericParam>,
    pub params: Vec<Param>,
    pub ret: Option<TypeRefId>,
    pub wheres: Vec<Predicate>,
}

/// A compile-time parameter, `BM = 64` or `W: layout = auto`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GenericParam {
    pub name: Name,
    /// The kind as written; an integer if omitted.
    pub ty: Option<TypeRefId>,
    pub default: Option<ExprId>,
}

/// A run-time parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    pub name: Name,
    pub ty: TypeRefId,
}

/// A clause of a `where`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicate {
    pub condition: ExprId,
    /// The text as written, with single spaces and without comments.
    pub text: String,
}
