//! Assumes values for the numbers that only a launch knows, so that a trace shows the ends of loops as well as their
//! beginnings.

use hx_index::{Atom, Expr, Facts};

use crate::column::Scope;

/// The assumptions about a launch under which a trace follows the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The approximate trip count of loops of unknown length. `None` means as many rounds as show the loop's behaviour.
    pub trips: Option<i64>,
    /// Whether loops around loops of unknown length ignore `trips` and run for as many rounds as show their behaviour. The
    /// first round of the inner loop then meets what its last round left behind.
    pub again: bool,
    /// The value of numbers that are read from memory, and of every other number that selects an element of a shared tensor
    /// at run time.
    pub number: i64,
    /// Whether conditions depend on the trip counts.
    pub ends: bool,
    /// Whether `number` selects elements of shared tensors.
    pub places: bool,
}

/// The most trip counts that are assumed because a loop may end in different stages.
const LENGTHS: usize = 8;

/// Returns trip counts with which a loop ends in each of its stages, which repeat after `period` rounds. The loop ends in
/// the first stage twice: with the other stages not yet filled (`1`) and filled (`period + 1`). These two come
/// first; the others ascend. At most [`LENGTHS`] are returned.
pub(crate) fn lengths(period: i64) -> impl Iterator<Item = i64> {
    let all = [1, period.saturating_add(1)].into_iter().chain(2..=period);
    all.take(LENGTHS)
}

/// Assumes values for the unknown numbers in `expr` that make it `value`, or the least value above it that the facts allow.
/// Several unknown numbers get equal shares. Assumes nothing if `expr` contains a product of unknown numbers.
pub(crate) fn suppose(expr: &Expr, value: i64, scope: &mut Scope, facts: &Facts) {
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

/// Returns the least value from `value` on that the facts allow, or the greatest that they allow if there is none.
pub(crate) fn allowed(atom: &Atom, value: i64, facts: &Facts) -> i64 {
    let expr = Expr::atom(atom.clone());
    let (low, high) = facts.range(&expr);
    let divisor = facts.divisor(&expr).max(1);
    // The range does not know that a multiple of 16 that is at least 1 is at least 16.
    let positive = i64::from(value < 1 && facts.proves_lt(&Expr::default(), &expr));
    let least = value.max(low.unwrap_or(value)).max(positive);
    let least = least.saturating_add((divisor - least.rem_euclid(divisor)) % divisor);
    high.map_or(least, |high| least.min(high))
}
