//! The meaning of `.hx` text: items, bodies, names, types and shapes, and what is wrong with them.
//!
//! Queries go from a file to its [`file_items`], from an item to its signature and [`body`], and from there to types.
//! Bodies are data without positions; places live in source maps that only diagnostics read. The crate knows nothing of
//! editors, terminals or the layouts of tiles. Start at [`Item`], then [`Body`].

mod body;
mod collect;
mod db;
mod expr;
mod item;
mod signature;
mod source_map;

pub use body::{Body, Cases, body, body_source_map, fn_signature, kernel_signature, signature_source_map};
pub use db::Db;
pub use expr::{
    Arg, ArithOp, Attr, BinaryOp, Block, CmpOp, Expr, ExprId, ExprStore, Float, GenericArg, Literal, LogicOp,
    MeasureKind, MemorySpace, Name, Pat, PatId, Path, RoleKind, Stmt, StmtId, StmtKind, TupleField, TypeRef,
    TypeRefId, UnaryOp, WarpRole,
};
pub use item::{
    Bench, Const, FileItems, Function, Item, ItemKey, ItemKind, Kernel, Main, Test, Use, file_items,
    item_named, item_names, item_range,
};
pub use signature::{FnSignature, GenericParam, KernelSignature, Param, Predicate};
pub use source_map::{SignatureSourceMap, SourceMap};
