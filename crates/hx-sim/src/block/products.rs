//! The asynchronous products of an agent that are in flight.

use std::collections::VecDeque;

use crate::code::{Factor, MultiplyAsync};

/// An instruction that is not complete, for all groups of threads that issued it.
#[derive(Clone, Debug)]
pub(crate) struct Issued<'a> {
    pub(crate) product: &'a MultiplyAsync,
    /// The first elements of the accumulator and of A in their register arrays; 0 for A if it is in shared memory.
    pub(crate) bases: [usize; 2],
    pub(crate) keep: bool,
    /// For each group of threads: the bytes at which the operands begin, before the swizzle.
    pub(crate) starts: Vec<[usize; 2]>,
    /// For each group of threads: the operands, if they were read at the issue; empty otherwise.
    pub(crate) read: Vec<[Vec<f64>; 2]>,
}

/// The asynchronous products of an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products<'a> {
    pub(crate) open: Vec<Issued<'a>>,
    pub(crate) closed: VecDeque<Vec<Issued<'a>>>,
}

impl<'a> Products<'a> {
    /// Returns the products that are not complete.
    pub(crate) fn issued(&self) -> impl Iterator<Item = &Issued<'a>> {
        self.closed.iter().flatten().chain(&self.open)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.closed.is_empty()
    }
}

impl Issued<'_> {
    /// Reports whether the accumulator has this position of a register array.
    pub(crate) fn updates(&self, array: usize, element: usize) -> bool {
        let regs = &self.product.c;
        regs.array == array && regs.offsets.iter().any(|offset| self.bases[0] + offset == element)
    }

    /// Reports whether A has this position of a register array.
    pub(crate) fn reads(&self, array: usize, element: usize) -> bool {
        let Factor::Registers(regs) = &self.product.a else { return false };
        regs.array == array && regs.offsets.iter().any(|offset| self.bases[1] + offset == element)
    }
}
