//! `assert`: the condition, and what is shown of it if it does not hold.

use hx_hir::{Arg, BinaryOp, Expr, ExprId, Item, LogicOp, UnaryOp, body_source_map};

use super::{EvalResult, Frame, operators};
use crate::error::HostError;
use crate::picture::Mark;
use crate::value::Value;

/// The largest number of parts of a condition that a message shows.
const SHOWN: usize = 8;

/// An operand of `&&`, `||` or `!` in a condition, with its result. Operands that `&&` or `||` skipped are missing.
struct Part {
    id: ExprId,
    /// Both sides, if it is a comparison.
    sides: Option<(Value, Value)>,
    holds: bool,
}

impl<'a> Frame<'a, '_> {
    /// Evaluates `assert(condition, "message")`. If the condition does not hold, the message shows both sides of its comparisons.
    ///
    /// # Errors
    /// If the condition is false, is not one bool, or cannot be evaluated.
    pub(super) fn assert(&mut self, id: ExprId, args: &[Arg]) -> EvalResult<Value> {
        let [condition, rest @ ..] = args else {
            return Err(self.fail(id, HostError::call("`assert` lacks its condition")));
        };
        if rest.len() > 1 {
            return Err(self.fail(id, HostError::call("`assert` takes a condition and a message")));
        }
        let mut parts = Vec::new();
        let holds = match self.asserted(condition.value, &mut parts)? {
            Value::Bool(b) => b,
            Value::Tensor(t) => {
                let error =
                    HostError::ty(format!("the condition is {}, not one bool", Value::Tensor(t).kind()))
                        .help("say which is meant: `(x == y).all()` or `.any()`");
                return Err(self.fail(condition.value, error));
            }
            other => {
                let error = HostError::ty(format!("found {}, a bool is needed", other.kind()));
                return Err(self.fail(condition.value, error));
            }
        };
        if holds || self.session.options.unchecked {
            return Ok(Value::Unit);
        }
        if let Expr::Binary { op: BinaryOp::Cmp(_), lhs, rhs } = &self.body.store[condition.value] {
            self.session.marks = vec![Mark::Wrong];
            self.suspect_of(&[*lhs, *rhs]);
        }
        let text = self.text(condition.value);
        let mut error = match rest.first() {
            Some(message) => {
                let value = self.expr(message.value)?;
                let message = self.at(message.value, value.str().map(str::to_owned))?;
                HostError::assertion(message).note(format!("`{text}` does not hold"))
            }
            None => HostError::assertion(format!("`{text}` does not hold")),
        };
        for note in self.explained(condition.value, &parts) {
            error = error.note(note);
        }
        Err(self.fail(condition.value, error))
    }

    /// Evaluates a condition like any expression, and appends each evaluated operand of its `&&`, `||` and `!` to `parts`.
    ///
    /// # Errors
    /// If an operand cannot be evaluated, or an operator does not take its operands.
    fn asserted(&mut self, id: ExprId, parts: &mut Vec<Part>) -> EvalResult<Value> {
        let body = self.body;
        match &body.store[id] {
            Expr::Binary { op: op @ BinaryOp::Cmp(_), lhs, rhs } => {
                let (left, right) = (self.expr(*lhs)?, self.expr(*rhs)?);
                let result = self.at(id, operators::binary(*op, &left, &right))?;
                if let Value::Bool(holds) = result {
                    parts.push(Part { id, sides: Some((left, right)), holds });
                }
                Ok(result)
            }
            Expr::Binary { op: op @ BinaryOp::Logic(logic), lhs, rhs } => {
                let left = self.asserted(*lhs, parts)?;
                match left {
                    Value::Bool(left) if left == (*logic == LogicOp::Or) => Ok(Value::Bool(left)),
                    left => {
                        let right = self.asserted(*rhs, parts)?;
                        self.at(id, operators::binary(*op, &left, &right))
                    }
                }
            }
            Expr::Unary { op: UnaryOp::Not, operand } => match self.asserted(*operand, parts)? {
                Value::Bool(holds) => Ok(Value::Bool(!holds)),
                other => self.at(id, operators::unary(UnaryOp::Not, &other)),
            },
            _ => {
                let value = self.expr(id)?;
                if let Value::Bool(holds) = value {
                    parts.push(Part { id, sides: None, holds });
                }
                Ok(value)
            }
        }
    }

    /// Returns the values in a condition that does not hold, a line for each part.
    fn explained(&self, condition: ExprId, parts: &[Part]) -> Vec<String> {
        match parts {
            [Part { id, sides: Some((left, right)), .. }] if *id == condition => {
                vec![format!("left: {left}"), format!("right: {right}")]
            }
            [Part { id, .. }] if *id == condition => Vec::new(),
            parts => {
                let line = |part: &Part| {
                    let (text, holds) = (self.text(part.id), part.holds);
                    match &part.sides {
                        Some((left, right)) => format!("`{text}` is {holds}: left {left}, right {right}"),
                        None => format!("`{text}` is {holds}"),
                    }
                };
                parts.iter().take(SHOWN).map(line).collect()
            }
        }
    }

    /// Returns the source of an expression, for the message of a failed assertion.
    fn text(&self, id: ExprId) -> String {
        let db = self.session.db;
        let source = || {
            let item: Item<'a> = self.key.find(db)?;
            let range = body_source_map(db, item)?.expr(id)? + item.offset(db);
            let text = self.key.file.text(db).get(std::ops::Range::<usize>::from(range))?;
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        source().unwrap_or_else(|| "the condition".to_owned())
    }
}
