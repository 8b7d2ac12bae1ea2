//! Microbenchmarks of a GPU, and the file of the cost model that they write.
//!
//! A [`Probe`] is a small CUDA kernel that repeats one kind of work and reads the clock of its multiprocessor. Its instructions
//! come from the rows of the catalogue, so a new row is measured without new text. A number of the file
//! ([`hx_target::Costs`]) is fitted from the results of some probes ([`rows`]).
//!
//! Invariant: the crate makes texts and computes with results. It compiles and launches nothing, and knows no worker.
//!
//! Start at [`probes`].

mod barriers;
mod boxes;
mod clock;
mod clusters;
mod compute;
mod file;
mod global;
mod kernel;
mod probe;
mod products;
mod rows;
mod shared;
#[cfg(test)]
mod tests;

pub use clock::{CLOCK_BYTES, CLOCK_SYMBOL, CLOCK_TEXT, Clock};
pub use file::{Compared, Device, compare, written};
pub use probe::{Blocks, Figure, MapShape, Probe, Results, source};
pub use rows::{Row, rows};

use hx_target::Target;

/// Bytes of the device memory that probes read and write, all zero at the start.
pub const DATA_BYTES: u64 = 64 << 20;

/// Returns the probes that a target can run, in groups that are compiled together.
pub fn probes(target: Target) -> Vec<Vec<Probe>> {
    let groups = [
        products::probes(target),
        products::beside(target),
        shared::probes(target),
        boxes::probes(target),
        global::probes(target),
        compute::probes(target),
        barriers::probes(target),
        clusters::probes(target),
    ];
    groups.into_iter().filter(|group| !group.is_empty()).collect()
}
