//! Values of the symbols of a launch, and changes that make all conditions of the launch hold.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};

use super::{Launchable, is_level};

pub(super) type Values = BTreeMap<Symbol, i64>;

/// The smallest first value of a dimension that decides no loop count.
const FEW: i64 = 4;
/// The most changes of one symbol each that make the conditions of a launch hold.
const CHANGES: usize = 24;
/// The multiples of a symbol's divisor that are tried one by one.
const NEAR: i64 = 64;
/// The number of powers of two that are tried for a symbol, from 1 on, each times its divisor. No length is larger.
const GROWN: u32 = 31;
/// The longest period of a remainder of which all values are tried, in multiples of a symbol's divisor.
const PERIOD: i64 = 8192;

#[derive(Clone)]
pub(super) struct Space<'a> {
    known: &'a Launchable,
    symbols: BTreeSet<Symbol>,
    /// The symbols that decide loop counts: they begin with their smallest values.
    in_counts: BTreeSet<Symbol>,
    /// The conditions that every launch satisfies.
    conds: Vec<Cond>,
}

impl<'a> Space<'a> {
    pub(super) fn new(
        known: &'a Launchable,
        mut symbols: BTreeSet<Symbol>,
        in_counts: BTreeSet<Symbol>,
    ) -> Space<'a> {
        let mut conds = Vec::new();
        known.requires.iter().for_each(|cond| flatten(cond, &mut conds));
        for (axis, blocks) in (0u8..).zip(&known.grid) {
            let size = size(known, axis);
            let index = Symbol::BlockIdx(axis);
            let end = Expr::symbol(index.clone()) + Expr::constant(size);
            symbols.insert(index.clone());
            conds.push(Cond::Cmp(CmpOp::Le, end, blocks.clone()));
            if size > 1 {
                for whole in [blocks.clone(), Expr::symbol(index)] {
                    let rest = whole.rem(&Expr::constant(size), &known.facts);
                    conds.push(Cond::Cmp(CmpOp::Eq, rest, Expr::constant(0)));
                }
            }
        }
        Space { known, symbols, in_counts, conds }
    }

    /// Returns the space with counters of loops, which have values, too.
    pub(super) fn with(&self, counters: &[Symbol]) -> Space<'a> {
        let mut space = self.clone();
        space.symbols.extend(counters.iter().cloned());
        space
    }

    /// Returns the number of blocks of a cluster along an axis.
    pub(super) fn cluster(&self, axis: u8) -> i64 {
        size(self.known, axis)
    }

    /// Returns the smallest usual value of every symbol.
    pub(super) fn start(&self) -> Values {
        let value = |symbol: &Symbol| {
            let least = if matches!(symbol, Symbol::BlockIdx(_)) { 0 } else { self.step(symbol) };
            let few =
                matches!(symbol, Symbol::Dim(_)) && !self.in_counts.contains(symbol) && !is_level(symbol);
            (symbol.clone(), self.allowed(symbol, if few { least.max(FEW) } else { least }))
        };
        // Add the given symbols: a condition of the header may mention them even if no loop does.
        self.symbols.iter().map(value).chain(self.known.given.iter().cloned()).collect()
    }

    /// Returns the number that divides every value of the symbol.
    pub(super) fn step(&self, symbol: &Symbol) -> i64 {
        self.known.facts.divisor(&Expr::symbol(symbol.clone())).max(1)
    }

    /// Returns the least value from `value` on that the facts allow, or the greatest that they allow.
    pub(super) fn allowed(&self, symbol: &Symbol, value: i64) -> i64 {
        let (low, high) = self.known.facts.range(&Expr::symbol(symbol.clone()));
        let step = self.step(symbol);
        let least = value.max(low.unwrap_or(value));
        let least = least.saturating_add((step - least.rem_euclid(step)) % step);
        high.map_or(least, |high| least.min(high))
    }

    pub(super) fn eval(&self, expr: &Expr, values: &Values) -> Option<i64> {
        expr.eval(&|symbol| values.get(symbol).copied()).ok()
    }

    /// Adds the values of derived symbols; `None` if one of them has no value.
    pub(super) fn complete(&self, values: &Values) -> Option<Values> {
        let mut values = values.clone();
        for (symbol, expr) in &self.known.derived {
            let value = self.eval(expr, &values)?;
            values.insert(symbol.clone(), value);
        }
        Some(values)
    }

    /// Reports whether the values, with those of derived symbols, satisfy everything.
    pub(super) fn is_possible(&self, values: &Values) -> bool {
        self.conds.iter().all(|cond| holds(cond, values))
    }

    /// Returns values near these with which all conditions hold; `None` if [`CHANGES`] changes find none.
    pub(super) fn mended(&self, values: &Values) -> Option<Values> {
        self.mended_but(values, &BTreeSet::new(), &[])
    }

    /// Returns values near these with which all conditions and `cond` hold; `None` if [`CHANGES`] changes find none.
    pub(super) fn satisfied(&self, values: &Values, cond: &Cond) -> Option<Values> {
        let mut more = Vec::new();
        flatten(cond, &mut more);
        self.mended_but(values, &BTreeSet::new(), &more)
    }

    /// As [`Space::mended`], with more conditions. Changes the symbols in `fixed` only if nothing else helps.
    pub(super) fn mended_but(
        &self,
        values: &Values,
        fixed: &BTreeSet<Symbol>,
        more: &[Cond],
    ) -> Option<Values> {
        let mut values = values.clone();
        let mut met: BTreeSet<Values> = BTreeSet::new();
        for _ in 0..CHANGES {
            let broken = |values: &Values| -> Option<Vec<&Cond>> {
                let values = self.complete(values)?;
                Some(self.conds.iter().chain(more).filter(|cond| !holds(cond, &values)).collect())
            };
            let now = broken(&values);
            let Some(first) = now.as_ref().map_or(self.conds.first(), |broken| broken.first().copied())
            else {
                return Some(values);
            };
            if !met.insert(values.clone()) {
                return None;
            }
            let before = now.as_ref().map_or(usize::MAX, Vec::len);
            let mut best: Option<(usize, Values)> = None;
            for symbol in self.deciding(first, fixed) {
                for value in self.candidates(&symbol, first, &values) {
                    let mut changed = values.clone();
                    changed.insert(symbol.clone(), value);
                    let Some(complete) = self.complete(&changed) else { continue };
                    if !holds(first, &complete) || met.contains(&changed) {
                        continue;
                    }
                    let count = broken(&changed).map_or(usize::MAX, |broken| broken.len());
                    if best.as_ref().is_none_or(|(least, _)| count < *least) {
                        best = Some((count, changed));
                    }
                    break;
                }
                if best.as_ref().is_some_and(|(count, _)| *count < before) {
                    break;
                }
            }
            values = best?.1;
        }
        None
    }

    /// Returns the symbols that decide a condition, those first that may change.
    fn deciding(&self, cond: &Cond, fixed: &BTreeSet<Symbol>) -> Vec<Symbol> {
        let mut symbols = cond.symbols();
        for (symbol, expr) in &self.known.derived {
            if symbols.remove(symbol) {
                symbols.extend(expr.symbols());
            }
        }
        let is_given = |symbol: &Symbol| self.known.given.iter().any(|(given, _)| given == symbol);
        let mut symbols: Vec<Symbol> =
            symbols.into_iter().filter(|symbol| self.symbols.contains(symbol) && !is_given(symbol)).collect();
        symbols.sort_by_key(|symbol| {
            let moves = matches!(symbol, Symbol::BlockIdx(_));
            (fixed.contains(symbol), moves, self.in_counts.contains(symbol))
        });
        symbols
    }

    /// Returns the values of a symbol that may make a condition hold, in the order in which they are tried.
    fn candidates(&self, symbol: &Symbol, cond: &Cond, values: &Values) -> Vec<i64> {
        let step = self.step(symbol);
        let least = if matches!(symbol, Symbol::BlockIdx(_)) { 0 } else { 1 };
        let mut all: Vec<i64> = isolated(symbol, cond, values).into_iter().collect();
        all.extend((least..=NEAR).map(|multiple| multiple * step));
        all.extend(self.crossing(symbol, cond, values));
        all.extend((0..GROWN).map(|bits| step << bits).filter(|value| *value <= i64::from(i32::MAX)));
        if matches!(symbol, Symbol::Scalar(_)) || is_level(symbol) {
            all.extend([0, -1, -step]);
        }
        all.extend(self.residue(symbol, cond, values));
        let possible = |value: &i64| self.allowed(symbol, *value) == *value;
        all.retain(possible);
        all
    }

    /// Returns the least value within a period of the condition with which it holds; `None` if it has no short period.
    fn residue(&self, symbol: &Symbol, cond: &Cond, values: &Values) -> Option<i64> {
        let Cond::Cmp(_, a, b) = cond else { return None };
        let step = self.step(symbol);
        let periods = [a, b].into_iter().filter(|side| side.mentions(symbol)).flat_map(Expr::periods);
        let longest = periods.filter(|period| period / step <= PERIOD).max()?;
        let values = self.complete(values)?;
        let holds = |value: i64| {
            let known =
                |other: &Symbol| if other == symbol { Some(value) } else { values.get(other).copied() };
            cond.eval(&known) == Ok(true)
        };
        (0..=longest / step).map(|multiple| multiple * step).find(|value| holds(*value))
    }

    /// Returns the values on both sides of the point at which the sides of a comparison cross, if they do.
    fn crossing(&self, symbol: &Symbol, cond: &Cond, values: &Values) -> Vec<i64> {
        let Cond::Cmp(_, a, b) = cond else { return Vec::new() };
        let step = self.step(symbol);
        let difference = |multiple: i64| {
            let mut values = values.clone();
            values.insert(symbol.clone(), multiple * step);
            let values = self.complete(&values)?;
            Some(self.eval(a, &values)? - self.eval(b, &values)?)
        };
        let Some(first) = difference(1) else { return Vec::new() };
        let changes = |multiple: i64| difference(multiple).is_some_and(|d| (d > 0) != (first > 0));
        let Some(mut high) = (0..GROWN).map(|bits| 1 << bits).find(|multiple| changes(*multiple)) else {
            return Vec::new();
        };
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if changes(middle) { high = middle } else { low = middle }
        }
        vec![low * step, high * step]
    }
}

fn size(known: &Launchable, axis: u8) -> i64 {
    known.cluster.get(usize::from(axis)).copied().unwrap_or(1).max(1)
}

fn holds(cond: &Cond, values: &Values) -> bool {
    cond.eval(&|symbol| values.get(symbol).copied()) == Ok(true)
}

fn flatten(cond: &Cond, out: &mut Vec<Cond>) {
    match cond {
        Cond::And(all) => all.iter().for_each(|cond| flatten(cond, out)),
        cond => out.push(cond.clone()),
    }
}

/// Returns the value of a symbol with which both sides of a comparison are equal, if it occurs in them by itself; `None` for
/// other conditions, and if no integer makes them equal.
fn isolated(symbol: &Symbol, cond: &Cond, values: &Values) -> Option<i64> {
    let Cond::Cmp(_, a, b) = cond else { return None };
    let difference = a.clone() - b.clone();
    let is_symbol = |monomial: &[Atom]| matches!(monomial, [Atom::Symbol(s)] if s == symbol);
    let (_, coefficient) = difference.terms().find(|(monomial, _)| is_symbol(monomial))?;
    let alone = Expr::symbol(symbol.clone()).scale(coefficient);
    let rest = (difference - alone).eval(&|s| values.get(s).copied()).ok()?;
    (rest % coefficient == 0).then_some(-rest / coefficient)
}
