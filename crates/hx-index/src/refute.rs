//! Refutes an inequality by values of its symbols, because a search takes longest where no proof exists.
//!
//! The values are drawn in a fixed way, so the same question has the same answer in every process. A refutation means that the
//! inequality is false for some values; no refutation means nothing.

use crate::{Atom, Expr, Facts, Symbol};

/// The number of draws of values (`DRAWS`), and the largest number of changes to one draw (`CHANGES`).
const DRAWS: u64 = 12;
const CHANGES: usize = 12;
/// The values of a symbol without an upper bound, counted from its least value in steps of its divisor.
const OPEN: &[i64] = &[0, 1, 2, 3, 5, 8, 13, 40, 100, 1000];
/// The least value that is drawn for a symbol without a lower bound.
const LEAST: i64 = -40;

/// Reports whether values are found that satisfy all facts and make `d` negative. `statements` are expressions that are at least
/// 0.
pub(crate) fn is_refuted<'a>(facts: &Facts, statements: impl Iterator<Item = &'a Expr>, d: &Expr) -> bool {
    let wanted = vec![-(d.clone()) - Expr::constant(1)];
    let mut drawing = Drawing { symbols: Vec::new(), open: Vec::new(), wanted, facts };
    drawing.add(d);
    for known in statements {
        drawing.add(known);
        drawing.wanted.push(known.clone());
    }
    for (x, by) in facts.exact_divisions() {
        drawing.add(x);
        drawing.add(by);
    }
    (0..DRAWS).any(|draw| {
        let mut chance = Chance(draw);
        drawing.values(&mut chance).is_some_and(|values| drawing.agree(values, &mut chance))
    })
}

/// The symbols of a question. A symbol comes after those that its upper bound mentions.
struct Drawing<'a> {
    symbols: Vec<Drawn>,
    /// The symbols whose upper bounds `add` is visiting.
    open: Vec<Symbol>,
    /// The values must make each of these expressions at least 0: `-d - 1`, the statements, and `upper - symbol` for each bound.
    wanted: Vec<Expr>,
    facts: &'a Facts,
}

struct Drawn {
    symbol: Symbol,
    /// The least value, a multiple of the divisor.
    least: i64,
    upper: Option<Expr>,
    /// The largest number that is known to divide the symbol; at least 1.
    divisor: i64,
}

impl Drawing<'_> {
    /// Adds the symbols of an expression. The symbols of an upper bound are added before the symbol that has the bound.
    fn add(&mut self, e: &Expr) {
        for symbol in e.symbols() {
            if self.at(&symbol).is_some() || self.open.contains(&symbol) {
                continue;
            }
            let upper = self.facts.upper_of(&symbol).map(|upper| self.facts.with_definitions(upper));
            if let Some(upper) = &upper {
                // Two symbols may bound each other. The bound that is evaluated first then mentions a symbol without a value, and
                // every draw fails.
                self.open.push(symbol.clone());
                self.add(upper);
                self.open.pop();
                self.wanted.push(upper.clone() - Expr::symbol(symbol.clone()));
            }
            let divisor = self.facts.divisor(&Expr::symbol(symbol.clone())).max(1);
            let least = self.facts.lower_of(&symbol).unwrap_or(LEAST);
            let least = least.saturating_add(divisor - 1).div_euclid(divisor).saturating_mul(divisor);
            self.symbols.push(Drawn { symbol, least, upper, divisor });
        }
    }

    fn at(&self, symbol: &Symbol) -> Option<usize> {
        self.symbols.iter().position(|known| known.symbol == *symbol)
    }

    fn eval(&self, values: &[i64], e: &Expr) -> Option<i64> {
        e.eval(&|symbol| values.get(self.at(symbol)?).copied()).ok()
    }

    /// Draws a value for each symbol: often an end of its range, where most inequalities fail. `None` if a bound has no value.
    fn values(&self, chance: &mut Chance) -> Option<Vec<i64>> {
        let mut values = Vec::with_capacity(self.symbols.len());
        for Drawn { least, upper, divisor, .. } in &self.symbols {
            let steps = match upper {
                Some(upper) => {
                    let last = self.eval(&values, upper)?.checked_sub(*least)?.div_euclid(*divisor).max(0);
                    match chance.below(4) {
                        0 => 0,
                        1 => last,
                        2 => last.min(1),
                        _ => chance.below(last as u64 + 1) as i64,
                    }
                }
                None => OPEN[chance.below(OPEN.len() as u64) as usize],
            };
            values.push(least.checked_add(steps.checked_mul(*divisor)?)?);
        }
        Some(values)
    }

    /// Changes values until all `wanted` expressions are at least 0. Reports whether this succeeds and all exact divisions hold.
    fn agree(&self, mut values: Vec<i64>, chance: &mut Chance) -> bool {
        for _ in 0..CHANGES {
            let mut fails = None;
            for e in &self.wanted {
                match self.eval(&values, e) {
                    Some(0..) => {}
                    Some(value) => {
                        fails = Some((e, value));
                        break;
                    }
                    None => return false,
                }
            }
            let Some((e, value)) = fails else {
                return self.facts.exact_divisions().all(|(x, by)| {
                    let (x, by) = (self.eval(&values, x), self.eval(&values, by));
                    x.zip(by).is_some_and(|(x, by)| by == 0 || x.checked_rem(by) == Some(0))
                });
            };
            if self.change(&mut values, (e, value), chance).is_none() {
                return false;
            }
        }
        false
    }

    /// Moves one symbol so that the sum `e` is no longer negative, if the symbol is a term of its own in the sum. `None` if no
    /// such symbol can be moved.
    fn change(&self, values: &mut [i64], (e, value): (&Expr, i64), chance: &mut Chance) -> Option<()> {
        let plain = e.terms().filter_map(|(monomial, c)| match monomial.as_slice() {
            [Atom::Symbol(symbol)] => Some((self.at(symbol)?, c)),
            _ => None,
        });
        let can_change = |(at, c): &(usize, i64)| *c > 0 || values[*at] > self.symbols[*at].least;
        let plain: Vec<(usize, i64)> = plain.filter(can_change).collect();
        let (at, c) = *plain.get(chance.below(plain.len().max(1) as u64) as usize)?;
        let Drawn { least, divisor, .. } = &self.symbols[at];
        let each = c.checked_abs()?.checked_mul(*divisor)?;
        let steps = value.checked_neg()?.checked_add(each - 1)? / each;
        let moved = values[at].checked_add(steps.checked_mul(*divisor)?.checked_mul(c.signum())?)?;
        values[at] = moved.max(*least);
        Some(())
    }
}

/// A generator of pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end.max(1)
    }
}
