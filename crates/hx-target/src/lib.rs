//! What the hardware offers: the instruction catalogue, what a multiprocessor costs besides, and the limits of each architecture, as data.
//!
//! An instruction is a row of `catalogue/*.toml`; the solver, the verifier, the simulator and the emitter read rows and know no
//! instruction by name. The crate knows nothing of programs or of solving. Start at [`Catalogue`].

mod arch;
mod catalogue;
mod machine;
#[cfg(test)]
mod tests;

pub use arch::{Arch, Limits, Residency};
pub use catalogue::{
    Catalogue, ComputeRow, ConvertRow, CopyAtom, CopyRow, ExchangeRow, Fragment, GemmRow, GroupRow, Reach,
    Space, catalogue,
};
pub use machine::{Machine, machine};

/// Shared memory has 32 banks of 4 bytes, and serves 128 bytes in one wavefront.
pub const BANKS: u32 = 32;
/// Bytes of one bank's word.
pub const BANK_BYTES: u32 = 4;
/// Bytes that one wavefront of shared memory moves at most.
pub const WAVEFRONT_BYTES: u32 = BANKS * BANK_BYTES;
/// Lanes of a warp.
pub const WARP: u32 = 32;
