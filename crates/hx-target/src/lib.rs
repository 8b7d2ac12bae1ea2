//! The hardware as data: the instruction catalogue, the other costs of a multiprocessor, and the limits of each
//! architecture.
//!
//! An instruction is a row of `catalogue/*.toml`. The solver, the verifier, the simulator and the emitter read rows and
//! know no instruction by name.
//!
//! Invariant: the crate knows no program and no solver, and library code names an instruction in `catalogue/` only.
//!
//! Start at [`Catalogue`].

mod arch;
mod asynchronous;
mod atomic;
mod bulk;
mod catalogue;
mod copy;
mod family;
mod machine;
mod operand;
mod product;
mod reach;
mod registers;
mod space;
mod swizzle;
#[cfg(test)]
mod tests;

pub use arch::{Arch, Feature, Limits, NAMED_BARRIERS, REGISTER_RANGE, REGISTER_STEP, Residency};
pub use asynchronous::{Asynchronous, AsynchronousAccess, Completion, Form, Mode, Proxy, Wait};
pub use bulk::{BulkRow, MapLimits};
pub use catalogue::{Catalogue, ComputeRow, ConvertRow, ExchangeRow, GroupRow, Reach, SyncRow, catalogue};
pub use copy::{AtomicForm, CopyAtom, CopyRow};
pub use machine::{MACHINE_TEXT, Machine, machine};
pub use operand::{Fragment, Operand};
pub use product::GemmRow;
pub use reach::{Field, ReachMode, ReachRow, Reached, ReachedStride};
pub use registers::{RegisterError, Share, share_registers};
pub use space::Space;
pub use swizzle::SwizzleMode;

/// The number of banks of shared memory. Each is 4 bytes wide, so one wavefront serves 128 bytes.
pub const BANKS: u32 = 32;
/// Bytes of a word of a bank.
pub const BANK_BYTES: u32 = 4;
/// The most bytes that one wavefront of shared memory moves.
pub const WAVEFRONT_BYTES: u32 = BANKS * BANK_BYTES;
/// Lanes of a warp.
pub const WARP: u32 = 32;
/// Threads of a group of warps, which run some instructions together.
pub const GROUP: u32 = 128;
/// Bytes of a register.
pub const REGISTER_BYTES: u32 = 4;
/// The number of partitions of a multiprocessor, each with a scheduler and a matrix unit.
pub const PARTITIONS: u32 = 4;
/// Bytes of a sector, the unit of traffic of global memory.
pub const SECTOR_BYTES: u32 = 32;
/// Bytes of a line of the cache.
pub const LINE_BYTES: u32 = 128;
/// Bytes of the largest block that the hardware itself swizzles, by bits of the address (PTX ISA, "Matrix descriptor").
pub const SWIZZLE_BLOCK_BYTES: u32 = 1024;
