//! Bounds on evaluation at compile time. They count steps and parts, not time or bytes, so that every machine reaches them at
//! the same place.

use hx_base::codes;
use hx_hir::{ExprId, MAX_PARTS, MAX_TERMS};
use hx_index::{Cond, Expr};
use hx_tile::Scalar;

use crate::budget::MAX_STEPS;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{ExprTuple, Value};

impl Lowering<'_> {
    /// Counts the evaluation of one expression.
    ///
    /// # Errors
    /// If the lowering has already taken [`MAX_STEPS`] steps or reached another bound. Nothing more is evaluated then.
    pub(crate) fn step(&mut self, id: ExprId) -> Lower<()> {
        if let Some(reported) = self.budget.reached() {
            return Err(reported);
        }
        if self.budget.step() {
            return Ok(());
        }
        self.stop(
            id,
            format!("found more than {MAX_STEPS} expressions to evaluate at compile time"),
            "a `fn` is evaluated at each of its calls, and an unrolled loop in each round: call less often, or leave loops to run time",
        )
    }

    /// Returns the value, or reports it if it has more than [`MAX_PARTS`] parts.
    pub(crate) fn bounded(&mut self, id: ExprId, value: Value) -> Lower<Value> {
        if !larger(&value, &mut { MAX_PARTS }) {
            return Ok(value);
        }
        let help = match value {
            Value::Lazy(_) | Value::Tensor(_) => "`let` gives a part of the expression a tensor of its own",
            _ => "split it up, or compute it at run time",
        };
        let message =
            format!("found a value of more than {MAX_PARTS} parts, which is the limit at compile time");
        self.stop(id, message, help)
    }

    /// Refuses arithmetic on symbolic integers if an operand has more than [`MAX_TERMS`] terms and factors.
    pub(crate) fn short(&mut self, id: ExprId, a: &Expr, b: &Expr) -> Lower<()> {
        if !a.is_larger_than(MAX_TERMS) && !b.is_larger_than(MAX_TERMS) {
            return Ok(());
        }
        let message = format!(
            "found a symbolic integer of more than {MAX_TERMS} terms and factors, which is the limit at compile time"
        );
        self.stop(id, message, "pass the value to the kernel as an argument")
    }

    /// Reports that a bound was reached, once per lowering. A program that reaches a bound usually reaches it at very many
    /// expressions, so the later ones return the first report.
    fn stop<T>(&mut self, id: ExprId, message: String, help: &str) -> Lower<T> {
        if let Some(reported) = self.budget.reached() {
            return Err(reported);
        }
        let error = self.error(&codes::COMPILE_TIME_LIMIT, id, message).label("the evaluation stopped here");
        let reported = self.report(error.help(help));
        self.budget.end(reported);
        Err(reported)
    }
}

/// Subtracts the number of parts of `value` from `left`. Returns whether `value` has more parts than `left` held.
fn larger(value: &Value, left: &mut usize) -> bool {
    match value {
        // An empty tuple takes memory too.
        Value::Tuple(parts) | Value::Array(parts) if parts.is_empty() => taken(left),
        Value::Tuple(parts) | Value::Array(parts) => parts.iter().any(|part| larger(part, left)),
        Value::Layout(layout) => entries(&layout.shape, left),
        Value::Scalar(scalar) => nodes(scalar, left),
        Value::Lazy(lazy) => nodes(&lazy.value, left),
        Value::Choice(choice) => {
            nodes(&choice.cond.value, left) || larger(&choice.then, left) || larger(&choice.otherwise, left)
        }
        Value::Bool(cond) => comparisons(cond, left),
        _ => taken(left),
    }
}

fn taken(left: &mut usize) -> bool {
    match left.checked_sub(1) {
        Some(rest) => *left = rest,
        None => return true,
    }
    false
}

fn entries(tuple: &ExprTuple, left: &mut usize) -> bool {
    match tuple {
        ExprTuple::Leaf(_) => taken(left),
        ExprTuple::Tuple(parts) if parts.is_empty() => taken(left),
        ExprTuple::Tuple(parts) => parts.iter().any(|part| entries(part, left)),
    }
}

fn nodes(scalar: &Scalar, left: &mut usize) -> bool {
    taken(left)
        || match scalar {
            Scalar::Apply { args, .. } => args.iter().any(|arg| nodes(arg, left)),
            Scalar::Cast { arg, .. } | Scalar::Bitcast { arg, .. } => nodes(arg, left),
            Scalar::Inlined(inlined) => inlined.parts().any(|part| nodes(part, left)),
            _ => false,
        }
}

fn comparisons(cond: &Cond, left: &mut usize) -> bool {
    match cond {
        Cond::And(conds) | Cond::Or(conds) => conds.iter().any(|cond| comparisons(cond, left)),
        _ => taken(left),
    }
}
