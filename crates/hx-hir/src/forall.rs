//! The `forall` clause of a test: variables, and the values that cases are drawn from.
//!
//! Ranges and lists are host expressions, which the evaluation computes: a range may name variables before it, as in
//! `forall m in 1..=300, k in 1..=m`.

use hx_syntax::ast::{self, AstNode as _};

use crate::{Expr, ExprId, Name, PatId, collect::Collector, collect::plain_text};

/// A variable of a `forall` clause, `m in 1..=300`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForallVariable {
    /// The pattern that each value is bound to.
    pub pat: PatId,
    /// The pattern as written, for the names of cases.
    pub name: Name,
    pub domain: ForallDomain,
    /// The expression of the values, to which diagnostics point.
    pub at: ExprId,
}

/// The values of a variable as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForallDomain {
    /// `start..end`, or `start..=end` if it includes its end. The parser reports a range without an end or a start.
    Range { start: ExprId, end: ExprId, inclusive: bool },
    /// A list, or anything else that the evaluation finds to be a list or a range.
    Values,
}

impl Collector {
    pub(crate) fn forall(&mut self, clause: Option<ast::ForallClause>) -> Vec<ForallVariable> {
        clause.iter().flat_map(|clause| clause.variables()).map(|it| self.forall_variable(&it)).collect()
    }

    fn forall_variable(&mut self, variable: &ast::ForallVariable) -> ForallVariable {
        let at = self.expr(variable.domain());
        let domain = match (&self.store[at], variable.domain()) {
            (Expr::Range { start: Some(start), end: Some(end) }, Some(written)) => {
                let inclusive = matches!(written, ast::Expr::RangeExpr(range) if range.eq_token().is_some());
                ForallDomain::Range { start: *start, end: *end, inclusive }
            }
            _ => ForallDomain::Values,
        };
        let name = variable.pattern().map_or_else(|| "_".into(), |pat| plain_text(pat.syntax()).into());
        ForallVariable { pat: self.pat(variable.pattern()), name, domain, at }
    }
}
