//! Evaluates symbolic integers and conditions for all threads of a block at once.

use std::borrow::Cow;

use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};

/// A value for each thread; `None` where it is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column<T> {
    Same(Option<T>),
    Each(Vec<Option<T>>),
}

impl<T: Copy> Column<T> {
    pub(crate) fn get(&self, thread: usize) -> Option<T> {
        match self {
            Column::Same(value) => *value,
            Column::Each(values) => values.get(thread).copied().flatten(),
        }
    }

    /// Returns the common value of these threads; `None` if it is unknown or differs.
    pub(crate) fn same(&self, of: Option<&[bool]>) -> Option<T>
    where
        T: PartialEq,
    {
        let values = match self {
            Column::Same(value) => return *value,
            Column::Each(values) => values,
        };
        let mut running = values.iter().enumerate().filter(|(thread, _)| is_among(of, *thread));
        let first = *running.next()?.1;
        running.all(|(_, value)| *value == first).then_some(first).flatten()
    }

    /// Keeps the values of these threads, and takes those of all others from `before`.
    fn restore(&mut self, before: &Column<T>, of: &[bool])
    where
        T: PartialEq,
    {
        if self != before {
            let value =
                |(thread, here): (usize, &bool)| if *here { self.get(thread) } else { before.get(thread) };
            *self = Column::Each(of.iter().enumerate().map(value).collect());
        }
    }

    /// Combines two columns thread by thread. The result is known only where both are and `f` returns a value.
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

    /// Replaces each value `a` by `f(a, b)`, where `b` is the value of the same thread in `other`; `None` is a value that is
    /// not known.
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

/// Reports whether a thread is in a set of threads; `None` is the set of all.
pub(crate) fn is_among(of: Option<&[bool]>, thread: usize) -> bool {
    of.is_none_or(|of| of.get(thread) == Some(&true))
}

/// The values of symbols, and what a run assumes about numbers that have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// The bindings; those of inner scopes come last.
    pub(crate) known: Vec<Named>,
    /// Values that a run assumes for expressions that only a launch determines.
    pub(crate) supposed: Vec<(Atom, i64)>,
    /// The value that a run assumes, in addresses of shared memory only, for every other number that is known only at run
    /// time.
    pub(crate) anything: Option<i64>,
    /// The threads that run the statements being followed; `None` if all do.
    pub(crate) running: Option<Vec<bool>>,
}

/// The binding of a local number, a loop counter or the thread index.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) symbol: Symbol,
    pub(crate) values: Column<i64>,
    /// The values that a run assumes in addresses of shared memory; `None` if `values` holds there too.
    pub(crate) guess: Option<Column<i64>>,
}

impl Scope {
    /// Returns the view of the bindings alone, without the assumptions of the run.
    pub(crate) fn certain(&self) -> View<'_> {
        View { known: &self.known, supposed: &[], anything: None, running: self.running.as_deref() }
    }

    /// Returns the view that adds the values which the run supposes.
    pub(crate) fn in_run(&self) -> View<'_> {
        View { supposed: &self.supposed, ..self.certain() }
    }

    /// Returns the view for addresses in shared memory: every number that is still unknown has the value `anything`.
    pub(crate) fn places(&self) -> View<'_> {
        View { anything: self.anything, ..self.in_run() }
    }

    /// Binds a new name to the value of an expression.
    pub(crate) fn name(&mut self, symbol: &Symbol, value: &Expr) {
        let named = self.named(symbol, value);
        self.known.push(named);
    }

    /// Changes the value that a name is bound to.
    pub(crate) fn assign(&mut self, symbol: &Symbol, value: &Expr) {
        let named = self.named(symbol, value);
        self.replace(named);
    }

    /// Makes the value of a name unknown, also in addresses of shared memory.
    pub(crate) fn forget(&mut self, symbol: &Symbol) {
        self.replace(Named { symbol: symbol.clone(), values: Column::Same(None), guess: None });
    }

    /// Binds a new name to a number of which nothing is known.
    pub(crate) fn unknown(&mut self, symbol: &Symbol) {
        self.known.push(Named { symbol: symbol.clone(), values: Column::Same(None), guess: None });
    }

    /// Binds a new name to a number that is read from memory. Its value is unknown; in addresses the run assumes one.
    pub(crate) fn read(&mut self, symbol: &Symbol) {
        let guess = self.anything.map(|number| Column::Same(Some(number)));
        self.known.push(Named { symbol: symbol.clone(), values: Column::Same(None), guess });
    }

    /// Joins the bindings of two branches. A symbol keeps its value only if both branches agree on it; otherwise it becomes
    /// unknown.
    pub(crate) fn join(&mut self, other: &[Named]) {
        for (mine, theirs) in self.known.iter_mut().zip(other) {
            if mine.values != theirs.values || mine.guess != theirs.guess {
                (mine.values, mine.guess) = (Column::Same(None), None);
            }
        }
    }

    /// Restores the bindings of the threads that did not run a body. `before` has the bindings from before the body.
    pub(crate) fn restore(&mut self, before: &[Named], ran: &[bool]) {
        for (mine, before) in self.known.iter_mut().zip(before) {
            mine.values.restore(&before.values, ran);
            match (&mut mine.guess, &before.guess) {
                (Some(guess), Some(before)) => guess.restore(before, ran),
                (guess, _) => *guess = None,
            }
        }
    }

    fn named(&self, symbol: &Symbol, value: &Expr) -> Named {
        let values = self.in_run().values(value);
        let guess = self.anything.map(|_| self.places().values(value));
        Named { symbol: symbol.clone(), values, guess }
    }

    fn replace(&mut self, named: Named) {
        match self.known.iter_mut().rev().find(|known| known.symbol == named.symbol) {
            Some(known) => *known = named,
            None => self.known.push(named),
        }
    }
}

/// A scope, and which of its assumptions an evaluation relies on.
#[derive(Clone, Copy)]
pub(crate) struct View<'s> {
    known: &'s [Named],
    supposed: &'s [(Atom, i64)],
    anything: Option<i64>,
    running: Option<&'s [bool]>,
}

impl<'s> View<'s> {
    /// Returns the value of an expression for each thread; unknown for threads for which [`Expr::eval`] fails.
    pub(crate) fn values(self, expr: &Expr) -> Column<i64> {
        let mut sum = Column::Same(Some(0));
        for (monomial, coefficient) in expr.terms() {
            let mut product = Column::Same(Some(coefficient));
            for factor in monomial {
                product.join(&self.atom(factor), |a, b| a?.checked_mul(b?));
            }
            sum.join(&product, |a, b| a?.checked_add(b?));
        }
        sum
    }

    /// Returns the value of an expression, if all threads that run have the same; otherwise `None`.
    pub(crate) fn uniform(self, expr: &Expr) -> Option<i64> {
        self.values(expr).same(self.running)
    }

    fn atom(self, atom: &Atom) -> Cow<'s, Column<i64>> {
        if let Some((_, value)) = self.supposed.iter().rev().find(|(known, _)| known == atom) {
            return Cow::Owned(Column::Same(Some(*value)));
        }
        let both = |a: &Expr, b: &Expr, f: fn(i64, i64) -> Option<i64>| {
            Cow::Owned(self.values(a).both(&self.values(b), f))
        };
        match atom {
            Atom::Symbol(symbol) => match self.known.iter().rev().find(|known| known.symbol == *symbol) {
                Some(Named { guess: Some(guess), .. }) if self.anything.is_some() => Cow::Borrowed(guess),
                Some(known) => Cow::Borrowed(&known.values),
                None => Cow::Owned(Column::Same(self.anything)),
            },
            Atom::Div(a, b) => both(a, b, floor_div),
            Atom::Mod(a, b) => both(a, b, |a, b| Some(a.wrapping_sub(floor_div(a, b)?.wrapping_mul(b)))),
            Atom::Min(a, b) => both(a, b, |a, b| Some(a.min(b))),
            Atom::Max(a, b) => both(a, b, |a, b| Some(a.max(b))),
            Atom::Xor(a, b) => both(a, b, |a, b| Some(a ^ b)),
            // The operand is evaluated in 64 bits. If it overflows, the result is unknown.
            Atom::Wrap(a, width) => {
                let mut column = self.values(a);
                column.join(&Column::Same(Some(0)), |a, _| a.map(|a| width.wrap(a)));
                Cow::Owned(column)
            }
            Atom::And(a, mask) => {
                let mut column = self.values(a);
                column.join(&Column::Same(Some(*mask)), |a, b| Some(a? & b?));
                Cow::Owned(column)
            }
        }
    }

    /// Reports for each thread whether a condition holds; unknown for threads for which [`Cond::eval`] fails.
    pub(crate) fn holds(self, cond: &Cond) -> Column<bool> {
        // Operands are taken in order: the first that decides the result, or that is unknown, is the result.
        let fold = |conds: &[Cond], neutral: bool| {
            let mut all = Column::Same(Some(neutral));
            for cond in conds {
                all.join(&self.holds(cond), |all, next| if all == Some(neutral) { next } else { all });
            }
            all
        };
        match cond {
            Cond::True => Column::Same(Some(true)),
            Cond::False => Column::Same(Some(false)),
            Cond::Cmp(op, a, b) => {
                let (a, b) = (self.values(a), self.values(b));
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
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    Some(a.wrapping_div(b) - i64::from(a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0))))
}

#[cfg(test)]
mod tests {
    use hx_index::Facts;

    use super::*;

    /// Covers every operator, with zero divisors, negative numbers and symbols that are unknown to some threads or to all.
    #[test]
    fn all_threads_at_once_are_each_thread_alone() {
        let facts = Facts::default();
        let [thread, some, none] = ["thread", "some", "none"].map(|name| Symbol::Var(name.into(), 0));
        let threads: Vec<Option<i64>> = (0..8).map(Some).collect();
        let partly: Vec<Option<i64>> = (0..8).map(|t| (t % 3 != 0).then_some(t - 4)).collect();
        let same = Symbol::Var("same".into(), 0);
        let known = [
            (&thread, Column::Each(threads)),
            (&some, Column::Each(partly)),
            (&none, Column::Same(None)),
            (&same, Column::Same(Some(5))),
        ];
        let known =
            known.map(|(symbol, values)| Named { symbol: symbol.clone(), values, guess: None }).to_vec();
        let scope = Scope { known, ..Scope::default() };
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
                scope.known.iter().find(|known| known.symbol == *symbol)?.values.get(thread)
            };
            for expr in &exprs {
                assert_eq!(
                    scope.certain().values(expr).get(thread),
                    expr.eval(&env).ok(),
                    "{expr} of thread {thread}"
                );
            }
            for cond in &conds {
                assert_eq!(
                    scope.certain().holds(cond).get(thread),
                    cond.eval(&env).ok(),
                    "{cond:?} of thread {thread}"
                );
            }
        }
    }
}
