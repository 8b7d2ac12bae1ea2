//! The knowledge about variables at one place of a program, as data: ranges, statements and branches.

use hx_hir::ExprId;
use hx_index::{Expr, Facts, Symbol};
use hx_tile::Stmt;

use crate::error::Lower;
use crate::value::Value;

/// The least and the greatest value, where known.
pub(crate) type Range = (Option<i64>, Option<i64>);

/// A branch of an `if`.
pub(crate) struct Branch {
    pub(crate) at: ExprId,
    pub(crate) value: Lower<Value>,
    pub(crate) stmts: Vec<Stmt>,
    /// The range of the value at the end of the branch, if it is a whole number.
    pub(crate) range: Option<Range>,
    pub(crate) bounds: Vec<Bound>,
}

/// An inclusive bound of a number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Bound {
    AtLeast(Expr),
    AtMost(Expr),
}

impl Branch {
    pub(crate) fn of(at: ExprId, value: Lower<Value>, stmts: Vec<Stmt>) -> Branch {
        Branch { at, value, stmts, range: None, bounds: Vec::new() }
    }
}

impl Bound {
    pub(crate) fn is_proven(&self, facts: &Facts, value: &Expr) -> bool {
        match self {
            Bound::AtLeast(low) => facts.proves_le(low, value),
            Bound::AtMost(high) => facts.proves_le(value, high),
        }
    }

    pub(crate) fn state(&self, facts: &mut Facts, value: &Expr) {
        match self {
            Bound::AtLeast(low) => facts.ordered_where_defined(low, value),
            Bound::AtMost(high) => facts.ordered_where_defined(value, high),
        }
    }
}

/// The facts about variables at one place.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct VariableFacts {
    pub(crate) ranges: Vec<(Symbol, Range)>,
    pub(crate) statements: Vec<Expr>,
}

/// Returns the least range that holds both.
pub(crate) fn joined(a: Range, b: Range) -> Range {
    (a.0.zip(b.0).map(|(x, y)| x.min(y)), a.1.zip(b.1).map(|(x, y)| x.max(y)))
}

/// Returns the greater of two lower ends; an unknown end does not bound.
pub(crate) fn greater(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.max(b)
}

/// Returns the part of a range that is in another one too.
pub(crate) fn within(a: Range, b: Range) -> Range {
    (greater(a.0, b.0), less(a.1, b.1))
}

/// Returns the smaller of two upper ends; an unknown end does not bound.
pub(crate) fn less(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
