//! Expressions in terms of symbols that a launch decides: each local is replaced by its first value.

use std::collections::BTreeMap;

use hx_index::{Cond, Expr, Symbol};
use hx_tile::Scalar;

use super::launch::{REGISTERS, level};
use super::program::Number;
use super::{Launchable, Protocol, Stmt};

/// The longest chain of locals and counters that depend on each other.
const DEEPEST: usize = 16;
/// The largest expression that is expanded further.
const LARGEST: usize = 400;

pub(super) struct Expansion<'a> {
    known: &'a Launchable,
    /// The first value of each counter and local.
    first: BTreeMap<Symbol, Expr>,
}

impl<'a> Expansion<'a> {
    /// Collects the first values of the locals of a protocol. `weight` returns the weight of an element of data at some coordinates.
    pub(super) fn of(
        protocol: &Protocol,
        known: &'a Launchable,
        weight: &dyn Fn(&[Expr]) -> Expr,
    ) -> Expansion<'a> {
        let mut first = BTreeMap::new();
        protocol.visit(&mut |stmt| match stmt {
            Stmt::For { var, start: value, .. } | Stmt::Let { var, value } => {
                first.insert(var.clone(), value.clone());
            }
            Stmt::Number { var, changes: false, number } => {
                first.extend(first_value(number, weight).map(|value| (var.clone(), value)));
            }
            Stmt::Number { .. }
            | Stmt::Act(..)
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Assign { .. }
            | Stmt::Value(_) => {}
        });
        Expansion { known, first }
    }

    /// Returns the expression with all locals replaced, except for those that `is_kept` accepts.
    pub(super) fn expr(&self, expr: &Expr, is_kept: &dyn Fn(&Symbol) -> bool) -> Expr {
        let value = |symbol: &Symbol| match symbol {
            Symbol::Var(..) if is_kept(symbol) => None,
            Symbol::Var(..) => Some(self.first.get(symbol).cloned().unwrap_or_default()),
            symbol => {
                let mut derived = self.known.derived.iter();
                derived.find(|(derived, _)| derived == symbol).map(|(_, expr)| expr.clone())
            }
        };
        // A local depends on locals before it, and a counter can start at the value of another counter.
        let mut expr = expr.clone();
        for _ in 0..DEEPEST {
            if expr.is_larger_than(LARGEST) || !expr.symbols().iter().any(|s| value(s).is_some()) {
                break;
            }
            expr = expr.substitute(&self.known.facts, &value);
        }
        expr
    }

    /// As [`Expansion::expr`], for a condition.
    pub(super) fn cond(&self, cond: &Cond, is_kept: &dyn Fn(&Symbol) -> bool) -> Cond {
        mapped(cond, &|expr| self.expr(expr, is_kept))
    }
}

/// Returns a condition in which `with` replaces each compared expression.
pub(super) fn mapped(cond: &Cond, with: &dyn Fn(&Expr) -> Expr) -> Cond {
    let all = |conds: &[Cond]| conds.iter().map(|cond| mapped(cond, with)).collect();
    match cond {
        Cond::True | Cond::False => cond.clone(),
        Cond::Cmp(op, a, b) => Cond::Cmp(*op, with(a), with(b)),
        Cond::And(conds) => Cond::And(all(conds)),
        Cond::Or(conds) => Cond::Or(all(conds)),
    }
}

/// Returns an expression for a number in terms of the level of its source, as far as it has one.
pub(super) fn first_value(number: &Number, weight: &dyn Fn(&[Expr]) -> Expr) -> Option<Expr> {
    match number {
        Number::Element { source, at, .. } => Some(&Expr::symbol(level(source)) * &weight(at)),
        Number::Register { .. } => Some(Expr::symbol(level(REGISTERS))),
        Number::Computed(Scalar::Integer { value, .. }) => Some(value.clone()),
        Number::Computed(_) => None,
    }
}
