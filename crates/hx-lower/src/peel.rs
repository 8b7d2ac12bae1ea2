//! `#[peel]`: a loop becomes two, at the round in which a condition on its counter changes, so that no round tests it.
//!
//! The first part is lowered with the condition's first value as soon as an `if` names a condition that changes once. Only then
//! the end of this part is known. The second part is lowered from the same text with the other value.

use hx_base::codes;
use hx_hir::{ExprId, Pat, PatId, Resolution, StmtId, StmtKind};
use hx_index::{Atom, CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Control, Rounds, Stmt};

use crate::error::{Lower, Place};
use crate::lowering::Lowering;

/// A loop that is being split, and the half that is being lowered.
pub(crate) struct Peel {
    counter: Symbol,
    range: (Expr, Expr),
    /// Symbols with numbers from here on are made inside of the loop and have no value before it.
    first_inside: u32,
    /// The variables that the loop assigns to.
    assigned: Vec<Symbol>,
    /// The round before which the loop is split, once it is known.
    bound: Option<Expr>,
    half: Half,
    /// True if an `if` was met that is decided without splitting.
    decided: bool,
    /// An `if` on the counter that gives no bound; `None` if every one gives a bound.
    other: Option<Place>,
    /// The facts that the rounds of this half imply. They hold until its end.
    stated: Vec<Expr>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Before,
    From,
}

/// The one change of a condition: it is `before` in the rounds below `bound`, and the opposite from there on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    bound: Expr,
    before: bool,
}

impl Lowering<'_> {
    /// Lowers a loop with `#[peel]`. The numbers that it changes are variables already.
    ///
    /// # Errors
    /// The body has an error, or no `if` whose condition changes once as the counter grows.
    pub(crate) fn peeled_loop(
        &mut self,
        (pat, iterable, body): (PatId, ExprId, ExprId),
        (start, end): (Expr, Expr),
        unrolled: Option<StmtId>,
    ) -> Lower<()> {
        let (first_inside, unroll) = (self.output.numbers_made(), unrolled.is_some());
        let (var, peel, stmts) = self.half(pat, body, (&start, &end), (first_inside, None, unroll))?;
        let Some(bound) = peel.bound else {
            if !stmts.is_empty() {
                self.output.push(Stmt::Control(Control::For {
                    var,
                    rounds: Rounds::Range { start, end, unroll },
                    body: stmts,
                }));
            }
            return if peel.decided { Ok(()) } else { self.nothing_to_peel(pat, iterable, peel.other) };
        };
        let middle = start.maximum(&end.minimum(&bound, &self.facts), &self.facts);
        if let Some(id) = unrolled {
            self.expect_known_rounds(id, &start, &middle)?;
        }
        if !stmts.is_empty() {
            let rounds = Rounds::Range { start, end: middle.clone(), unroll };
            self.output.push(Stmt::Control(Control::For { var, rounds, body: stmts }));
        }
        if self.facts.proves_le(&end, &middle) {
            return Ok(());
        }
        let (var, _, stmts) = self.half(pat, body, (&middle, &end), (first_inside, Some(bound), unroll))?;
        if !stmts.is_empty() {
            self.output.push(Stmt::Control(Control::For {
                var,
                rounds: Rounds::Range { start: middle, end, unroll },
                body: stmts,
            }));
        }
        Ok(())
    }

    /// Lowers the body once. Without `bound` this is the first half, in which the body decides the bound; with `bound` it is
    /// the half from the bound on.
    fn half(
        &mut self,
        pat: PatId,
        body: ExprId,
        (start, end): (&Expr, &Expr),
        (first_inside, bound, unroll): (u32, Option<Expr>, bool),
    ) -> Lower<(Symbol, Peel, Vec<Stmt>)> {
        let counter = self.counter(pat, start, end);
        if unroll {
            self.unrolled.insert(counter.clone());
        }
        let mut stated = Vec::new();
        if let Some(bound) = &bound {
            let later = Cond::Cmp(CmpOp::Le, bound.clone(), Expr::symbol(counter.clone()));
            stated = self.facts.holds(&later);
        }
        self.peels.push(Peel {
            counter: counter.clone(),
            range: (start.clone(), end.clone()),
            first_inside,
            assigned: self.assigned_in(body),
            half: if bound.is_some() { Half::From } else { Half::Before },
            bound,
            decided: false,
            other: None,
            stated,
        });
        let (result, stmts) = self.rounds(pat, &counter, body);
        let peel = self.peels.pop();
        let Some(peel) = peel else { return self.meaningless(body) };
        self.facts.forget(&peel.stated);
        result.map(|()| (counter, peel, stmts))
    }

    /// Returns the condition of an `if` with the value that it has in the half of a peeled loop, if that decides it.
    pub(crate) fn in_this_half(&mut self, at: ExprId, cond: Cond) -> Cond {
        if self.peels.is_empty() {
            return cond;
        }
        let place = self.place(at);
        let mut peels = std::mem::take(&mut self.peels);
        let known = peels.iter_mut().rev().find_map(|peel| peel.decide(&cond, &mut self.facts, &place));
        self.peels = peels;
        match known {
            Some(true) => Cond::True,
            Some(false) => Cond::False,
            None => cond,
        }
    }

    fn assigned_in(&self, body: ExprId) -> Vec<Symbol> {
        let store = self.store();
        let variable_of = |place: &ExprId| match self.frame().names.exprs.get(*place) {
            Some(Resolution::Local(pat)) => self.frame().variables.get(pat).map(|v| v.symbol.clone()),
            _ => None,
        };
        let assigned = store.stmts_in(body).into_iter().filter_map(|stmt| match &store[stmt].kind {
            StmtKind::Assign { place, .. } => variable_of(place),
            _ => None,
        });
        assigned.collect()
    }

    fn nothing_to_peel(&mut self, pat: PatId, iterable: ExprId, other: Option<Place>) -> Lower<()> {
        let name = match &self.store()[pat] {
            Pat::Bind(name) => format!("`{name}`"),
            _ => "the counter".to_owned(),
        };
        let message = format!("found `#[peel]` on a loop without an `if` that changes once as {name} grows");
        let mut error = self.error(&codes::NOTHING_TO_PEEL, iterable, message).help(format!(
            "compare {name} with a number that the loop does not change, as in `if j < first`"
        ));
        if let Some(place) = other {
            error = error
                .also(place, "this condition may change more than once, or its bound is made in the loop");
        }
        Err(self.report(error))
    }
}

impl Peel {
    /// Returns the value of a condition in this half; `None` if it is not known. The first condition that changes once sets
    /// the bound of the first half.
    fn decide(&mut self, cond: &Cond, facts: &mut Facts, place: &Place) -> Option<bool> {
        if matches!(cond, Cond::True | Cond::False) {
            self.decided = true;
            return None;
        }
        if !cond.symbols().contains(&self.counter) {
            return None;
        }
        let change = self.change(cond, facts).filter(|change| self.is_known_before(&change.bound));
        let Some(change) = change else {
            self.other.get_or_insert_with(|| place.clone());
            return None;
        };
        if self.bound.is_none() {
            self.bound = Some(change.bound.clone());
            let counter = Expr::symbol(self.counter.clone());
            self.stated.extend(facts.holds(&Cond::Cmp(CmpOp::Lt, counter, change.bound.clone())));
        }
        let value = (self.bound.as_ref() == Some(&change.bound))
            .then_some(change.before == (self.half == Half::Before))?;
        // If the bound has a quotient, the comparison with the bound states no fact, but the condition itself does.
        self.stated.extend(facts.holds(&if value { cond.clone() } else { cond.clone().negate() }));
        Some(value)
    }

    /// Reports whether an expression has the same value before the loop and in all of its rounds.
    fn is_known_before(&self, expr: &Expr) -> bool {
        expr.symbols().iter().all(|symbol| match symbol {
            Symbol::Var(_, number) => *number < self.first_inside && !self.assigned.contains(symbol),
            _ => true,
        })
    }

    /// Returns the change of a condition as the counter grows; `None` if it may change more than once.
    fn change(&self, cond: &Cond, facts: &Facts) -> Option<Change> {
        match cond {
            Cond::True | Cond::False => None,
            Cond::Cmp(CmpOp::Lt, a, b) => {
                self.change_of_sign(&(b.clone() - a.clone() - Expr::constant(1)), facts)
            }
            Cond::Cmp(CmpOp::Le, a, b) => self.change_of_sign(&(b.clone() - a.clone()), facts),
            Cond::Cmp(CmpOp::Eq, a, b) => self.change_of_end(&(b.clone() - a.clone()), facts),
            Cond::Cmp(CmpOp::Ne, a, b) => {
                let equal = self.change_of_end(&(b.clone() - a.clone()), facts)?;
                Some(Change { before: !equal.before, ..equal })
            }
            Cond::And(all) => self.change_of_all(all, true, facts),
            Cond::Or(any) => self.change_of_all(any, false, facts),
        }
    }

    /// Returns the change of `sum ≥ 0`; `None` if the sum is not linear in the counter.
    fn change_of_sign(&self, sum: &Expr, facts: &Facts) -> Option<Change> {
        let (factor, rest) = self.split(sum)?;
        if factor > 0 {
            // From the least `j` with `j ≥ -rest / factor` on.
            let bound = (-rest).ceil_div(&Expr::constant(factor), facts);
            return Some(Change { bound, before: false });
        }
        // Up to the greatest `j` with `j ≤ rest / -factor`.
        let bound = rest.div(&Expr::constant(factor.checked_neg()?), facts) + Expr::constant(1);
        Some(Change { bound, before: true })
    }

    /// Returns the change of `sum = 0`, which holds in one round. This is one change if the round is the first or the last;
    /// `None` otherwise.
    fn change_of_end(&self, sum: &Expr, facts: &Facts) -> Option<Change> {
        let (factor, rest) = self.split(sum)?;
        let round = match factor {
            1 => -rest,
            -1 => rest,
            _ => return None,
        };
        let same = |a: &Expr, b: &Expr| facts.proves_le(a, b) && facts.proves_le(b, a);
        let (start, end) = (&self.range.0, self.range.1.clone() - Expr::constant(1));
        let last = same(&round, &end).then(|| Change { bound: round.clone(), before: false });
        // If the second half has one round, the round is both the first and the last. The half began with the bound of the last
        // round.
        if last.is_some() && self.bound.as_ref() == Some(&round) {
            return last;
        }
        if same(&round, start) {
            return Some(Change { bound: round + Expr::constant(1), before: true });
        }
        last
    }

    /// Returns the change of a conjunction (`all`) or disjunction of conditions. `None` unless all conditions change in one
    /// direction.
    fn change_of_all(&self, conds: &[Cond], all: bool, facts: &Facts) -> Option<Change> {
        let changes: Option<Vec<Change>> = conds.iter().map(|cond| self.change(cond, facts)).collect();
        changes?.into_iter().map(Some).reduce(|a, b| {
            let (a, b) = a.zip(b).filter(|(a, b)| a.before == b.before)?;
            let bound = match a.before == all {
                true => a.bound.minimum(&b.bound, facts),
                false => a.bound.maximum(&b.bound, facts),
            };
            Some(Change { bound, ..a })
        })?
    }

    /// Returns the counter's factor, which is not 0, and the rest of a sum. `None` if the sum is not linear in the counter.
    fn split(&self, sum: &Expr) -> Option<(i64, Expr)> {
        let alone = [Atom::Symbol(self.counter.clone())];
        let factor = sum.terms().find(|(product, _)| **product == alone).map(|(_, factor)| factor)?;
        let rest = sum.clone() - Expr::symbol(self.counter.clone()).scale(factor);
        (!rest.mentions(&self.counter)).then_some((factor, rest))
    }
}
