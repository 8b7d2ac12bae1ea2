//! Recognizes conditions that hold in at most one round of a loop: they equate the counter with a number that the loop does
//! not change.

use hx_index::{CmpOp, Cond, Expr};

use crate::column::{Column, Scope};

/// Equations of a number that only a launch knows and that never changes, each with a constant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Equations(Vec<(Expr, i64)>);

/// The index of an equation in [`Equations`].
pub(crate) type Equation = u32;

impl Equations {
    /// Returns the equation that holds wherever the condition holds, and the equation that holds wherever the condition fails;
    /// `None` where the condition implies no equation.
    pub(crate) fn of(&mut self, cond: &Cond, scope: &Scope) -> (Option<Equation>, Option<Equation>) {
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
                // A number that varies between threads or rounds may equal the constant more than once, so it makes no
                // equation.
                _ if scope.known.iter().any(|known| term.mentions(&known.symbol)) => return None,
                _ => {
                    // Normalize the sign, so that `a == b` and `b == a` are the same equation.
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

    /// Reports whether no launch satisfies both equations, because they equate the same number with different constants.
    pub(crate) fn exclude(&self, a: Option<Equation>, b: Option<Equation>) -> bool {
        let get = |equation: Option<Equation>| self.0.get(equation? as usize);
        get(a).zip(get(b)).is_some_and(|((a, first), (b, second))| a == b && first != second)
    }
}
