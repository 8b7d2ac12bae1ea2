//! Facts about symbols, and the divisors and ranges of expressions that follow from them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use crate::{Atom, CmpOp, Cond, Expr, Monomial, Symbol, Width, gcd};

/// Statements about symbols and expressions: divisors, bounds, orders, equalities and exact divisions. Without any statement,
/// dimensions, strides, block and thread indices are at least 0, and grid sizes and multiprocessors at least 1.
#[derive(Clone, Default)]
pub struct Facts {
    stated: Stated,
    /// The hash of `stated`, computed at its first use after a change.
    fingerprint: OnceLock<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Stated {
    divisors: BTreeMap<Symbol, i64>,
    /// The least value, where a statement replaces the default of the symbol's kind.
    lower: BTreeMap<Symbol, i64>,
    /// The greatest value (inclusive). It may depend on other symbols.
    upper: BTreeMap<Symbol, Expr>,
    /// Expressions that are at least 0 for all values.
    nonnegative: BTreeSet<Expr>,
    /// Expressions that are at least 0 wherever their variables have a value, such as inside of the loop of a counter.
    local: BTreeSet<Expr>,
    /// Symbols that are equal to an expression. The expression mentions no key of this map.
    defined: BTreeMap<Symbol, Expr>,
    /// Dividends and divisors of divisions without a remainder.
    exact: BTreeSet<(Expr, Expr)>,
}

impl PartialEq for Facts {
    fn eq(&self, other: &Facts) -> bool {
        self.stated == other.stated
    }
}

impl Eq for Facts {}

impl Hash for Facts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint().hash(state);
    }
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stated.fmt(f)
    }
}

impl Facts {
    /// Returns a hash of all facts, the key under which proofs are remembered. It is the same in every process.
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.stated.hash(&mut hasher);
            hasher.finish()
        })
    }

    fn change(&mut self) -> &mut Stated {
        self.fingerprint.take();
        &mut self.stated
    }

    /// States that `divisor` divides `symbol`, in addition to known divisors.
    pub fn divisible(&mut self, symbol: Symbol, divisor: i64) {
        let known = self.change().divisors.entry(symbol).or_insert(1);
        let both = (*known / gcd(*known, divisor)).checked_mul(divisor);
        // If the least common multiple exceeds 64 bits, the larger divisor is kept. It alone divides the symbol, too.
        *known = both.unwrap_or_else(|| (*known).max(divisor));
    }

    /// States `symbol <= upper`. It replaces an earlier upper bound. A variable without a lower bound is then at least 0, too; a
    /// scalar is not.
    pub fn at_most(&mut self, symbol: Symbol, upper: Expr) {
        self.change().upper.insert(symbol, upper);
    }

    /// States `lower <= symbol`. It replaces an earlier lower bound of the symbol.
    pub fn at_least(&mut self, symbol: Symbol, lower: i64) {
        self.change().lower.insert(symbol, lower);
    }

    /// Copies the divisor and the bounds of the symbol `known` to the symbol `new`.
    pub fn like(&mut self, new: Symbol, known: &Symbol) {
        if let Some(divisor) = self.stated.divisors.get(known).copied() {
            self.change().divisors.insert(new.clone(), divisor);
        }
        if let Some(low) = self.stated.lower.get(known).copied() {
            self.change().lower.insert(new.clone(), low);
        }
        if let Some(upper) = self.stated.upper.get(known).cloned() {
            self.change().upper.insert(new, upper);
        }
    }

    /// States `low <= high` wherever the variables of both have a value. A proof uses the statement only if its own expressions
    /// imply that these variables have one: a loop may have no round and a branch may not be taken, and then the statement says
    /// nothing.
    pub fn ordered_where_defined(&mut self, low: &Expr, high: &Expr) {
        let difference = high.clone() - low.clone();
        if difference.as_const().is_none() {
            self.change().local.insert(difference);
        }
    }

    /// Returns the statements of [`Facts::ordered_where_defined`] that hold wherever `expr` has a value. A statement holds if the
    /// variable of it that was defined last has a value, because the variables defined before it are then in scope.
    pub(crate) fn local_to(&self, expr: &Expr) -> Vec<Expr> {
        let (mut open, mut defined) = (expr.symbols(), BTreeSet::new());
        let mut rest: Vec<(Symbol, &Expr)> =
            self.stated.local.iter().filter_map(|e| Some((newest(e)?, e))).collect();
        let mut found = Vec::new();
        while let Some(symbol) = open.pop_first() {
            if !defined.insert(symbol.clone()) {
                continue;
            }
            open.extend(self.stated.upper.get(&symbol).into_iter().flat_map(Expr::symbols));
            rest.retain(|(newest, statement)| {
                let holds = *newest == symbol;
                if holds {
                    open.extend(statement.symbols());
                    found.push((*statement).clone());
                }
                !holds
            });
        }
        found
    }

    /// States `low <= high` for all values of their symbols.
    pub fn ordered(&mut self, low: &Expr, high: &Expr) {
        let difference = high.clone() - low.clone();
        if difference.as_const().is_none() {
            self.change().nonnegative.insert(difference);
        }
    }

    /// States the inequalities that follow from a condition. An `||` states nothing. Returns the new statements, for
    /// [`Facts::forget`].
    pub fn holds(&mut self, cond: &Cond) -> Vec<Expr> {
        let at_least = |low: &Expr, high: &Expr| high.clone() - low.clone();
        let stated = match cond {
            Cond::Cmp(CmpOp::Lt, a, b) => vec![at_least(a, b) - Expr::constant(1)],
            Cond::Cmp(CmpOp::Le, a, b) => vec![at_least(a, b)],
            Cond::Cmp(CmpOp::Eq, a, b) => vec![at_least(a, b), at_least(b, a)],
            Cond::And(all) => return all.iter().flat_map(|cond| self.holds(cond)).collect(),
            // If `a <= b` is known, `a != b` is `a < b`.
            Cond::Cmp(CmpOp::Ne, a, b) if self.proves_le(a, b) => vec![at_least(a, b) - Expr::constant(1)],
            Cond::Cmp(CmpOp::Ne, a, b) if self.proves_le(b, a) => vec![at_least(b, a) - Expr::constant(1)],
            Cond::Cmp(CmpOp::Ne, ..) | Cond::True | Cond::False | Cond::Or(_) => Vec::new(),
        };
        let stated = stated.into_iter().filter(|difference| difference.as_const().is_none());
        stated.filter(|difference| self.change().nonnegative.insert(difference.clone())).collect()
    }

    /// Withdraws statements that [`Facts::holds`] returned.
    pub fn forget(&mut self, stated: &[Expr]) {
        stated.iter().for_each(|difference| _ = self.change().nonnegative.remove(difference));
    }

    /// Withdraws the statements of [`Facts::ordered`] and [`Facts::holds`] that mention a symbol, because its value changes.
    pub fn forget_symbol(&mut self, symbol: &Symbol) {
        self.change().nonnegative.retain(|difference| !difference.mentions(symbol));
    }

    /// Reports whether any statement mentions a symbol.
    pub fn mention(&self, symbol: &Symbol) -> bool {
        let Stated { divisors, lower, upper, nonnegative, local, defined, exact } = &self.stated;
        let bounded =
            divisors.contains_key(symbol) || lower.contains_key(symbol) || upper.contains_key(symbol);
        let pairs = exact.iter().flat_map(|(dividend, divisor)| [dividend, divisor]);
        let mut exprs = upper.values().chain(nonnegative).chain(local).chain(defined.values()).chain(pairs);
        bounded || defined.contains_key(symbol) || exprs.any(|expr| expr.mentions(symbol))
    }

    /// Replaces the bounds of a symbol whose value has changed. Without a lower bound, no upper bound is stated, either.
    pub fn set_range(&mut self, symbol: &Symbol, (low, high): (Option<i64>, Option<i64>)) {
        self.change().lower.remove(symbol);
        self.change().upper.remove(symbol);
        // For a variable, an upper bound alone would imply the lower bound 0.
        if let Some(low) = low {
            self.change().lower.insert(symbol.clone(), low);
            if let Some(high) = high {
                self.change().upper.insert(symbol.clone(), Expr::constant(high));
            }
        }
    }

    /// States that a division leaves no remainder, unless the divisor is 0.
    pub fn exact(&mut self, dividend: &Expr, divisor: &Expr) {
        self.change().exact.insert((dividend.clone(), divisor.clone()));
    }

    /// Yields the dividends and divisors of the divisions that leave no remainder.
    pub(crate) fn exact_divisions(&self) -> impl Iterator<Item = &(Expr, Expr)> {
        self.stated.exact.iter()
    }

    /// Reports whether the divisor is known to differ from 0 and to leave no remainder.
    pub(crate) fn is_exact(&self, dividend: &Expr, divisor: &Expr) -> bool {
        match divisor.as_const() {
            Some(by) => by != 0 && self.divisor(dividend) % by == 0,
            None => {
                self.is_nonzero(divisor)
                    && self.stated.exact.iter().any(|(x, by)| x == dividend && by == divisor)
            }
        }
    }

    /// Returns the expressions that are stated to be at least 0 and mention one of the symbols.
    pub fn statements_about(&self, symbols: &BTreeSet<Symbol>) -> Vec<Expr> {
        let about = |e: &&Expr| e.symbols().iter().any(|symbol| symbols.contains(symbol));
        self.stated.nonnegative.iter().filter(about).cloned().collect()
    }

    /// Yields the expressions that are stated to be at least 0.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &Expr> {
        self.stated.nonnegative.iter()
    }

    /// Replaces defined symbols by their expressions, and simplifies the result.
    pub(crate) fn with_definitions(&self, e: &Expr) -> Expr {
        e.substitute(self, &|symbol| self.stated.defined.get(symbol).cloned())
    }

    /// Defines a symbol as equal to an expression, which must mention no defined symbol. Earlier definitions that mention the
    /// symbol are rewritten.
    pub(crate) fn define(&mut self, symbol: Symbol, value: Expr) {
        let mut defined = std::mem::take(&mut self.change().defined);
        for other in defined.values_mut() {
            *other = other.substitute(self, &|s| (*s == symbol).then(|| value.clone()));
        }
        defined.insert(symbol, value);
        self.change().defined = defined;
    }

    /// Raises the lower bound of a symbol to `low`. A greater bound stays.
    pub(crate) fn raise(&mut self, symbol: &Symbol, low: i64) {
        if self.lower_of(symbol).is_none_or(|known| known < low) {
            self.change().lower.insert(symbol.clone(), low);
        }
    }

    pub(crate) fn upper_of(&self, symbol: &Symbol) -> Option<&Expr> {
        self.stated.upper.get(symbol)
    }

    /// Yields the stated divisors, in order.
    pub fn divisors(&self) -> impl Iterator<Item = (&Symbol, i64)> {
        self.stated.divisors.iter().map(|(s, d)| (s, *d))
    }

    /// Returns the largest number that is known to divide every value of the expression; 0 for the expression 0, because
    /// everything divides 0.
    pub fn divisor(&self, expr: &Expr) -> i64 {
        expr.terms().fold(0, |g, (m, c)| gcd(g, self.term_divisor(m, c)))
    }

    /// Reports whether `d`, which must not be 0, is known to divide every value of `expr`.
    pub fn divides(&self, d: i64, expr: &Expr) -> bool {
        self.divisor(expr) % d == 0
    }

    pub(crate) fn divides_term(&self, monomial: &Monomial, coefficient: i64, d: i64) -> bool {
        self.term_divisor(monomial, coefficient) % d == 0
    }

    fn term_divisor(&self, monomial: &Monomial, coefficient: i64) -> i64 {
        // If the product of the divisors exceeds 64 bits, a factor is left out: the rest still divides the value.
        let start = coefficient.checked_abs().unwrap_or(1 << 62);
        monomial.iter().fold(start, |p, a| p.checked_mul(self.atom_divisor(a)).unwrap_or(p))
    }

    fn atom_divisor(&self, atom: &Atom) -> i64 {
        let exact = |x: &Expr, by: &Expr| {
            let (d, by) = (self.divisor(x), by.as_const().unwrap_or(0));
            if by > 0 && d % by == 0 { (d / by).max(1) } else { 1 }
        };
        match atom {
            Atom::Symbol(s) => self.stated.divisors.get(s).copied().unwrap_or(1),
            Atom::Div(x, by) => exact(x, by),
            Atom::Mod(x, by) => gcd(self.divisor(x), self.divisor(by)).max(1),
            Atom::Min(a, b) | Atom::Max(a, b) => gcd(self.divisor(a), self.divisor(b)).max(1),
            Atom::Xor(a, b) => low_power(self.divisor(a)).min(low_power(self.divisor(b))),
            Atom::And(a, mask) => low_power(self.divisor(a)).max(low_power(*mask)),
            // Wrapping subtracts a multiple of a power of two.
            Atom::Wrap(a, width) => low_power(self.divisor(a)).min(1 << width.bits.min(62)),
        }
    }

    pub(crate) fn lower_of(&self, symbol: &Symbol) -> Option<i64> {
        match self.stated.lower.get(symbol) {
            Some(lo) => Some(*lo),
            None => match symbol {
                Symbol::Scalar(_) => None,
                Symbol::Var(..) => self.stated.upper.contains_key(symbol).then_some(0),
                Symbol::Multiprocessors | Symbol::GridDim(_) => Some(1),
                Symbol::Dim(_) | Symbol::BlockIdx(_) | Symbol::Thread => Some(0),
            },
        }
    }

    /// Reports whether the range of the value is known to exclude 0.
    pub fn is_nonzero(&self, expr: &Expr) -> bool {
        let (lo, hi) = self.range(expr);
        lo.is_some_and(|lo| lo > 0) || hi.is_some_and(|hi| hi < 0)
    }

    /// Reports whether the value is known to fit an integer of this width in every launch.
    pub fn fits(&self, expr: &Expr, width: Width) -> bool {
        match self.launch_range(expr) {
            (Some(lo), Some(hi)) => width.holds(lo) && width.holds(hi),
            _ => false,
        }
    }

    /// Returns bounds of the value that hold in every launch, where known. Unlike [`Facts::range`], it assumes that each
    /// dimension, stride, number of multiprocessors, grid size, block and thread index is below 2³¹.
    pub fn launch_range(&self, expr: &Expr) -> (Option<i64>, Option<i64>) {
        self.range_below(expr, Some(i64::from(i32::MAX)))
    }

    /// Returns the least and the greatest value (inclusive) as far as they follow from the bounds of symbols. `None` is an open
    /// end.
    pub fn range(&self, expr: &Expr) -> (Option<i64>, Option<i64>) {
        self.range_below(expr, None)
    }

    /// Returns the range of the value if every symbol without an upper bound, except for scalars and variables, is at most
    /// `greatest`.
    fn range_below(&self, expr: &Expr, greatest: Option<i64>) -> (Option<i64>, Option<i64>) {
        let (mut lo, mut hi) = (Some(0i64), Some(0i64));
        for (m, c) in expr.terms() {
            let (l, h) = m.iter().fold((Some(c), Some(c)), |r, a| mul_range(r, self.atom_range(a, greatest)));
            lo = lo.zip(l).and_then(|(a, b)| a.checked_add(b));
            hi = hi.zip(h).and_then(|(a, b)| a.checked_add(b));
        }
        (lo, hi)
    }

    /// Returns the greatest value of a sum without one of its products. `None` if it is not known.
    pub(crate) fn most_without(&self, sum: &Expr, product: &Monomial) -> Option<i64> {
        let mut others = sum.terms().filter(|(monomial, _)| *monomial != product);
        others.try_fold(0i64, |most, (monomial, c)| {
            let start = (Some(c), Some(c));
            let range = monomial.iter().fold(start, |r, a| mul_range(r, self.atom_range(a, None)));
            most.checked_add(range.1?)
        })
    }

    /// Returns the least value of `a - b`, term by term and without simplification. `None` if it is not known. It does not build
    /// the difference, because proofs compare an expression with many statements.
    pub(crate) fn least_of_difference(&self, a: &Expr, b: &Expr) -> Option<i64> {
        let (mut a, mut b) = (a.terms().peekable(), b.terms().peekable());
        let mut least = 0i64;
        loop {
            let order = match (a.peek(), b.peek()) {
                (Some((m, _)), Some((n, _))) => m.cmp(n),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Some(least),
            };
            let (monomial, c) = match order {
                Ordering::Less => a.next()?,
                Ordering::Greater => b.next().map(|(m, c)| (m, c.saturating_neg()))?,
                Ordering::Equal => a.next().zip(b.next()).map(|((m, c), (_, k))| (m, c.saturating_sub(k)))?,
            };
            if c != 0 {
                let start = (Some(c), Some(c));
                let range = monomial.iter().fold(start, |r, a| mul_range(r, self.atom_range(a, None)));
                least = least.checked_add(range.0?)?;
            }
        }
    }

    pub(crate) fn atom_range(&self, atom: &Atom, greatest: Option<i64>) -> (Option<i64>, Option<i64>) {
        let range = |e: &Expr| self.range_below(e, greatest);
        match atom {
            Atom::Symbol(s) => {
                let upper = self.stated.upper.get(s).and_then(|u| range(u).1);
                let counts = !matches!(s, Symbol::Scalar(_) | Symbol::Var(..));
                (self.lower_of(s), upper.or(greatest.filter(|_| counts)))
            }
            Atom::Div(a, b) => {
                let ((lo, hi), Some(d)) = (range(a), b.as_const().filter(|d| *d > 0)) else {
                    // If dividend and divisor are at least 0, the quotient is at least 0 and at most the dividend; by 0 it is 0.
                    let ((least, most), by) = (range(a), range(b).0);
                    let nonneg = least.is_some_and(|l| l >= 0) && by.is_some_and(|l| l >= 0);
                    return if nonneg { (Some(0), most) } else { (None, None) };
                };
                (lo.map(|l| l.div_euclid(d)), hi.map(|h| h.div_euclid(d)))
            }
            // The remainder has the sign of the divisor, and is 0 if the divisor is 0.
            Atom::Mod(_, b) => {
                let (lo, hi) = range(b);
                (lo.map(|l| l.saturating_add(1).min(0)), hi.map(|h| h.saturating_sub(1).max(0)))
            }
            Atom::Min(a, b) => {
                let (a, b) = (range(a), range(b));
                (a.0.zip(b.0).map(|(x, y)| x.min(y)), some_min(a.1, b.1))
            }
            Atom::Max(a, b) => {
                let (a, b) = (range(a), range(b));
                (some_max(a.0, b.0), a.1.zip(b.1).map(|(x, y)| x.max(y)))
            }
            Atom::Xor(a, b) => {
                let bits = range(a).1.zip(range(b).1).map(|(x, y)| (x | y).max(0));
                (Some(0), bits.map(|x| if x == 0 { 0 } else { i64::MAX >> (x.leading_zeros() - 1) }))
            }
            Atom::Wrap(_, width) => {
                let (lo, hi) = width.range();
                (Some(lo), Some(hi))
            }
            Atom::And(a, mask) => (Some(0), some_min(range(a).1.filter(|h| *h >= 0), Some(*mask))),
        }
    }
}

/// Returns the largest power of two that divides `x`; 2⁶², the largest in 64 bits, for 0.
fn low_power(x: i64) -> i64 {
    if x == 0 { 1 << 62 } else { x & x.wrapping_neg() }
}

fn some_min(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn some_max(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

type Range = (Option<i64>, Option<i64>);

/// Returns the range of the product of two factors with these ranges. An end is open where an operand's end is open, unless the
/// sign of the other factor decides it. Both ends are open if the operands have all ends, but a product of ends exceeds 64
/// bits.
fn mul_range((alo, ahi): Range, (blo, bhi): Range) -> Range {
    if let (Some(al), Some(ah), Some(bl), Some(bh)) = (alo, ahi, blo, bhi) {
        let corners = [al.checked_mul(bl), al.checked_mul(bh), ah.checked_mul(bl), ah.checked_mul(bh)];
        if corners.iter().all(Option::is_some) {
            let all = corners.iter().flatten();
            return (all.clone().min().copied(), all.max().copied());
        }
        return (None, None);
    }
    match (alo, ahi, blo, bhi) {
        // One value on the left, such as the coefficient with which a product starts, scales the other range.
        (Some(a), Some(a2), lo, hi) if a == a2 => {
            let (x, y) = (lo.and_then(|l| l.checked_mul(a)), hi.and_then(|h| h.checked_mul(a)));
            if a >= 0 { (x, y) } else { (y, x) }
        }
        (Some(al), _, Some(bl), _) if al >= 0 && bl >= 0 => {
            (al.checked_mul(bl), ahi.zip(bhi).and_then(|(a, b)| a.checked_mul(b)))
        }
        (_, Some(ah), Some(bl), _) if ah <= 0 && bl >= 0 => {
            (alo.zip(bhi).and_then(|(a, b)| a.checked_mul(b)), ah.checked_mul(bl))
        }
        _ => (None, None),
    }
}

/// Returns the variable of an expression that is defined last in the text, which is the one with the greatest number. `None` if
/// the expression mentions no variable.
fn newest(e: &Expr) -> Option<Symbol> {
    let number = |symbol: &Symbol| match symbol {
        Symbol::Var(_, number) => Some(*number),
        _ => None,
    };
    e.symbols().into_iter().filter(|symbol| number(symbol).is_some()).max_by_key(number)
}
