//! The suites of `hx-syntax`, in one binary.

mod programs;
mod support;
