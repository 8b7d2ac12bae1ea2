//! Proofs of inequalities, as a reader of the text does them: by the bounds of symbols, the statements, and what minima, maxima,
//! quotients and remainders lie between.
//!
//! A proof of `d ≥ 0` replaces a part of `d` by something that is at most as large, until the range of the rest is not negative.
//! The search tries the replacements in a fixed order and is bounded in depth and in steps, so a failure means only that no
//! proof was found.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::refute::is_refuted;
use crate::{Atom, Expr, Facts, Monomial, Symbol, Width};

/// The largest number of replacements one after the other.
const DEPTH: usize = 10;
/// The largest number of expressions that one search looks at.
const STEPS: usize = 64;
/// The steps that most proofs take. A search that takes more first tries to refute the inequality by values of its symbols.
const EASY: usize = 6;
/// The steps of a proof that needs factors of a product to be positive: divisions by numbers of tiles make many expressions.
const FACTORED: usize = 5;
/// The largest coefficient. Sums saturate at the ends of 64 bits, where they would prove nothing.
const LARGEST: i64 = 1 << 50;
/// The largest number of terms and factors of an expression worth looking at.
const SIZE: usize = 96;
/// The most answers that a thread remembers, and the most sets of statements.
const MOST_KNOWN: usize = 1 << 16;
const MOST_STATED: usize = 1 << 10;

/// Expressions that are at least 0, each behind the upper end of its range.
type Statements = Vec<(Option<i64>, Expr)>;

thread_local! {
    /// The answers to earlier questions, by the fingerprint of the facts and the difference. An answer depends on nothing else, and
    /// the analyses of a kernel ask the same again in every round of a loop.
    static KNOWN: RefCell<HashMap<(u64, Expr), bool>> = RefCell::default();
    /// The answers of proofs by bounds alone, likewise.
    static BOUNDED: RefCell<HashMap<(u64, Expr), bool>> = RefCell::default();
    /// The simplified statements of facts, by their fingerprint.
    static STATED: RefCell<HashMap<u64, Statements>> = RefCell::default();
}

/// The answers to questions about facts, by the fingerprint of the facts and the expression.
type Answers = std::thread::LocalKey<RefCell<HashMap<(u64, Expr), bool>>>;

/// Returns the answer that is known, or finds it.
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
    /// Reports whether `a <= b` in every case.
    pub fn proves_le(&self, a: &Expr, b: &Expr) -> bool {
        self.proves_nonnegative(b.clone() - a.clone())
    }

    /// Reports whether `a < b` in every case.
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

    /// Simplifies statements: they may mention quotients and the like, and simplifying those must not consult the statements again.
    fn renewed(&self, statements: &mut dyn Iterator<Item = &Expr>) -> Statements {
        let renewed = statements.map(|e| self.with_definitions(e)).filter(|e| e.as_const().is_none());
        renewed.map(|known| (self.range(&known).1, known)).collect()
    }

    /// Tries to prove `difference ≥ 0` by ranges and the bounds of symbols alone. Simplification uses this proof, so it consults
    /// no statement, which would have to be simplified in turn.
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

    /// Replaces a bounded symbol by the bound that makes the value least.
    fn replace_worst(&self, d: &Expr) -> Option<Expr> {
        // Symbols that are later in the order (counters, thread, block) may be bounded by earlier ones (dimensions), so they are
        // substituted first.
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
    /// Returns 1 if a sum grows with a symbol, -1 if it falls; nothing if it is not a plain factor wherever it occurs, or if the signs
    /// differ.
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

    /// Returns the symbols of an expression that have an upper bound, those of these bounds, and so on: all have a value where the
    /// expression has one.
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

    /// Reports whether a factor is at least 1 where a sum is at least 0.
    fn makes_positive(&self, sum: &Expr, factor: &Atom) -> bool {
        if !has_product(sum, factor) {
            return false;
        }
        // Without the product, the sum is negative.
        let is_positive = |sum: &Expr, monomial: &Monomial, c: i64| {
            c > 0
                && self.most_without(sum, monomial).is_some_and(|most| most < 0)
                && (monomial.len() == 1 || monomial.iter().all(|factor| self.is_least_0(factor)))
        };
        sum.terms().any(|(monomial, c)| match monomial.as_slice() {
            _ if monomial.contains(factor) => is_positive(sum, monomial, c),
            // A quotient of at least 1 has a dividend of at least its divisor.
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

/// Reports whether a sum, or the dividend of a quotient in it, has a product with a factor.
fn has_product(sum: &Expr, factor: &Atom) -> bool {
    sum.terms().any(|(monomial, _)| {
        let divides =
            |atom: &Atom| matches!(atom, Atom::Div(x, _) if x.terms().any(|(m, _)| m.contains(factor)));
        monomial.contains(factor) || monomial.iter().any(divides)
    })
}

/// A search for one proof.
struct Search<'f> {
    facts: &'f Facts,
    /// Expressions that are at least 0, each behind the upper end of its range.
    statements: Statements,
    /// The expressions that were looked at. None of them was proven.
    seen: BTreeSet<Expr>,
    steps: usize,
    /// The expression to prove.
    asked: Expr,
    /// There is no proof.
    is_refuted: bool,
    /// Whether atoms are factors of products of at least 1, as far as that was asked for.
    factors: BTreeMap<Atom, bool>,
}

impl Search<'_> {
    /// Reports whether `d ≥ 0` is proven.
    fn holds(&mut self, d: Expr, depth: usize) -> bool {
        if self.is_refuted {
            return false;
        }
        let facts = self.facts;
        let d = d.simplify(facts);
        // Statements are subtracted in any order.
        if self.seen.contains(&d) {
            return false;
        }
        let is_at_least = |known: &Expr| facts.least_of_difference(&d, known).is_some_and(|lo| lo >= 0);
        // Without a term that cancels, the lower end is that of `d` less the upper end of the statement, so it is below 0, too.
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
        // A bound may mention symbols that are equal to expressions: `i < g` where `g == cdiv(k, 32)`.
        if let Some(next) = facts.replace_worst(&d)
            && self.holds(facts.with_definitions(&next), depth - 1)
        {
            return true;
        }
        self.by_atoms(&d, depth - 1) || self.by_statements(&d, depth - 1)
    }

    /// Replaces a minimum, maximum, quotient or remainder.
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

    /// Replaces a minimum or maximum by its operands. With the sign `easy`, either operand makes the value smaller; with any
    /// sign, the value is that of one of them.
    fn between(&mut self, d: &Expr, atom: &Atom, [a, b]: [&Expr; 2], easy: i64, depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts) else { return false };
        if parts.sign() == Some(easy) {
            self.holds(parts.with(a), depth) || self.holds(parts.with(b), depth)
        } else {
            self.holds(parts.with(a), depth) && self.holds(parts.with(b), depth)
        }
    }

    /// Multiplies by the divisor: `x - by + 1 ≤ by · (x / by) ≤ x` for `by ≥ 1`. Then `by · d > -by` suffices, because `d` is an
    /// integer.
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

    /// Bounds a remainder: `0 ≤ x % by ≤ by - 1` for `by ≥ 1`, and `x % by ≤ x` for `x ≥ 0`.
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

    /// Replaces a number that may wrap by the exact one, if it stays in the range of its type here: `cast(k - 1, i32)` is `k - 1` where
    /// `k > 0`. A range of 64 bits is too large for sums.
    fn unwrapped(&mut self, d: &Expr, atom: &Atom, x: &Expr, width: Width, depth: usize) -> bool {
        let Some(parts) = Parts::of(d, atom, self.facts).filter(|_| width.bits < 64) else { return false };
        let (low, high) = width.range();
        self.holds(x.clone() - Expr::constant(low), depth)
            && self.holds(Expr::constant(high) - x.clone(), depth)
            && self.holds(parts.with(x), depth)
    }

    /// Returns the steps that a proof may take which needs a number to be positive; nothing if that is not known.
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

    /// Runs a search with at most `steps` steps.
    fn within(&mut self, steps: usize, search: impl FnOnce(&mut Self) -> bool) -> bool {
        let kept = self.steps.saturating_sub(steps);
        self.steps -= kept;
        let found = search(self);
        self.steps += kept;
        found
    }

    /// Reports whether a number is a product of factors of products that are at least 1, such as `cdiv(m, 64)` and `cdiv(n, 64)` in a loop
    /// over all `cdiv(m, 64) * cdiv(n, 64)` tiles.
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
        // A counter has a value wherever the expression to prove has one, so its loop has a round.
        facts.bounded(&self.asked).into_iter().any(|(counter, last)| {
            let last = facts.with_definitions(&last);
            has_product(&last, atom) && facts.makes_positive(&(last - Expr::symbol(counter)), atom)
        })
    }

    /// Subtracts statements that cancel a term: `d ≥ 0` follows from `d - n · known ≥ 0`.
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

/// Reports whether a product has the same sign in both sums, so that subtracting makes it smaller.
fn cancels(a: &Expr, b: &Expr) -> bool {
    let (small, large) = if a.terms().len() < b.terms().len() { (a, b) } else { (b, a) };
    small.terms().any(|(monomial, c)| {
        !monomial.is_empty() && large.coefficient(monomial).is_some_and(|other| c.signum() == other.signum())
    })
}

/// A sum, split by an atom: `rest + Σ factor · atom`. Each factor has one sign.
struct Parts {
    rest: Expr,
    factors: Vec<Expr>,
    signs: Vec<i64>,
}

impl Parts {
    /// Returns `None` if the sign of a factor is not known, or if a product holds the atom twice.
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

    /// Returns the sign that all factors have.
    fn sign(&self) -> Option<i64> {
        let first = *self.signs.first()?;
        self.signs.iter().all(|sign| *sign == first).then_some(first)
    }

    /// Returns the sum with another expression in place of the atom.
    fn with(&self, value: &Expr) -> Expr {
        self.factors.iter().fold(self.rest.clone(), |sum, factor| sum + factor * value)
    }
}

impl Facts {
    /// States that two expressions are equal. A symbol of the launch that is equal to an expression of others is replaced by it in
    /// every proof.
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

    /// States that a kernel runs in this number of blocks: at least 1.
    pub fn occupied(&mut self, blocks: &Expr) {
        self.ordered(&Expr::constant(1), blocks);
        let mut terms = blocks.terms();
        let (Some((monomial, 1..)), None) = (terms.next(), terms.next()) else { return };
        if !monomial.iter().all(|atom| self.is_least_0(atom)) {
            return;
        }
        for atom in monomial {
            // A quotient of at least 1 has a dividend of at least its divisor.
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
