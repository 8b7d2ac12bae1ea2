//! Conditions that hold in one round of a loop at most: its counter is a number that the loop does not change.

use hx_index::{CmpOp, Cond, Expr};

use super::column::{Column, Scope};

/// Equations of numbers that only a launch knows and that stay as they are, each with a constant.
#[derive(Debug, Clone, Default)]
pub(super) struct Equations(Vec<(Expr, i64)>);

/// The number of an equation.
pub(super) type Equation = u32;

impl Equations {
    /// What holds wherever a condition does; and what holds wherever it does not.
    pub(super) fn of(&mut self, cond: &Cond, scope: &Scope) -> (Option<Equation>, Option<Equation>) {
        match cond {
            Cond::Cmp(CmpOp::Eq, a, b) => (self.add(a, b, scope), None),
            Cond::Cmp(CmpOp::Ne, a, b) => (None, self.add(a, b, scope)),
            Cond::And(all) => (all.iter().find_map(|cond| self.of(cond, scope).0), None),
            Cond::Or(any) => (None, any.iter().find_map(|cond| self.of(cond, scope).1)),
            Cond::True | Cond::False | Cond::Cmp(..) => (None, None),
        }
    }

    fn add(&mut self, a: &Expr, b: &Expr, scope: &Scope) -> Option<Equation> {
        let (mut known, mut unknown) = (0i64, Expr::constant(0));
        let mut sign = 0;
        for (monomial, coefficient) in (a.clone() - b.clone()).terms() {
            let factors = monomial.iter().map(|atom| Expr::atom(atom.clone()));
            let term = factors.fold(Expr::constant(coefficient), |term, factor| &term * &factor);
            match scope.in_run().values(&term) {
                Column::Same(Some(value)) => known = known.checked_add(value)?,
                // What varies from thread to thread or from round to round may well be equal twice.
                _ if scope.known.iter().any(|known| term.mentions(&known.symbol)) => return None,
                _ => {
                    // Either side may stand on the left.
                    sign = if sign == 0 { coefficient.signum() } else { sign };
                    unknown = unknown + term * Expr::constant(sign);
                }
            }
        }
        let equation = (unknown, known.checked_mul(-sign)?);
        let index = self.0.iter().position(|known| *known == equation).unwrap_or_else(|| {
            self.0.push(equation);
            self.0.len() - 1
        });
        u32::try_from(index).ok()
    }

    /// Whether no launch satisfies both.
    pub(super) fn exclude(&self, a: Option<Equation>, b: Option<Equation>) -> bool {
        let get = |equation: Option<Equation>| self.0.get(equation? as usize);
        get(a).zip(get(b)).is_some_and(|((a, first), (b, second))| a == b && first != second)
    }
}
