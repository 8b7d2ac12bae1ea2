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

/// Returns the periods of the places that the statements of a body access, in rounds.
pub(super) fn periods(protocol: &Protocol, body: &Protocol) -> BTreeSet<i64> {
    let mut values: BTreeMap<&Symbol, Vec<&Expr>> = BTreeMap::new();
    protocol.visit(&mut |stmt| {
        if let Stmt::Let { var, value } | Stmt::Assign { var, value } = stmt {
            values.entry(var).or_default().push(value);
        }
    });
    let mut open: Vec<&Expr> = Vec::new();
    body.visit(&mut |stmt| {
        let Stmt::Act(_, act) = stmt else { return };
        open.extend(act.places().into_iter().flat_map(|place| place.ranges.iter().map(|(start, _)| start)));
    });
    let (mut found, mut met) = (BTreeSet::new(), BTreeSet::new());
    while let Some(expr) = open.pop() {
        found.extend(expr.periods());
        for symbol in expr.symbols() {
            if let Some(values) = values.get(&symbol)
                && met.insert(symbol)
            {
                open.extend(values);
            }
        }
    }
    // A number that the source sets back by itself: `if slot == 8 { slot = 0; }`.
    protocol.visit(&mut |stmt| {
        if let Stmt::If { cond, .. } = stmt
            && !stmt.counts()
            && cond.symbols().iter().any(|symbol| met.contains(symbol))
        {
            constants(cond, &mut found);
        }
    });
    found
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
