//! The test suites of `hx-fmt`, in one binary.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod layout;
mod programs;
mod properties;
