//! The meaning of `.hx` text: items, bodies, names, types, shapes, and their diagnostics.
//!
//! Queries lead from a file to its [`file_items`], from an item to its signature and [`body_of`], and from there to
//! types.
//!
//! Invariant: bodies, signatures and types hold no position in a text; source maps do. The crate knows no editor, no
//! terminal and no layout of a tile.
//!
//! Start at [`Item`], then [`Body`].

mod args;
mod body;
mod builtins;
mod collect;
mod constants;
mod db;
mod diagnostics;
mod docs;
mod exact;
mod expr;
mod family;
mod forall;
mod import;
mod infer;
mod item;
mod ptx;
mod resolve;
mod signature;
mod sound;
mod source_map;
pub mod testing;
#[cfg(test)]
mod tests;
mod tune;
mod ty;
mod walk;

pub use args::{ArgProblem, builtin_params, match_args};
pub use body::{Body, Cases, body_of, body_source_map, fn_signature, kernel_signature, signature_source_map};
pub use builtins::{
    AtomicFn, Builtin, BuiltinParam, BuiltinValue, CommonFn, HostFn, HostLayoutFn, KernelFn, LayoutFn,
    MathFn, Method, Need, Place, builtin, builtins,
};
pub use constants::{Standing, Step, constants_below, standing, steps_below};
pub use db::Db;
pub use diagnostics::{GEMM_SHAPES, file_diagnostics, item_diagnostics};
pub use docs::{DocBlock, doc_blocks, file_doc_blocks};
pub use exact::is_exact;
pub use expr::{
    Arg, ArithOp, Attr, BinaryOp, Block, CmpOp, Expr, ExprId, ExprStore, Float, GenericArg, Literal, LogicOp,
    MeasureKind, MemorySpace, Name, Pat, PatId, Path, RoleKind, Stmt, StmtId, StmtKind, TupleField, TypeRef,
    TypeRefId, UnaryOp, WarpRole, bit_op,
};
pub use family::{FamilyList, family_source_map, kernel_family};
pub use forall::{ForallDomain, ForallVariable};
pub use import::{
    Import, PathTarget, absolute_path, cell_bindings, imports, is_binding, names_in_scope, resolve_path,
    top_level_pats,
};
pub use infer::{
    Family, FamilyProblem, Inference, MAX_AXIS, MAX_PARTS, MAX_TERMS, MAX_THREADS, MOST_MEMBERS, Member,
    OpenOrder, RolesProblem, SignatureTypes, TuneProblem, TuneTypes, TuneValue, TypeProblem, ValuesFault,
    WARP, Writes, auto_axes, combinations, family_of, infer_body, open_orders, signature_types, tune_types,
};
pub use item::{
    Bench, Cell, Const, FileItems, Function, Item, ItemKey, ItemKind, Kernel, Main, Test, Use, file_items,
    item_named, item_names, item_range, item_text,
};
pub use ptx::{Ptx, PtxPart, fn_ptx, ptx_operands};
pub use resolve::{
    Dim, Kind, NameProblem, Names, RESULT, Resolution, SignatureNames, body_names, family_names,
    signature_names, tune_names,
};
pub use signature::{FnSignature, GenericParam, KernelSignature, Param, Predicate};
pub use sound::{Sound, all_reached_errors, reached_errors, reached_tokens};
pub use source_map::{SignatureSourceMap, SourceMap};
pub use tune::{TuneAxis, TuneClause, TuneValues, kernel_tune, tune_source_map};
pub use ty::{
    Elem, Extent, TensorTy, Ty, definitely_differ, generic_symbol, is_compile_time, shape_text,
    shapes_differ, space_word,
};
