//! The hardware as data: a [`Target`] is an architecture as a value, with its features, its numbers, the rows of its instructions
//! and their costs.
//!
//! An instruction is a row of `catalogue/*.toml`, and an architecture is one of `targets/*.toml`. The solver, the verifier, the
//! simulator and the emitter get a target with the program, read its rows and know no instruction by name.
//!
//! Invariant: the crate knows no program and no solver, and library code names an instruction in `catalogue/` only and an
//! architecture in `targets/` only.
//!
//! Start at [`Target`], then [`Catalogue`].

mod asynchronous;
mod atomic;
mod builtin_rows;
mod builtin_targets;
mod bulk;
mod cache;
mod catalogue;
mod copy;
mod costs;
mod expand;
mod feature;
mod inline;
mod instructions;
mod limits;
mod operand;
mod product;
mod reach;
mod registers;
mod row;
mod row_kind;
mod space;
mod swizzle;
mod target;
#[cfg(test)]
mod tests;

pub use asynchronous::{Asynchronous, AsynchronousAccess, Completion, Form, Mode, Proxy, Wait};
pub use bulk::{BulkRow, MapLimits};
pub use cache::{Cache, L1, L2, PolicyRow, PrefetchRow};
pub use catalogue::{Catalogue, ComputeRow, ConvertRow, ExchangeRow, GroupRow, Reach, SyncRow};
pub use copy::{AtomicForm, CopyAtom, CopyRow};
pub use costs::{Basis, BuiltinCosts, COSTS_TEXT, Costs};
pub use feature::Feature;
pub use inline::{
    Effect, InlineFault, InlineFaultKind, InlineOperand, InlineText, inline_families, inline_text,
};
pub use instructions::Instructions;
pub use limits::{Limits, Residency};
pub use operand::{Fragment, Operand};
pub use product::GemmRow;
pub use reach::{Field, ReachMode, ReachRow, Reached, ReachedStride};
pub use registers::{RegisterError, Share, share_registers};
pub use row::{Named, Row};
pub use row_kind::{Kind, row};
pub use space::{Addressing, Allocation, Holder, Space, SpaceRow};
pub use swizzle::SwizzleMode;
pub use target::{Description, Forward, Target};

/// The most lanes of a warp of any target: arrays of counters have this many.
pub const MOST_LANES: usize = 32;
/// The most banks of any target: arrays of counters have this many.
pub const MOST_BANKS: usize = 32;
