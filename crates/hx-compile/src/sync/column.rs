//! Symbolic integers and conditions of all threads of a block at once.

use std::borrow::Cow;

use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};

/// A value for each thread, where it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column<T> {
    Same(Option<T>),
    Each(Vec<Option<T>>),
}

impl<T: Copy> Column<T> {
    pub(super) fn get(&self, thread: usize) -> Option<T> {
        match self {
            Column::Same(value) => *value,
            Column::Each(values) => values.get(thread).copied().flatten(),
        }
    }

    /// Both, where both are known.
    fn both<U: Copy, V>(&self, other: &Column<U>, f: impl Fn(T, U) -> Option<V>) -> Column<V> {
        let f = |a: Option<T>, b: Option<U>| a.zip(b).and_then(|(a, b)| f(a, b));
        match (self, other) {
            (Column::Same(a), Column::Same(b)) => Column::Same(f(*a, *b)),
            (Column::Same(a), Column::Each(b)) => Column::Each(b.iter().map(|b| f(*a, *b)).collect()),
            (Column::Each(a), Column::Same(b)) => Column::Each(a.iter().map(|a| f(*a, *b)).collect()),
            (Column::Each(a), Column::Each(b)) => {
                Column::Each(a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect())
            }
        }
    }

    /// Replaces each value by what it makes with the other.
    fn join(&mut self, other: &Column<T>, f: impl Fn(Option<T>, Option<T>) -> Option<T>) {
        match (&mut *self, other) {
            (Column::Same(a), Column::Same(b)) => *a = f(*a, *b),
            (Column::Same(a), Column::Each(b)) => {
                *self = Column::Each(b.iter().map(|b| f(*a, *b)).collect());
            }
            (Column::Each(a), Column::Same(b)) => a.iter_mut().for_each(|a| *a = f(*a, *b)),
            (Column::Each(a), Column::Each(b)) => a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, *b)),
        }
    }
}

/// What symbols stand for; inner scopes come last.
pub(super) type Scope = Vec<(Symbol, Column<i64>)>;

/// The values of an expression: unknown for threads for which [`Expr::eval`] has none.
pub(super) fn values(expr: &Expr, scope: &Scope) -> Column<i64> {
    let mut sum = Column::Same(Some(0));
    for (monomial, coefficient) in expr.terms() {
        let mut product = Column::Same(Some(coefficient));
        for factor in monomial {
            product.join(&atom(factor, scope), |a, b| a?.checked_mul(b?));
        }
        sum.join(&product, |a, b| a?.checked_add(b?));
    }
    sum
}

fn atom<'s>(atom: &Atom, scope: &'s Scope) -> Cow<'s, Column<i64>> {
    let both = |a: &Expr, b: &Expr, f: fn(i64, i64) -> Option<i64>| {
        Cow::Owned(values(a, scope).both(&values(b, scope), f))
    };
    match atom {
        Atom::Symbol(symbol) => match scope.iter().rev().find(|(known, _)| known == symbol) {
            Some((_, column)) => Cow::Borrowed(column),
            None => Cow::Owned(Column::Same(None)),
        },
        Atom::Div(a, b) => both(a, b, floor_div),
        Atom::Mod(a, b) => both(a, b, |a, b| Some(a.wrapping_sub(floor_div(a, b)?.wrapping_mul(b)))),
        Atom::Min(a, b) => both(a, b, |a, b| Some(a.min(b))),
        Atom::Max(a, b) => both(a, b, |a, b| Some(a.max(b))),
        Atom::Xor(a, b) => both(a, b, |a, b| Some(a ^ b)),
        Atom::And(a, mask) => {
            let mut column = values(a, scope);
            column.join(&Column::Same(Some(*mask)), |a, b| Some(a? & b?));
            Cow::Owned(column)
        }
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    Some(a.wrapping_div(b) - i64::from(a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0))))
}

/// Whether a condition holds: unknown for threads for which [`Cond::eval`] does not say.
pub(super) fn holds(cond: &Cond, scope: &Scope) -> Column<bool> {
    // The first that decides it, or that is unknown, is the answer.
    let fold = |conds: &[Cond], neutral: bool| {
        let mut all = Column::Same(Some(neutral));
        for cond in conds {
            all.join(&holds(cond, scope), |all, next| if all == Some(neutral) { next } else { all });
        }
        all
    };
    match cond {
        Cond::True => Column::Same(Some(true)),
        Cond::False => Column::Same(Some(false)),
        Cond::Cmp(op, a, b) => {
            let (a, b) = (values(a, scope), values(b, scope));
            match op {
                CmpOp::Lt => a.both(&b, |a, b| Some(a < b)),
                CmpOp::Le => a.both(&b, |a, b| Some(a <= b)),
                CmpOp::Eq => a.both(&b, |a, b| Some(a == b)),
                CmpOp::Ne => a.both(&b, |a, b| Some(a != b)),
            }
        }
        Cond::And(conds) => fold(conds, true),
        Cond::Or(conds) => fold(conds, false),
    }
}

#[cfg(test)]
mod tests {
    use hx_index::Facts;

    use super::*;

    /// Every operator, with zero divisors, negative numbers and symbols that are unknown to some threads or to all.
    #[test]
    fn all_threads_at_once_are_each_thread_alone() {
        let facts = Facts::default();
        let [thread, some, none] = ["thread", "some", "none"].map(|name| Symbol::Var(name.into(), 0));
        let threads: Vec<Option<i64>> = (0..8).map(Some).collect();
        let partly: Vec<Option<i64>> = (0..8).map(|t| (t % 3 != 0).then_some(t - 4)).collect();
        let same = Symbol::Var("same".into(), 0);
        let scope: Scope = vec![
            (thread.clone(), Column::Each(threads)),
            (some.clone(), Column::Each(partly)),
            (none.clone(), Column::Same(None)),
            (same.clone(), Column::Same(Some(5))),
        ];
        let [t, s, n, c] = [&thread, &some, &none, &same].map(|symbol| Expr::symbol(symbol.clone()));
        let huge = Expr::constant(i64::MAX);
        let exprs = [
            &t * &t - s.clone(),
            t.div(&s, &facts),
            s.rem(&Expr::constant(3), &facts),
            c.rem(&(t.clone() - Expr::constant(2)), &facts),
            t.minimum(&s, &facts).maximum(&(c.clone() - t.clone()), &facts),
            t.xor(&c).and(6),
            t.clone() + n.clone(),
            &huge * &t + c.clone(),
            Expr::default(),
        ];
        let mut conds = vec![Cond::True, Cond::False];
        for (i, a) in exprs.iter().enumerate() {
            for b in &exprs[..i] {
                for op in [CmpOp::Lt, CmpOp::Le, CmpOp::Eq, CmpOp::Ne] {
                    conds.push(Cond::Cmp(op, a.clone(), b.clone()));
                }
            }
        }
        let last = conds.clone();
        for pair in last.windows(3).step_by(2) {
            conds.push(Cond::And(pair.to_vec()));
            conds.push(Cond::Or(vec![Cond::And(pair.to_vec()), pair[0].clone()]));
        }
        for thread in 0..8 {
            let env = |symbol: &Symbol| {
                scope.iter().find(|(known, _)| known == symbol).and_then(|(_, column)| column.get(thread))
            };
            for expr in &exprs {
                assert_eq!(
                    values(expr, &scope).get(thread),
                    expr.eval(&env).ok(),
                    "{expr} of thread {thread}"
                );
            }
            for cond in &conds {
                assert_eq!(
                    holds(cond, &scope).get(thread),
                    cond.eval(&env).ok(),
                    "{cond:?} of thread {thread}"
                );
            }
        }
    }
}
