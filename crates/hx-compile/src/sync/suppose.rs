//! What a run supposes of the numbers that only a launch knows, so that the ends of loops are seen as well as their beginnings.

use hx_index::{Atom, Expr, Facts};

use super::column::Scope;

/// A launch of which something is supposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Loops of unknown length run about as often; as often as shows everything if there is nothing here.
    pub trips: Option<i64>,
    /// But for loops around such loops, which run as often as shows everything: what the last round of the inner one leaves is
    /// what its first one meets.
    pub again: bool,
    /// What is read from memory, and what else says at run time which element of a shared tensor is meant.
    pub number: i64,
    /// The lengths of loops decide conditions.
    pub ends: bool,
    /// The number says which element is meant.
    pub places: bool,
}

/// The most lengths of loops that are supposed because a loop ends in different stages.
const LENGTHS: usize = 8;

/// How often a loop whose stages repeat after some rounds runs, so that it ends in each of them: with the stages before it
/// filled and not, and the shortest first.
pub(super) fn lengths(period: i64) -> impl Iterator<Item = i64> {
    let all = [1, period.saturating_add(1)].into_iter().chain(2..=period);
    all.take(LENGTHS)
}

/// Supposes of the numbers in `expr` that are unknown what makes it `value`, or the least above it that the facts allow.
/// Where there are several they get equal shares. Supposes nothing where a product of unknown numbers stands in the way.
pub(super) fn suppose(expr: &Expr, value: i64, scope: &mut Scope, facts: &Facts) {
    let (mut known, mut unknown) = (0i64, Vec::new());
    for (monomial, coefficient) in expr.terms() {
        let factors = monomial.iter().map(|atom| Expr::atom(atom.clone()));
        let term = factors.fold(Expr::constant(coefficient), |term, factor| &term * &factor);
        match (scope.in_run().uniform(&term), monomial.as_slice()) {
            (Some(value), _) => known = known.saturating_add(value),
            (None, [atom]) => unknown.push((atom, coefficient)),
            (None, _) => return,
        }
    }
    let rising: i64 = unknown.iter().map(|(_, coefficient)| (*coefficient).max(0)).sum();
    if rising == 0 {
        return;
    }
    let share = value.saturating_sub(known).max(0);
    let share = share / rising + i64::from(share % rising != 0);
    for (atom, coefficient) in unknown {
        let value = allowed(atom, if coefficient > 0 { share } else { 0 }, facts);
        scope.supposed.push((atom.clone(), value));
    }
}

/// The least number from `value` on that the facts allow; their greatest if there is none.
fn allowed(atom: &Atom, value: i64, facts: &Facts) -> i64 {
    let expr = Expr::atom(atom.clone());
    let (low, high) = facts.range(&expr);
    let divisor = facts.divisor(&expr).max(1);
    let least = value.max(low.unwrap_or(value));
    let least = least.saturating_add((divisor - least.rem_euclid(divisor)) % divisor);
    high.map_or(least, |high| least.min(high))
}
