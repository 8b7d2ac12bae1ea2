//! Conditions over symbolic integers: guards of accesses, `if` and `where`.

use std::collections::BTreeSet;

use crate::{EvalError, Expr, Facts, Symbol};

/// A comparison of two integers. `>` and `>=` are stored with their operands exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CmpOp {
    Lt,
    Le,
    Eq,
    Ne,
}

/// A truth value that depends on symbols. `a > b` is stored as `b < a`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cond {
    True,
    False,
    Cmp(CmpOp, Expr, Expr),
    /// All conditions hold. Never empty, never nested.
    And(Vec<Cond>),
    /// At least one condition holds. Never empty, never nested.
    Or(Vec<Cond>),
}

impl Cond {
    /// Returns the symbols on which the condition depends.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        match self {
            Cond::True | Cond::False => BTreeSet::new(),
            Cond::Cmp(_, a, b) => a.symbols().into_iter().chain(b.symbols()).collect(),
            Cond::And(conds) | Cond::Or(conds) => conds.iter().flat_map(Cond::symbols).collect(),
        }
    }

    /// Makes the comparison `a op b`. It is [`Cond::True`] or [`Cond::False`] if the facts decide it: `==` is `True` only for
    /// equal expressions.
    pub fn cmp(op: CmpOp, a: Expr, b: Expr, facts: &Facts) -> Cond {
        let known = |holds: bool, fails: bool| {
            if holds {
                Some(true)
            } else if fails {
                Some(false)
            } else {
                None
            }
        };
        let decided = match op {
            CmpOp::Lt => known(facts.proves_lt(&a, &b), facts.proves_le(&b, &a)),
            CmpOp::Le => known(facts.proves_le(&a, &b), facts.proves_lt(&b, &a)),
            CmpOp::Eq => known(a == b, facts.proves_lt(&a, &b) || facts.proves_lt(&b, &a)),
            CmpOp::Ne => known(facts.proves_lt(&a, &b) || facts.proves_lt(&b, &a), a == b),
        };
        match decided {
            Some(true) => Cond::True,
            Some(false) => Cond::False,
            None => Cond::Cmp(op, a, b),
        }
    }

    /// Makes `self && other`, flat and without repeated conditions. Truth values are folded.
    pub fn and(self, other: Cond) -> Cond {
        match (self, other) {
            (Cond::False, _) | (_, Cond::False) => Cond::False,
            (Cond::True, c) | (c, Cond::True) => c,
            (a, b) => {
                let mut all = match a {
                    Cond::And(v) => v,
                    a => vec![a],
                };
                for c in if let Cond::And(v) = b { v } else { vec![b] } {
                    if !all.contains(&c) {
                        all.push(c);
                    }
                }
                if all.len() == 1 { all.remove(0) } else { Cond::And(all) }
            }
        }
    }

    /// Makes `self || other`, flat. Truth values are folded.
    pub fn or(self, other: Cond) -> Cond {
        match (self, other) {
            (Cond::True, _) | (_, Cond::True) => Cond::True,
            (Cond::False, c) | (c, Cond::False) => c,
            (a, b) => {
                let mut any = match a {
                    Cond::Or(v) => v,
                    a => vec![a],
                };
                any.extend(if let Cond::Or(v) = b { v } else { vec![b] });
                Cond::Or(any)
            }
        }
    }

    /// Makes `!self`. The negation moves inward to the comparisons, where `!(a < b)` becomes `b <= a`.
    pub fn negate(self) -> Cond {
        match self {
            Cond::True => Cond::False,
            Cond::False => Cond::True,
            Cond::Cmp(CmpOp::Lt, a, b) => Cond::Cmp(CmpOp::Le, b, a),
            Cond::Cmp(CmpOp::Le, a, b) => Cond::Cmp(CmpOp::Lt, b, a),
            Cond::Cmp(CmpOp::Eq, a, b) => Cond::Cmp(CmpOp::Ne, a, b),
            Cond::Cmp(CmpOp::Ne, a, b) => Cond::Cmp(CmpOp::Eq, a, b),
            Cond::And(v) => Cond::Or(v.into_iter().map(Cond::negate).collect()),
            Cond::Or(v) => Cond::And(v.into_iter().map(Cond::negate).collect()),
        }
    }

    /// Evaluates the condition under a binding of the symbols, from left to right up to the operand that decides it.
    ///
    /// # Errors
    /// If a comparison that is evaluated has a symbol without a value, divides by zero, or exceeds 64 bits.
    pub fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<bool, EvalError> {
        Ok(match self {
            Cond::True => true,
            Cond::False => false,
            Cond::Cmp(op, a, b) => {
                let (a, b) = (a.eval(env)?, b.eval(env)?);
                match op {
                    CmpOp::Lt => a < b,
                    CmpOp::Le => a <= b,
                    CmpOp::Eq => a == b,
                    CmpOp::Ne => a != b,
                }
            }
            Cond::And(v) => {
                for c in v {
                    if !c.eval(env)? {
                        return Ok(false);
                    }
                }
                true
            }
            Cond::Or(v) => {
                for c in v {
                    if c.eval(env)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }
}
