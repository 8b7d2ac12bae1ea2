//! The rounds after which a loop uses a place in shared memory again.
//!
//! A pipeline uses a stage again after as many rounds as it has stages. Slots that the source counts itself have a period of their own:
//! `out[i % 8]` is used again after 8 rounds. A launch shows a conflict between two uses of a slot only if its loop is longer than that.
//!
//! This many rounds settle longer loops: each round repeats the round before, one slot further, so the conflict of two accesses depends on
//! the number of rounds between them alone. If a use of a slot precedes the next use, it precedes all later ones.
//!
//! Remainders and quotients by constants have exact periods. A period is a guess if a condition sets a counter back or advances it, as
//! `if slot == 8 { slot = 0; }` does. A slot that data decide has no period.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Symbol};

use super::{Protocol, Stmt};

/// Returns the numbers of rounds in which a loop over a body uses each slot twice, even if its first use is in a later round.
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
    let (mut exact, mut guessed, mut met) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    while let Some(expr) = open.pop() {
        exact.extend(expr.periods());
        for symbol in expr.symbols() {
            if let Some(values) = values.get(&symbol)
                && met.insert(symbol)
            {
                // An assignment like `slot = 7` sets a counter back to its last slot.
                guessed.extend(values.iter().filter_map(|value| value.as_const()).map(|last| last + 1));
                open.extend(values);
            }
        }
    }
    // A comparison like `slot == 8` or `slot < 7` sets a counter back.
    for cond in conds.iter().filter(|cond| cond.symbols().iter().any(|symbol| met.contains(symbol))) {
        constants(cond, &mut guessed);
    }
    guessed.retain(|period| *period <= LONGEST);
    // A counter that advances under `i % 3 == 2` needs 3 times as many rounds.
    let factor = conds.iter().flat_map(|cond| exprs(cond)).flat_map(Expr::periods).max().unwrap_or(1);
    let scaled = |period: &i64| period.saturating_mul(factor).min(LONGEST).max(*period);
    let periods = exact.union(&guessed).filter(|period| **period > 1);
    periods.map(|period| scaled(period).saturating_mul(2).saturating_add(1)).collect()
}

/// The longest period that is guessed. An exact period is not bounded: if no launch has enough rounds for it, the loop is reported as
/// unchecked.
pub(super) const LONGEST: i64 = 1024;

/// Returns the expressions that a condition compares.
pub(super) fn exprs(cond: &Cond) -> Vec<&Expr> {
    match cond {
        Cond::True | Cond::False => Vec::new(),
        Cond::Cmp(_, a, b) => vec![a, b],
        Cond::And(all) | Cond::Or(all) => all.iter().flat_map(exprs).collect(),
    }
}

/// Collects the absolute values of the constants in the comparisons of a condition, as the 8 of `slot == 8`.
pub(super) fn constants(cond: &Cond, out: &mut BTreeSet<i64>) {
    match cond {
        Cond::True | Cond::False => {}
        Cond::Cmp(_, a, b) => {
            let difference = a.clone() - b.clone();
            out.extend(difference.terms().filter(|(factors, _)| factors.is_empty()).map(|(_, c)| c.abs()));
        }
        Cond::And(all) | Cond::Or(all) => all.iter().for_each(|cond| constants(cond, out)),
    }
}
