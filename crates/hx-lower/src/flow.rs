//! Facts about variables, which hold at one place of the program only: an assignment ends them, and branches join them.
//!
//! Everything else that the facts say holds in the whole program. The program is lowered in its order, so the facts are those of
//! the place that is lowered now.

use hx_dtype::DType;
use hx_hir::ExprId;
use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};
use hx_tile::Stmt;

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::Value;
use crate::variable_facts::{Bound, Branch, Range, VariableFacts, greater, joined, less, within};
use crate::variables::Variable;
use crate::whole::width;

impl Lowering<'_> {
    /// Returns the facts about variables at this place.
    pub(crate) fn facts_now(&self) -> VariableFacts {
        if self.variables.symbols().is_empty() {
            return VariableFacts::default();
        }
        let of = |symbol: &Symbol| (symbol.clone(), self.facts.range(&Expr::symbol(symbol.clone())));
        VariableFacts {
            ranges: self.variables.symbols().iter().map(of).collect(),
            statements: self.facts.statements_about(self.variables.symbols()),
        }
    }

    /// Replaces the facts about variables by those of another place.
    pub(crate) fn set_facts(&mut self, facts: &VariableFacts) {
        self.variables.symbols().iter().for_each(|symbol| self.facts.forget_symbol(symbol));
        for (symbol, range) in &facts.ranges {
            self.facts.set_range(symbol, *range);
        }
        facts.statements.iter().for_each(|e| self.facts.ordered(&Expr::default(), e));
    }

    /// Keeps the facts that hold at the ends of both branches.
    pub(crate) fn join_facts(&mut self, a: &VariableFacts, b: &VariableFacts) {
        let range_in = |facts: &VariableFacts, symbol: &Symbol| {
            facts.ranges.iter().find(|(s, _)| s == symbol).map_or((None, None), |(_, range)| *range)
        };
        let joined =
            a.ranges.iter().map(|(symbol, range)| (symbol.clone(), joined(*range, range_in(b, symbol))));
        let both = VariableFacts {
            ranges: joined.collect(),
            statements: a.statements.iter().filter(|e| b.statements.contains(e)).cloned().collect(),
        };
        self.set_facts(&both);
    }

    /// Ends the facts about a variable whose new value has this range.
    pub(crate) fn changed(&mut self, symbol: &Symbol, range: Range) {
        self.facts.forget_symbol(symbol);
        self.facts.set_range(symbol, range);
    }

    /// Ends the facts about a variable that an assignment changes. If the new value is `± old + distance`, statements about the
    /// old value become statements about the new one: after `i = i + 1`, `i < n` becomes `i - 1 < n`.
    pub(crate) fn assigned(&mut self, symbol: &Symbol, value: &Expr, dtype: Option<DType>) {
        let range = within(self.facts.range(value), range_of_type(dtype));
        let moved = match self.solved(symbol, value) {
            Some((sign, rest)) => {
                let old = (Expr::symbol(symbol.clone()) - rest).scale(sign);
                self.restated(symbol, &old)
            }
            None => Vec::new(),
        };
        self.changed(symbol, range);
        moved.iter().for_each(|e| self.facts.ordered(&Expr::default(), e));
    }

    /// Returns the statements about a variable, with `value` in place of the variable.
    fn restated(&self, symbol: &Symbol, value: &Expr) -> Vec<Expr> {
        let statements = self.facts.statements_about(&[symbol.clone()].into());
        let with = |s: &Symbol| (s == symbol).then(|| value.clone());
        statements.iter().map(|statement| statement.substitute(&self.facts, &with)).collect()
    }

    /// States a condition for a branch, variables included. Returns the statements, for [`Lowering::leave_branch`].
    pub(crate) fn enter_branch(&mut self, cond: &Cond) -> Vec<Expr> {
        for symbol in cond.symbols() {
            if self.variables.contains(&symbol) {
                let own = self.facts.range(&Expr::symbol(symbol.clone()));
                let range = self.narrowed(&symbol, cond, own);
                self.facts.set_range(&symbol, range);
            }
        }
        self.facts.holds(cond)
    }

    /// Returns bounds to try on the values of both branches of a condition: each side of its comparisons that mentions no
    /// variable, and the numbers next to it.
    pub(crate) fn bounds_in(&self, cond: &Cond) -> Vec<Bound> {
        let mut bounds = Vec::new();
        let mut conds = vec![cond];
        while let Some(cond) = conds.pop() {
            match cond {
                Cond::Cmp(_, a, b) => {
                    for side in [a, b] {
                        if side.symbols().iter().any(|s| self.variables.contains(s)) {
                            continue;
                        }
                        let before = side.clone() - Expr::constant(1);
                        bounds.extend([side.clone(), before].map(Bound::AtMost));
                        let after = side.clone() + Expr::constant(1);
                        bounds.extend([side.clone(), after].map(Bound::AtLeast));
                    }
                }
                Cond::And(all) | Cond::Or(all) => conds.extend(all),
                Cond::True | Cond::False => {}
            }
        }
        bounds
    }

    /// Makes a branch. The range and the proven bounds of its value come from `end`, the facts at the end of the branch,
    /// because fewer facts hold after the `if`.
    pub(crate) fn branch(
        &mut self,
        at: ExprId,
        (value, stmts): (Lower<Value>, Vec<Stmt>),
        end: &VariableFacts,
        bounds: &[Bound],
    ) -> Branch {
        let mut branch = Branch::of(at, value, stmts);
        if let Some(whole) = branch.value.as_ref().ok().and_then(Value::whole) {
            let start = self.facts_now();
            self.set_facts(end);
            branch.range = Some(self.facts.range(&whole.value));
            let proven = bounds.iter().filter(|bound| bound.is_proven(&self.facts, &whole.value));
            branch.bounds = proven.cloned().collect();
            self.set_facts(&start);
        }
        branch
    }

    /// Withdraws the statements of [`Lowering::enter_branch`]. `before` are the facts before the branch.
    pub(crate) fn leave_branch(&mut self, stated: &[Expr], before: &VariableFacts) {
        self.facts.forget(stated);
        self.set_facts(before);
    }

    /// Returns the range `own` of a variable, narrowed by a condition.
    fn narrowed(&self, symbol: &Symbol, cond: &Cond, own: Range) -> Range {
        let at_least_0 = |e: Expr, own: Range| match self.solved(symbol, &e) {
            Some((1, rest)) => (greater(own.0, self.facts.range(&rest).1.and_then(i64::checked_neg)), own.1),
            Some((_, rest)) => (own.0, less(own.1, self.facts.range(&rest).1)),
            None => own,
        };
        match cond {
            Cond::And(all) => all.iter().fold(own, |own, cond| self.narrowed(symbol, cond, own)),
            Cond::Cmp(CmpOp::Lt, a, b) => at_least_0(b.clone() - a.clone() - Expr::constant(1), own),
            Cond::Cmp(CmpOp::Le, a, b) => at_least_0(b.clone() - a.clone(), own),
            Cond::Cmp(CmpOp::Eq, a, b) => {
                at_least_0(a.clone() - b.clone(), at_least_0(b.clone() - a.clone(), own))
            }
            Cond::Cmp(CmpOp::Ne, a, b) => {
                let other = self.solved(symbol, &(a.clone() - b.clone()));
                let Some(other) = other.and_then(|(sign, rest)| rest.scale(-sign).as_const()) else {
                    return own;
                };
                match own {
                    (Some(low), high) if low == other => (low.checked_add(1), high),
                    (low, Some(high)) if high == other => (low, high.checked_sub(1)),
                    own => own,
                }
            }
            Cond::True | Cond::False | Cond::Or(_) => own,
        }
    }

    /// Returns the sign and the rest if `e` is `± symbol + rest` and the rest does not mention the symbol.
    fn solved(&self, symbol: &Symbol, e: &Expr) -> Option<(i64, Expr)> {
        let own = vec![Atom::Symbol(symbol.clone())];
        let sign = e.terms().find(|(monomial, _)| **monomial == own)?.1;
        let rest = e.clone() - Expr::symbol(symbol.clone()).scale(sign);
        (sign.abs() == 1 && !rest.mentions(symbol)).then_some((sign, rest))
    }

    /// Reports whether the condition mentions a variable, so that it may stop holding.
    pub(crate) fn mentions_variables(&self, cond: &Cond) -> bool {
        cond.symbols().iter().any(|symbol| self.variables.contains(symbol))
    }

    /// Reports whether the assertions before this place prove the conditions. An assertion may fail at run time, so the access
    /// must be safe even then.
    pub(crate) fn is_asserted(&self, conds: &[Cond]) -> bool {
        if self.asserted.is_empty() {
            return false;
        }
        let mut facts = self.facts.clone();
        self.asserted.iter().for_each(|cond| _ = facts.holds(cond));
        let holds = |cond: &Cond| match cond {
            Cond::Cmp(op, a, b) => Cond::cmp(*op, a.clone(), b.clone(), &facts) == Cond::True,
            cond => *cond == Cond::True,
        };
        conds.iter().all(holds)
    }

    /// States about `now`, which keeps the current value of `value`, everything that is known of the variables in `value`.
    pub(crate) fn keep_statements(&mut self, now: &Symbol, value: &Expr) {
        for symbol in value.symbols().into_iter().filter(|symbol| self.variables.contains(symbol)) {
            let Some((sign, rest)) = self.solved(&symbol, value) else { continue };
            // `now = ± symbol + rest`, so `symbol = ± (now - rest)`.
            let old = (Expr::symbol(now.clone()) - rest).scale(sign);
            for moved in self.restated(&symbol, &old) {
                if !moved.symbols().iter().any(|s| self.variables.contains(s)) {
                    self.facts.ordered_where_defined(&Expr::default(), &moved);
                }
            }
        }
    }

    /// Ends all facts about variables: the stages behind this one read facts that hold everywhere.
    pub(crate) fn forget_variables(&mut self) {
        for Variable { symbol, dtype } in self.variables.all() {
            self.changed(&symbol, range_of_type(dtype));
        }
    }
}

/// Returns the range that a variable of this type always has.
pub(crate) fn range_of_type(dtype: Option<DType>) -> Range {
    match dtype {
        Some(DType::Bool) => (Some(0), Some(1)),
        Some(dtype) => match width(dtype).filter(|width| width.bits < 64) {
            Some(width) => (Some(width.range().0), Some(width.range().1)),
            None => (None, None),
        },
        None => (None, None),
    }
}
