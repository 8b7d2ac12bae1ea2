//! Atomic operations: names, results on bits, and whether the order of several matters.

use serde::Deserialize;

use crate::{DType, Operator};

/// An operation that accesses one element of memory atomically.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    /// Replaces the element if it equals another value.
    CompareExchange,
    Load,
    Store,
}

impl AtomicOp {
    /// Returns the name of the operation's function in the language.
    pub fn name(self) -> &'static str {
        match self {
            AtomicOp::Add => "atomic_add",
            AtomicOp::Min => "atomic_min",
            AtomicOp::Max => "atomic_max",
            AtomicOp::And => "atomic_and",
            AtomicOp::Or => "atomic_or",
            AtomicOp::Xor => "atomic_xor",
            AtomicOp::Exchange => "atomic_exchange",
            AtomicOp::CompareExchange => "atomic_cas",
            AtomicOp::Load => "atomic_load",
            AtomicOp::Store => "atomic_store",
        }
    }

    /// Returns the verb of messages, as in `adds elements`.
    pub fn verb(self) -> &'static str {
        match self {
            AtomicOp::Add => "adds",
            AtomicOp::Min => "takes minima of",
            AtomicOp::Max => "takes maxima of",
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => "combines the bits of",
            AtomicOp::Exchange => "exchanges",
            AtomicOp::CompareExchange => "compares and exchanges",
            AtomicOp::Load => "reads atomically",
            AtomicOp::Store => "writes atomically",
        }
    }

    /// Reports whether the outcome of several executions on one element does not depend on their order, rounding apart.
    pub fn commutes(self) -> bool {
        match self {
            AtomicOp::Add
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Load => true,
            AtomicOp::Exchange | AtomicOp::CompareExchange | AtomicOp::Store => false,
        }
    }

    /// Returns the bits of the element after the operation, for an element of type `dtype`. Only a compare-exchange reads
    /// `compare`. Integers wrap; a sum is rounded once.
    pub fn eval(self, dtype: DType, old: u64, value: u64, compare: u64) -> u64 {
        match self {
            AtomicOp::Add => Operator::Add.eval(dtype, &[old, value]),
            AtomicOp::Min => Operator::Min.eval(dtype, &[old, value]),
            AtomicOp::Max => Operator::Max.eval(dtype, &[old, value]),
            AtomicOp::And => old & value,
            AtomicOp::Or => old | value,
            AtomicOp::Xor => old ^ value,
            AtomicOp::Exchange | AtomicOp::Store => value,
            AtomicOp::CompareExchange => {
                if old == compare {
                    value
                } else {
                    old
                }
            }
            AtomicOp::Load => old,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_elements_type() {
        let i32s = |x: i32| u64::from(x as u32);
        let eval = |op: AtomicOp, dtype, old, value| op.eval(dtype, old, value, 0);
        assert_eq!(eval(AtomicOp::Add, DType::I32, i32s(i32::MAX), 1), i32s(i32::MIN));
        assert_eq!(eval(AtomicOp::Max, DType::I32, i32s(-1), 1), 1);
        assert_eq!(eval(AtomicOp::Max, DType::U32, i32s(-1), 1), i32s(-1));
        assert_eq!(eval(AtomicOp::Max, DType::U64, u64::MAX, 1), u64::MAX);
        assert_eq!(eval(AtomicOp::Xor, DType::U32, 6, 3), 5);
        assert_eq!(AtomicOp::CompareExchange.eval(DType::I32, 4, 9, 4), 9);
        assert_eq!(AtomicOp::CompareExchange.eval(DType::I32, 5, 9, 4), 5);
    }
}
