//! Proofs of inequalities by the bounds of symbols, the statements of [`Facts`], and the bounds of minima, maxima, quotients and
//! remainders, such as `x % n ≤ n - 1`.
//!
//! A proof of `d ≥ 0` replaces parts of `d` by expressions that make it at most as large, until the range of the result is known
//! to be at least 0. The search tries the replacements in a fixed order and is bounded in depth and in steps, so a failure means
//! only that no proof was found.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::refute::is_refuted;
use crate::{Atom, Expr, Facts, Monomial, Symbol, Width};

/// The largest number of replacements in one proof.
const DEPTH: usize = 10;
/// The largest number of expressions that one search examines.
const STEPS: usize = 64;
/// The number of steps that suffices for most proofs. A search that takes more first tries to refute the inequality by values of
/// its symbols.
const EASY: usize = 6;
/// The number of steps after a divisor was found positive only as a factor of a positive product: divisions by numbers of tiles
/// make many expressions.
const FACTORED: usize = 5;
/// The largest coefficient in a search. Sums saturate at the ends of 64 bits, and a saturated sum proves nothing.
const LARGEST: i64 = 1 << 50;
/// The largest number of terms and factors of an expression that a search examines.
const SIZE: usize = 96;
/// The largest numbers of entries of a thread: `MOST_KNOWN` in `KNOWN` and in `BOUNDED`, `MOST_STATED` in `STATED`. A full map is
/// cleared.
const MOST_KNOWN: usize = 1 << 16;
const MOST_STATED: usize = 1 << 10;

/// Expressions that are at least 0, each with its greatest value, where known.
type Statements = Vec<(Option<i64>, Expr)>;

thread_local! {
    /// Whether `difference ≥ 0` was proven, by the fingerprint of the facts and the difference. An answer depends on nothing
    /// else, and the analyses of a kernel repeat the question in every round of a loop.
    static KNOWN: RefCell<HashMap<(u64, Expr), bool>> = RefCell::default();
    /// Whether `difference ≥ 0` was proven by bounds alone, with the same key.
    static BOUNDED: RefCell<HashMap<(u64, Expr), bool>> = RefCell::default();
    /// The statements of facts, simplified, by the fingerprint of the facts.
    static STATED: RefCell<HashMap<u64, Statements>> = RefCell::default();
}

/// A map of answers, by the fingerprint of the facts and the expression that is at least 0 or not.
type Answers = std::thread::LocalKey<RefCell<HashMap<(u64, Expr), bool>>>;

/// Returns the remembered answer, or calls `find` and remembers its answer.
fn remembered(answers: &'static Answers, key: (u64, Expr), find: impl FnOnce() -> bool) -> bool {
    if let Some(known) = answers.with_borrow(|known| known.get(&key).copied()) {
        return known;
    }
    let found = find();
    answers.with_borrow_mut(|known| {
        if known.len() == MOST_KNOWN {
            known.clear();
        }
        known.insert(key, found);
    });
    found
}

impl Facts {
    /// Reports whether a proof is found that `a <= b` for all values that the facts allow. `false` does not mean `a > b`.
    pub fn proves_le(&self, a: &Expr, b: &Expr) -> bool {
        self.proves_nonnegative(b.clone() - a.clone())
    }

    /// Reports whether a proof is found that `a < b` for all values that the facts allow. `false` does not mean `a >= b`.
    pub fn proves_lt(&self, a: &Expr, b: &Expr) -> bool {
        self.proves_nonnegative(b.clone() - a.clone() - Expr::constant(1))
    }

    fn proves_nonnegative(&self, difference: Expr) -> bool {
        if let Some(value) = difference.as_const() {
            return value >= 0;
        }
        let facts = self.fingerprint();
        let key = (facts, difference.clone());
        remembered(&KNOWN, key, || self.finds_nonnegative(facts, &difference))
    }

    fn finds_nonnegative(&self, fingerprint: u64, difference: &Expr) -> bool {
        let mut statements = self.renewed_statements(fingerprint);
        statements.extend(self.renewed(&mut self.local_to(difference).iter()));
        let d = self.with_definitions(difference);
        let (seen, asked) = (BTreeSet::new(), d.clone());
        let mut search = Search {
            facts: self,
            statements,
            seen,
            steps: STEPS,
            asked,
            is_refuted: false,
            factors: BTreeMap::new(),
        };
        search.holds(d, DEPTH)
    }

    fn renewed_statements(&self, fingerprint: u64) -> Statements {
        if let Some(known) = STATED.with_borrow(|known| known.get(&fingerprint).cloned()) {
            return known;
        }
        let statements = self.renewed(&mut self.statements());
        STATED.with_borrow_mut(|known| {
            if known.len() == MOST_STATED {
                known.clear();
            }
            known.insert(fingerprint, statements.clone());
        });
        statements
    }

    /// Replaces defined symbols in statements, and adds the greatest value of each. This simplifies the quotients and minima in
    /// them by bounds alone, because a proof by statements would need the simplified statements.
    fn renewed(&self, statements: &mut dyn Iterator<Item = &Expr>) -> Statements {
        let renewed = statements.map(|e| self.with_definitions(e)).filter(|e| e.as_const().is_none());
        renewed.map(|known| (self.range(&known).1, known)).collect()
    }

    /// Tries to prove `difference ≥ 0` by ranges and the bounds of symbols alone. Simplification uses this proof. It uses no
    /// statement, because statements are themselves simplified by it.
    pub(crate) fn bounds_prove_nonnegative(&self, difference: Expr) -> bool {
        if let Some(value) = difference.as_const() {
            return value >= 0;
        }
        let key = (self.fingerprint(), difference.clone());
        remembered(&BOUNDED, key, || self.finds_by_bounds(&difference))
    }

    fn finds_by_bounds(&self, difference: &Expr) -> bool {
        let mut d = difference.simplify(self);
        for _ in 0..DEPTH {
            if self.range(&d).0.is_some_and(|lo| lo >= 0) {
                return true;
            }
            let Some(next) = self.replace_worst(&d) else { return false };
            d = next;
        }
        false
    }

    /// Replaces one symbol that has an upper bound by the bound that makes the value least. `None` if no symbol can be replaced.
    fn replace_worst(&self, d: &Expr) -> Option<Expr> {
        // The bound of a later symbol in the order (a counter, thread or block) may mention an earlier one (a dimension), so the
        // later ones are replaced first.
        let mut symbols: Vec<&Symbol> = Vec::new();
        d.visit_symbols(&mut |symbol| symbols.push(symbol));
        symbols.sort();
        symbols.dedup();
        for symbol in symbols.into_iter().rev() {
            let Some(upper) = self.upper_of(symbol) else { continue };
            let worst = match self.direction(d, symbol) {
                Some(-1) => Some(upper.clone()),
                Some(_) => self.lower_of(symbol).map(Expr::constant),
                None => None,
            };
            let Some(worst) = worst else { continue };
            return Some(d.substitute(self, &|s| (s == symbol).then(|| worst.clone())));
        }
        None
    }
}

impl Facts {
    /// Returns 1 if a sum grows with a symbol, and -1 if it falls. `None` if the terms differ in this, if the symbol occurs
    /// inside of an atom or as a square, if another factor may be negative, or if the symbol does not occur.
    fn direction(&self, d: &Expr, symbol: &Symbol) -> Option<i64> {
        let mut found = None;
        for (monomial, c) in d.terms() {
            let (own, others): (Vec<&Atom>, Vec<&Atom>) =
                monomial.iter().partition(|atom| matches!(atom, Atom::Symbol(s) if s == symbol));
            if own.len() > 1 || others.iter().any(|atom| atom.mentions(symbol)) {
                return None;
            }
            if own.is_empty() {
                continue;
            }
            let sign = c.signum();
            if found.is_some_and(|other| other != sign) || !others.iter().all(|atom| self.is_least_0(atom)) {
                return None;
            }
            found = Some(sign);
        }
        found
    }

    /// Returns the upper bounds of the symbols of an expression, of the symbols in these bounds, and so on. All of these symbols
    /// have a value wherever the expression has one.
    fn bounded(&self, e: &Expr) -> BTreeMap<Symbol, Expr> {
        let (mut open, mut found) = (e.symbols(), BTreeMap::new());
        while let Some(symbol) = open.pop_first() {
            if let Some(upper) = self.upper_of(&symbol).filter(|_| !found.contains_key(&symbol)) {
                open.extend(upper.symbols());
                found.insert(symbol, upper.clone());
            }
        }
        found
    }

    fn is_least_0(&self, atom: &Atom) -> bool {
        self.atom_range(atom, None).0.is_some_and(|lo| lo >= 0)
    }

    /// Reports whether `sum ≥ 0` implies that a factor is at least 1: `a · b - 1 ≥ 0` does for `a` and `b` that are never
    /// negative.
    fn makes_positive(&self, sum: &Expr, factor: &Atom) -> bool {
        if !has_product(sum, factor) {
            return false;
        }
        // If the sum without the product is negative, `sum ≥ 0` implies that the product is at least 1.
        let is_positive = |sum: &Expr, monomial: &Monomial, c: i64| {
            c > 0
                && self.most_without(sum, monomial).is_some_and(|most| most < 0)
                && (monomial.len() == 1 || monomial.iter().all(|factor| self.is_least_0(factor)))
        };
        sum.terms().any(|(monomial, c)| match monomial.as_slice() {
            _ if monomial.contains(factor) => is_positive(sum, monomial, c),
            // If `x / by` is at least 1 and `by` is positive, `x - by` is at least 0.
            [Atom::Div(x, by)] if has_product(x, factor) => {
                let more = x.clone() - by.clone();
                let mut products = more.terms().filter(|(monomial, _)| monomial.contains(factor));
                is_positive(sum, monomial, c)
                    && self.range(by).0.is_some_and(|lo| lo > 0)
                    && products.any(|(monomial, c)| is_positive(&more, monomial, c))
            }
            _ => false,
        })
    }
}

/// Reports whether a product with this factor occurs in a sum, or in the dividend of a quotient of the sum.
fn has_product(sum: &Expr, factor: &Atom) -> bool {
    sum.terms().any(|(monomial, _)| {
        let divides =
            |atom: &Atom| matches!(atom, Atom::Div(x, _) if x.terms().any(|(m, _)| m.contains(factor)));
        monomial.contains(factor) || monomial.iter().any(divides)
    })
}

/// The search for the proof of one inequality.
struct Search<'f> {
    facts: &'f Facts,
    /// Expressions that are at least 0, each with its greatest value, where known.
    statements: Statements,
    /// The expressions that were examined without a proof.
    seen: BTreeSet<Expr>,
    steps: usize,
    /// The expression that the whole search is to prove at least 0.
    asked: Expr,
    /// Whether values make `asked` negative, so that no proof exists.
    is_refuted: bool,
    /// The results of `is_factor`.
    factors: BTreeMap<Atom, bool>,
}

impl Search<'_> {
    /// Reports whether a proof of `d ≥ 0` with at most `depth` replacements is found.
    fn holds(&mut self, d: Expr, depth: usize) -> bool {
        if self.is_refuted {
            return false;
        }
        let facts = self.facts;
        let d = d.simplify(facts);
        // Different orders of subtracting the same statements lead to the same expression.
        if self.seen.contains(&d) {
            return false;
        }
        let is_at_least = |known: &Expr| facts.least_of_difference(&d, known).is_some_and(|lo| lo >= 0);
        // If no term cancels, the least value of `d - known` is that of `d` less the greatest value of `known`. So a statement
        // whose greatest value is not negative does not help where `d` alone is not proven.
        let may_help =
            |most: Option<i64>, known: &Expr| most.is_some_and(|most| most < 0) || cancels(&d, known);
        if is_at_least(&Expr::default())
            || self.statements.iter().any(|(most, known)| may_help(*most, known) && is_at_least(known))
        {
            return true;
        }
        let is_large =
            || d.is_larger_than(SIZE) || d.terms().any(|(_, c)| c.unsigned_abs() > LARGEST.unsigned_abs());
        if depth == 0 || self.steps == 0 || is_large() {
            return false;
        }
        if self.seen.len() == EASY {
            let statements = self.statements.iter().map(|(_, known)| known);
            self.is_refuted = is_refuted(facts, statements, &self.asked);
        }
        if self.is_refuted {
            return false;
        }
        self.seen.insert(d.clone());
        self.steps -= 1;
        // The bound may mention defined symbols: `i < g`, where `g == cdiv(k, 32)`.
        if let Some(next) = facts.replace_worst(&d)
            && self.holds(facts.with_definitions(&next), depth - 1)
        {
            return true;
        }
        self.by_atoms(&d, depth - 1) || self.by_statements(&d, depth - 1)
    }

    /// Tries to prove `d ≥ 0` after one minimum, maximum, quotient, remainder or wrapped number is replaced.
    #[expect(clippy::mutable_key_type, reason = "an expression's cached hash does not affect its order")]
    fn by_atoms(&mut self, d: &Expr, depth: usize) -> bool {
        let atoms: BTreeSet<&Atom> = d.terms().flat_map(|(monomial, _)| monomial).collect();
        atoms.into_iter().rev().any(|atom| match atom {
            Atom::Min(a, b) => self.between(d, atom, [a, b], -1, depth),
            Atom::Max(a, b) => self.between(d, atom, [a, b], 1, depth),
            Atom::Div(x, by) => self.quotient(d, atom, [x, by], depth),
            Atom::Mod(x, by) => self.remainder(d, atom, [x, by], depth),
            Atom::Wrap(x, width) => self.unwrapped(d, atom, x, *width, depth),
            Atom::Symbol(_) | Atom::Xor(..) | Atom::And(..) => false,
        })
    }

    /// Replaces a minimum or maximum by its operands. If all its factors have the sign `easy`, each operand makes the value at
    /// most as large, so one proof suffices. Otherwise both are necessary, because the value is that of one of them.
    fn between(&mut self, d: &Expr, atom: &Atom, [a, b]: [&Expr; 2], easy: i64, depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts) else { return false };
        if parts.sign() == Some(easy) {
            self.holds(parts.with(a), depth) || self.holds(parts.with(b), depth)
        } else {
            self.holds(parts.with(a), depth) && self.holds(parts.with(b), depth)
        }
    }

    /// Replaces a quotient after a multiplication by its divisor: `x - by + 1 ≤ by · (x / by) ≤ x` for `by ≥ 1`. `by · d > -by`
    /// then suffices for `d ≥ 0`, because `d` is an integer.
    fn quotient(&mut self, d: &Expr, atom: &Atom, [x, by]: [&Expr; 2], depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts) else { return false };
        let Some(steps) = self.is_positive(by, depth) else { return false };
        let almost = by.clone() - Expr::constant(1);
        let least = if self.facts.is_exact(x, by) { x.clone() } else { x.clone() - almost.clone() };
        let terms = parts.factors.iter().zip(&parts.signs);
        let start = &parts.rest * by + almost;
        let product =
            terms.fold(start, |sum, (factor, sign)| sum + factor * if *sign < 0 { x } else { &least });
        self.within(steps, |search| search.holds(product, depth))
    }

    /// Replaces a remainder by its bounds: `0 ≤ x % by ≤ by - 1` for `by ≥ 1`, and `x % by ≤ x` for `x ≥ 0`.
    fn remainder(&mut self, d: &Expr, atom: &Atom, [x, by]: [&Expr; 2], depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts) else { return false };
        let Some(steps) = self.is_positive(by, depth) else { return false };
        self.within(steps, |search| match parts.sign() {
            Some(1) => search.holds(parts.rest, depth),
            Some(_) => {
                search.holds(parts.with(&(by.clone() - Expr::constant(1))), depth)
                    || search.facts.range(x).0.is_some_and(|lo| lo >= 0) && search.holds(parts.with(x), depth)
            }
            None => false,
        })
    }

    /// Replaces a number that may wrap by its operand, if the operand is proven to be in the range of the type:
    /// `cast(k - 1, i32)` is `k - 1` where `k > 0`. Types of 64 bits are left alone, because sums with the ends of their range
    /// would not fit 64 bits.
    fn unwrapped(&mut self, d: &Expr, atom: &Atom, x: &Expr, width: Width, depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts).filter(|_| width.bits < 64) else { return false };
        let (low, high) = width.range();
        self.holds(x.clone() - Expr::constant(low), depth)
            && self.holds(Expr::constant(high) - x.clone(), depth)
            && self.holds(parts.with(x), depth)
    }

    /// Returns the number of steps for a proof that needs `by ≥ 1`. `None` if `by ≥ 1` is not proven.
    fn is_positive(&mut self, by: &Expr, depth: usize) -> Option<usize> {
        let is_known = match by.as_const() {
            Some(value) => return (value > 0).then_some(STEPS),
            None => self.holds(by.clone() - Expr::constant(1), depth),
        };
        if is_known {
            return Some(STEPS);
        }
        self.has_factors(by).then_some(FACTORED)
    }

    /// Runs a part of the search with at most `steps` of the remaining steps. The others are kept for the rest of the search.
    fn within(&mut self, steps: usize, search: impl FnOnce(&mut Self) -> bool) -> bool {
        let kept = self.steps.saturating_sub(steps);
        self.steps -= kept;
        let found = search(self);
        self.steps += kept;
        found
    }

    /// Reports whether every factor of a product is known to be at least 1 as a factor of a positive product. In a loop over all
    /// `cdiv(m, 64) * cdiv(n, 64)` tiles, `cdiv(m, 64)` and `cdiv(n, 64)` are.
    fn has_factors(&mut self, product: &Expr) -> bool {
        let Some((monomial, 1..)) = product.single_term() else { return false };
        monomial.iter().all(|atom| {
            if let Some(known) = self.factors.get(atom) {
                return *known;
            }
            let found = self.is_factor(atom);
            self.factors.insert(atom.clone(), found);
            found
        })
    }

    fn is_factor(&self, atom: &Atom) -> bool {
        let facts = self.facts;
        if self.statements.iter().any(|(_, known)| facts.makes_positive(known, atom)) {
            return true;
        }
        // A counter in `asked` has a value, so its loop has a round, and its upper bound is at least its value.
        facts.bounded(&self.asked).into_iter().any(|(counter, last)| {
            let last = facts.with_definitions(&last);
            has_product(&last, atom) && facts.makes_positive(&(last - Expr::symbol(counter)), atom)
        })
    }

    /// Tries to prove `d ≥ 0` by a proof of `d - n · known ≥ 0`, for a statement `known ≥ 0` and an `n` with which a term cancels
    /// or shrinks.
    fn by_statements(&mut self, d: &Expr, depth: usize) -> bool {
        for at in 0..self.statements.len() {
            let known = self.statements[at].1.clone();
            let cancels = |(monomial, c): (&Monomial, i64)| {
                let own = known.terms().find(|(m, _)| *m == monomial)?.1;
                let times = c.checked_div(own)?;
                (!monomial.is_empty() && times > 0 && times < LARGEST).then_some(times)
            };
            let times: BTreeSet<i64> = d.terms().filter_map(cancels).collect();
            if times.into_iter().any(|n| self.holds(d.clone() - known.scale(n), depth)) {
                return true;
            }
        }
        false
    }
}

/// Reports whether a product has coefficients of the same sign in both sums, so that it may cancel in their difference.
fn cancels(a: &Expr, b: &Expr) -> bool {
    let (small, large) = if a.terms().len() < b.terms().len() { (a, b) } else { (b, a) };
    small.terms().any(|(monomial, c)| {
        !monomial.is_empty() && large.coefficient(monomial).is_some_and(|other| c.signum() == other.signum())
    })
}

/// A sum, split by an atom: `rest + Σ factor · atom`. The sign of each factor is in `signs`: 1 or -1.
struct Parts {
    rest: Expr,
    factors: Vec<Expr>,
    signs: Vec<i64>,
}

impl Parts {
    /// Splits a sum. `None` if the atom occurs in no product or twice in one, or if another factor beside it may be negative.
    fn of(d: &Expr, atom: &Atom, facts: &Facts) -> Option<Parts> {
        let mut parts = Parts { rest: Expr::default(), factors: Vec::new(), signs: Vec::new() };
        for (monomial, c) in d.terms() {
            let Some(at) = monomial.iter().position(|a| a == atom) else {
                parts.rest = parts.rest + Expr::product(monomial.clone(), c);
                continue;
            };
            let mut others = monomial.clone();
            others.remove(at);
            if others.contains(atom) || !others.iter().all(|other| facts.is_least_0(other)) {
                return None;
            }
            parts.factors.push(Expr::product(others, c));
            parts.signs.push(c.signum());
        }
        (!parts.factors.is_empty()).then_some(parts)
    }

    /// Returns the sign of all factors. `None` if their signs differ.
    fn sign(&self) -> Option<i64> {
        let first = *self.signs.first()?;
        self.signs.iter().all(|sign| *sign == first).then_some(first)
    }

    /// Returns the sum with `value` in place of the atom.
    fn with(&self, value: &Expr) -> Expr {
        self.factors.iter().fold(self.rest.clone(), |sum, factor| sum + factor * value)
    }
}

impl Facts {
    /// States that two expressions are equal. If both mention only dimensions and scalars, and one of them is a symbol that the
    /// other does not mention, every proof replaces the symbol by the other expression.
    pub fn equal(&mut self, a: &Expr, b: &Expr) {
        let [a, b] = [a, b].map(|e| self.with_definitions(e));
        if a == b {
            return;
        }
        let defines = |x: &Expr, value: &Expr| match x.as_atom() {
            Some(Atom::Symbol(s @ (Symbol::Dim(_) | Symbol::Scalar(_)))) => {
                (!value.mentions(s)).then(|| (s.clone(), value.clone()))
            }
            _ => None,
        };
        let of_launch =
            |e: &Expr| e.symbols().iter().all(|s| matches!(s, Symbol::Dim(_) | Symbol::Scalar(_)));
        if of_launch(&a)
            && of_launch(&b)
            && let Some((symbol, value)) = defines(&a, &b).or_else(|| defines(&b, &a))
        {
            self.define(symbol, value);
        } else {
            self.ordered(&a, &b);
            self.ordered(&b, &a);
        }
    }

    /// States that the number of blocks of a kernel is at least 1, because code that runs is in some block. If the number is a
    /// single product, none of whose factors can be negative, each factor is then at least 1.
    pub fn occupied(&mut self, blocks: &Expr) {
        self.ordered(&Expr::constant(1), blocks);
        let mut terms = blocks.terms();
        let (Some((monomial, 1..)), None) = (terms.next(), terms.next()) else { return };
        if !monomial.iter().all(|atom| self.is_least_0(atom)) {
            return;
        }
        for atom in monomial {
            // If `x / by` is at least 1, `x` is at least `by`.
            let (sum, least) = match atom {
                Atom::Div(x, by) => (x.clone(), by.as_const()),
                atom => (Expr::atom(atom.clone()), Some(1)),
            };
            let added = sum.constant_term();
            let symbol = sum - Expr::constant(added);
            if let (Some(Atom::Symbol(symbol)), Some(least)) = (symbol.as_atom(), least.filter(|by| *by > 0))
            {
                self.raise(symbol, least - added);
            }
        }
    }
}
