//! Addresses in memory.

use hx_index::Expr;

/// A memory that threads address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The tensor parameter at this position of [`ThreadProgram::params`](crate::ThreadProgram::params).
    Global(u32),
    /// The buffer at this position of [`ThreadProgram::shared`](crate::ThreadProgram::shared).
    Shared(u32),
}

/// The address at which each thread reads or writes: element `offset` of the memory's tensor and those that follow it.
#[derive(Clone, PartialEq, Debug)]
pub struct Address {
    pub memory: Memory,
    /// In elements. It may depend on the thread.
    pub offset: Expr,
}
