//! The test suites of `hx-syntax`, in one binary.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod ast;
mod completeness;
mod errors;
mod forall;
mod foreign;
mod programs;
mod properties;
mod reparse;
mod rules;
mod support;
