//! Decides which threads access which elements of shared memory and what orders the accesses, by enumerating the accesses of
//! the thread program.
//!
//! Layouts are known, so `trace` lists the accesses of all threads one by one, and `check` compares them. A loop is followed
//! for enough rounds to show its behaviour, and for its last rounds. A condition that only a launch decides is followed both
//! ways, and then again for a few launches with assumed values (`suppose`). The simulator covers the rest.
//!
//! [`previous`] finds accesses that may come before the end of earlier launches. It needs no layouts either.
//!
//! [`stores`] finds accesses to global memory that bulk stores are still writing. It follows the paths of the tile program.
//!
//! [`unwritten`] finds reads of register tensors that nothing has written, in the same way.
//!
//! [`protocol`] decides deadlock and order between the groups of a block, by running what they do to pipelines, turns and
//! asynchronous operations. It needs no layouts.
//!
//! Invariant: the crate knows operations and tensors by their numbers only. It knows no text, no position in a text and no
//! query. Start at [`find()`].

mod check;
mod column;
mod copies;
mod event;
mod find;
mod findings;
mod once;
mod paths;
pub mod previous;
mod products;
pub mod protocol;
mod remedy;
mod scan;
pub mod stores;
mod suppose;
#[cfg(test)]
mod tests;
mod trace;
pub mod unwritten;

pub use copies::Unwaited;
pub use find::{Asked, find};
pub use findings::{Barrier, Findings, Hazard, Mend, Remedy, Touch};
pub use suppose::Run;
