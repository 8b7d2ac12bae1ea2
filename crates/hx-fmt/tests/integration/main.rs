//! The test suites of `hx-fmt`, in one binary.

mod layout;
mod programs;
mod properties;
