//! How soon places in shared memory come again: the rounds after which a loop uses a place anew.
//!
//! A ring of a pipeline comes round after as many rounds as it has stages. Slots that the source counts itself, as `out[i % 8]`, come
//! round after their own number. A launch shows what happens to a place that is used again only if it has more rounds than that.
//!
//! Why so many rounds are enough for all: a round does what the round before did, one place further. What two accesses of a place do to
//! each other depends on how many rounds lie between them, and what is ordered from one use of a place to the next is ordered over all.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Symbol};

use super::{Protocol, Stmt};

/// Returns the numbers of rounds that a loop over a body needs before each place has come again, from whichever round it is first used.
pub(super) fn rounds(protocol: &Protocol, body: &Protocol) -> Vec<i64> {
    let mut values: BTreeMap<&Symbol, Vec<&Expr>> = BTreeMap::new();
    let mut conds: Vec<&Cond> = Vec::new();
    protocol.visit(&mut |stmt| {
        if let Stmt::Let { var, value } | Stmt::Assign { var, value } = stmt {
            values.entry(var).or_default().push(value);
        }
        if let Stmt::If { cond, .. } = stmt {
            conds.push(cond);
        }
    });
    let mut open: Vec<&Expr> = Vec::new();
    body.visit(&mut |stmt| {
        let Stmt::Act(_, act) = stmt else { return };
        open.extend(act.places().into_iter().flat_map(|place| place.ranges.iter().map(|(start, _)| start)));
    });
    let (mut periods, mut met) = (BTreeSet::new(), BTreeSet::new());
    while let Some(expr) = open.pop() {
        periods.extend(expr.periods());
        for symbol in expr.symbols() {
            if let Some(values) = values.get(&symbol)
                && met.insert(symbol)
            {
                // A number that is set back to the last slot: `slot = 7`.
                periods.extend(values.iter().filter_map(|value| value.as_const()).map(|last| last + 1));
                open.extend(values);
            }
        }
    }
    // A number that the source sets back by itself: `if slot == 8 { slot = 0; }`, or `if slot < 7 { … }`.
    for cond in conds.iter().filter(|cond| cond.symbols().iter().any(|symbol| met.contains(symbol))) {
        constants(cond, &mut periods);
    }
    // What happens in some rounds only takes as many times longer.
    let seldom = conds.iter().flat_map(|cond| exprs(cond)).flat_map(Expr::periods).max().unwrap_or(1);
    let again = periods.into_iter().filter(|period| (2..=LONGEST).contains(period));
    again.map(|period| 2 * (period * seldom).min(LONGEST) + 1).collect()
}

/// The longest period that is followed.
const LONGEST: i64 = 1024;

/// Returns the expressions that a condition compares.
fn exprs(cond: &Cond) -> Vec<&Expr> {
    match cond {
        Cond::True | Cond::False => Vec::new(),
        Cond::Cmp(_, a, b) => vec![a, b],
        Cond::And(all) | Cond::Or(all) => all.iter().flat_map(exprs).collect(),
    }
}

/// Returns the constants with which the comparisons of a condition compare.
fn constants(cond: &Cond, out: &mut BTreeSet<i64>) {
    match cond {
        Cond::True | Cond::False => {}
        Cond::Cmp(_, a, b) => {
            let difference = a.clone() - b.clone();
            out.extend(difference.terms().filter(|(factors, _)| factors.is_empty()).map(|(_, c)| c.abs()));
        }
        Cond::And(all) | Cond::Or(all) => all.iter().for_each(|cond| constants(cond, out)),
    }
}
