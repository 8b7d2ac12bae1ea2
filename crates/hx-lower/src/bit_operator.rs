//! The operators on bits in their two forms, of elements and of expressions of integers, and what they mean for conditions.

use hx_dtype::Operator;
use hx_hir::ArithOp;
use hx_index::{BitOp, Cond};

/// Returns the elementwise operator.
pub(crate) fn elementwise(op: BitOp) -> Operator {
    match op {
        BitOp::And => Operator::And,
        BitOp::Or => Operator::Or,
        BitOp::Xor => Operator::Xor,
        BitOp::Shl => Operator::Shl,
        BitOp::Shr => Operator::Shr,
    }
}

/// Returns the operator on expressions of integers; `None` for operators that do not work on bits.
pub(crate) fn on_bits(operator: Operator) -> Option<BitOp> {
    BitOp::ALL.into_iter().find(|op| elementwise(*op) == operator)
}

/// Returns `op` of two conditions; `None` for a shift.
pub(crate) fn of_conditions(op: ArithOp, a: &Cond, b: &Cond) -> Option<Cond> {
    Some(match op {
        ArithOp::BitAnd => a.clone().and(b.clone()),
        ArithOp::BitOr => a.clone().or(b.clone()),
        ArithOp::BitXor => {
            let either = |x: &Cond, y: &Cond| x.clone().and(y.clone().negate());
            either(a, b).or(either(b, a))
        }
        _ => return None,
    })
}
