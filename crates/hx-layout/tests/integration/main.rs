//! Tests the laws and the reference cases of the layout algebra.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod core;
mod drawings;
mod drawn;
mod evaluator;
mod expressions;
mod further;
mod laws;
mod original;
mod relations;
mod robust;
mod swizzled;
mod vectors;
