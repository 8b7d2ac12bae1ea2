//! Expressions that every thread evaluates, as steps over vectors of elements.

use std::sync::Arc;

use hx_dtype::{DType, Operator};

use super::{Regs, SiteId};
use crate::formula::Formula;

/// The source of each thread's bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// Position in [`Evaluate::inputs`].
    Input(usize),
    /// Position in [`Evaluate::tables`].
    Table(usize),
    Temporary(usize),
}

/// The threads that select a subexpression: those for which every condition has the given value.
pub(crate) type Under = Vec<(Operand, bool)>;

#[derive(Debug)]
pub(crate) enum Micro {
    /// Checks that the input is written, if a thread under the conditions reads it.
    Expect {
        input: usize,
        under: Under,
    },
    Integer {
        value: Formula,
        dtype: DType,
        dst: usize,
        under: Under,
    },
    /// Gives every thread a number of the block, as bits of `dtype`.
    Number {
        slot: u32,
        dtype: DType,
        dst: usize,
    },
    Apply {
        operator: Operator,
        dtype: DType,
        args: [Operand; 3],
        dst: usize,
    },
    /// Checks that no thread under the conditions divides an integer by 0.
    Divisor {
        by: Operand,
        dtype: DType,
        under: Under,
    },
    Cast {
        from: DType,
        to: DType,
        arg: Operand,
        dst: usize,
    },
}

/// Computes one element from others, in each thread.
#[derive(Debug)]
pub(crate) struct Compute {
    pub(crate) dst: Regs,
    pub(crate) value: Evaluate,
}

/// An expression that every thread evaluates.
#[derive(Debug)]
pub(crate) struct Evaluate {
    pub(crate) site: SiteId,
    pub(crate) inputs: Vec<Regs>,
    /// Vectors known before the run: constants, and integers that depend on the thread alone.
    pub(crate) tables: Vec<Arc<[u64]>>,
    pub(crate) steps: Vec<Micro>,
    pub(crate) result: Operand,
    /// Number of temporaries.
    pub(crate) temporaries: usize,
    /// Instructions that one warp issues.
    pub(crate) instructions: u64,
}
