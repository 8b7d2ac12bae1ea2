//! Finds values with which a loop has a wanted number of rounds.

use std::collections::BTreeSet;

use hx_index::{Expr, Symbol};

use super::space::{Space, Values};

/// The number of powers of two that are tried, from 1 on, each times the divisor of the symbol.
const LARGEST: u32 = 24;
/// The values of the other symbols of a count, as powers of two times their divisors: a minimum or a product keeps a count small
/// while they are small.
const RAISED: [u32; 4] = [0, 3, 7, 12];

impl Space<'_> {
    /// Returns values near these with which the count has the wanted value; `None` if none are found. Changes one of the
    /// symbols, and others if none does alone.
    pub(super) fn reach(
        &self,
        count: &Expr,
        symbols: &[Symbol],
        wanted: i64,
        values: &Values,
        fixed: &BTreeSet<Symbol>,
    ) -> Option<Values> {
        for raised in RAISED {
            if raised > 0 && symbols.len() < 2 {
                return None;
            }
            let mut start = values.clone();
            if raised > 0 {
                for symbol in symbols.iter().filter(|symbol| !matches!(symbol, Symbol::BlockIdx(_))) {
                    start.insert(symbol.clone(), self.allowed(symbol, self.step(symbol) << raised));
                }
            }
            for symbol in symbols {
                let found = self.reach_by(count, symbol, wanted, &start, fixed);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn reach_by(
        &self,
        count: &Expr,
        symbol: &Symbol,
        wanted: i64,
        values: &Values,
        fixed: &BTreeSet<Symbol>,
    ) -> Option<Values> {
        let at = |value: i64| {
            let mut values = values.clone();
            values.insert(symbol.clone(), self.allowed(symbol, value));
            self.eval(count, &values).map(|count| (count, values))
        };
        // Counts grow with dimensions. The values are doubled until the count is large enough, then bisected.
        let step = self.step(symbol);
        let enough = |value: i64| at(value).is_some_and(|(count, _)| count >= wanted);
        let high = (0..LARGEST).map(|bits| step << bits).find(|value| enough(*value))?;
        let (mut low, mut high) = (-1, high / step);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle * step) { high = middle } else { low = middle }
        }
        let (_, found) = at(high * step).filter(|(count, _)| (*count).max(0) == wanted)?;
        let mut fixed = fixed.clone();
        fixed.insert(symbol.clone());
        let mended = self.mended_but(&found, &fixed, &[])?;
        (self.eval(count, &mended)?.max(0) == wanted).then_some(mended)
    }
}
