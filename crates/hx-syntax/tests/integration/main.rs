//! The test suites of `hx-syntax`, in one binary.

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
