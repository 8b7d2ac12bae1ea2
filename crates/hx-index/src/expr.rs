//! The canonical form of symbolic integers.

mod compare;
mod operators;
mod products;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;

use self::products::Products;
use crate::{Facts, Width, floor_div, floor_mod};

/// An integer whose value is unknown at compile time. It becomes known at the launch, in a block, in a thread or in a loop.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Symbol {
    /// A dimension or stride of a kernel parameter, bound at launch; never negative.
    Dim(SmolStr),
    /// An integer argument of the kernel, of any sign.
    Scalar(SmolStr),
    /// The number of multiprocessors of the device, bound at launch; at least 1.
    Multiprocessors,
    /// The number of blocks along grid axis 0, 1 or 2; at least 1, because some block runs.
    GridDim(u8),
    /// The index of the block along grid axis 0, 1 or 2, from 0.
    BlockIdx(u8),
    /// The index of the thread in its block, from 0.
    Thread,
    /// A loop counter or a local integer. The number distinguishes equal names.
    Var(SmolStr, u32),
}

/// An indivisible factor of a product.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    Symbol(Symbol),
    /// Floor division; 0 if the divisor is 0.
    Div(Expr, Expr),
    /// Remainder of the floor division; 0 if the divisor is 0.
    Mod(Expr, Expr),
    Min(Expr, Expr),
    Max(Expr, Expr),
    /// Bitwise exclusive or of non-negative operands.
    Xor(Expr, Expr),
    /// Bitwise and with a non-negative mask.
    And(Expr, i64),
    /// The value modulo 2ʷ, as an integer of `w` bits holds it. The sum inside must never be simplified as an unbounded integer.
    Wrap(Expr, Width),
}

/// A product of atoms, sorted; empty for the constant term.
pub type Monomial = Vec<Atom>;

/// A symbolic integer as a sum of products. No coefficient is zero, so the empty sum is 0.
#[derive(Clone, Default)]
pub struct Expr {
    /// Shared, because proofs copy expressions far more often than they change them.
    terms: Arc<Terms>,
}

#[derive(Clone, Default)]
struct Terms {
    products: Products,
    /// The hash of the products, after its first use.
    hash: OnceLock<u64>,
}

/// The reason why an expression has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    #[error("`{0}` has no value here")]
    Unbound(String),
    #[error("division by zero in `{0}`")]
    DivisionByZero(String),
    #[error("integer overflow in `{0}`")]
    Overflow(String),
}

impl Expr {
    /// Makes the constant `value`.
    pub fn constant(value: i64) -> Expr {
        Expr::product(Vec::new(), value)
    }

    /// Makes the expression of a single symbol.
    pub fn symbol(symbol: Symbol) -> Expr {
        Expr::atom(Atom::Symbol(symbol))
    }

    /// Makes the expression of a dimension of the kernel with this name.
    pub fn dim(name: impl Into<SmolStr>) -> Expr {
        Expr::symbol(Symbol::Dim(name.into()))
    }

    /// Makes the expression of a single atom.
    pub fn atom(atom: Atom) -> Expr {
        Expr::product(vec![atom], 1)
    }

    /// Yields the products with their coefficients in a fixed order. The constant term, if any, comes first.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&Monomial, i64)> {
        self.terms.products.0.iter().map(|(m, c)| (m, *c))
    }

    /// Returns the coefficient of a product. `None` if the sum lacks the product.
    pub(crate) fn coefficient(&self, monomial: &Monomial) -> Option<i64> {
        let products = &self.terms.products;
        products.at(monomial).ok().map(|at| products.0[at].1)
    }

    /// Returns the value of a constant expression. `None` if the sum has any other term.
    pub fn as_const(&self) -> Option<i64> {
        match self.terms.products.0.as_slice() {
            [] => Some(0),
            [(monomial, c)] if monomial.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// Returns `self - other` if the two sums differ in their constant terms only; `None` otherwise, and if the difference
    /// exceeds 64 bits. It copies no terms, which matters if both are large.
    pub fn constant_distance(&self, other: &Expr) -> Option<i64> {
        fn varying(e: &Expr) -> &[(Monomial, i64)] {
            match e.terms.products.0.as_slice() {
                [(monomial, _), rest @ ..] if monomial.is_empty() => rest,
                all => all,
            }
        }
        let same = varying(self) == varying(other);
        same.then(|| self.constant_term().checked_sub(other.constant_term())).flatten()
    }

    /// Returns the atom, if the expression is one atom with the coefficient 1; `None` otherwise.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.products.0.as_slice() {
            [(monomial, 1)] if monomial.len() == 1 => Some(&monomial[0]),
            _ => None,
        }
    }

    /// Returns the symbol, if the expression consists of just that symbol; `None` otherwise.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        if let Atom::Symbol(symbol) = self.as_atom()? { Some(symbol) } else { None }
    }

    /// Reports whether the number of terms and factors exceeds `limit`. The operands of atoms, such as the dividend of a
    /// quotient, count, too.
    pub fn is_larger_than(&self, limit: usize) -> bool {
        fn count(expr: &Expr, left: &mut usize) -> bool {
            expr.terms().any(|(monomial, _)| {
                let more = |left: &mut usize| {
                    *left = left.saturating_sub(1);
                    *left == 0
                };
                more(left)
                    || monomial.iter().any(|atom| {
                        more(left)
                            || match atom {
                                Atom::Symbol(_) => false,
                                Atom::And(a, _) | Atom::Wrap(a, _) => count(a, left),
                                Atom::Div(a, b)
                                | Atom::Mod(a, b)
                                | Atom::Min(a, b)
                                | Atom::Max(a, b)
                                | Atom::Xor(a, b) => count(a, left) || count(b, left),
                            }
                    })
            })
        }
        count(self, &mut limit.saturating_add(1))
    }

    /// Reports whether the expression is the constant 0.
    pub fn is_zero(&self) -> bool {
        self.terms.products.0.is_empty()
    }

    /// Returns the constant term of the sum; 0 if it has none.
    pub fn constant_term(&self) -> i64 {
        // Products are sorted, and the empty product is the first.
        self.terms().next().filter(|(monomial, _)| monomial.is_empty()).map_or(0, |(_, c)| c)
    }

    pub(crate) fn product(monomial: Monomial, coefficient: i64) -> Expr {
        let products = (coefficient != 0).then_some((monomial, coefficient));
        Products(products.into_iter().collect()).into()
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: i64) {
        let Terms { products, hash } = Arc::make_mut(&mut self.terms);
        hash.take();
        products.add(monomial, coefficient);
    }

    /// Returns `self · factor`, for a constant factor. Coefficients saturate at the ends of 64 bits.
    pub fn scale(&self, factor: i64) -> Expr {
        if factor == 0 {
            return Expr::default();
        }
        let scaled = self.terms().map(|(m, c)| (m.clone(), c.saturating_mul(factor)));
        Products(scaled.collect()).into()
    }

    /// Returns `⌊self / divisor⌋`, 0 if the divisor is 0, simplified under `facts`.
    pub fn div(&self, divisor: &Expr, facts: &Facts) -> Expr {
        if let (Some(x), Some(d)) = (self.as_const(), divisor.as_const()) {
            return Expr::constant(floor_div(x, d));
        }
        if let Some(d) = divisor.as_const() {
            return if d > 0 { self.div_const(d, facts) } else { self.opaque_div(divisor) };
        }
        // If every product has all factors of the divisor, cancel them. A divisor that may be 0 stays, because its quotient is
        // then 0.
        if let Some((monomial, 1)) = divisor.single_term().filter(|_| facts.is_nonzero(divisor)) {
            let mut quotient = Products::default();
            let mut rests = self.terms().map(|(m, c)| (remove_factors(m, monomial), c));
            let is_whole = rests.all(|(rest, c)| rest.map(|rest| quotient.add(rest, c)).is_some());
            if is_whole {
                return quotient.into();
            }
        }
        self.opaque_div(divisor)
    }

    /// Returns the `q` with `self = q · divisor`, for a divisor that is a single product. `None` if a product of `self` lacks a
    /// factor of the divisor, or has a coefficient that is no multiple of the divisor's.
    pub fn exact_quotient(&self, divisor: &Expr) -> Option<Expr> {
        let (factors, c) = divisor.single_term()?;
        self.terms().try_fold(Expr::default(), |sum, (monomial, coefficient)| {
            let rest = remove_factors(monomial, factors)?;
            (coefficient.checked_rem(c)? == 0).then(|| sum + Expr::product(rest, coefficient / c))
        })
    }

    /// Returns the product and its coefficient, if the sum is a single product; `None` otherwise, also for 0.
    pub(crate) fn single_term(&self) -> Option<(&Monomial, i64)> {
        match self.terms.products.0.as_slice() {
            [(monomial, c)] => Some((monomial, *c)),
            _ => None,
        }
    }

    fn opaque_div(&self, divisor: &Expr) -> Expr {
        Expr::atom(Atom::Div(self.clone(), divisor.clone()))
    }

    fn div_const(&self, d: i64, facts: &Facts) -> Expr {
        if d == 1 {
            return self.clone();
        }
        if let Some(c) = self.as_const() {
            return Expr::constant(c.div_euclid(d));
        }
        // Uses ⌊(d·q + x + r) / d⌋ = q + x/d + ⌊r / d⌋, where d divides x.
        let (mut quotient, mut exact, mut rest) = (Expr::default(), Expr::default(), Expr::default());
        for (m, c) in self.terms() {
            if c % d == 0 {
                quotient.add_term(m.clone(), c / d);
            } else if !m.is_empty() && facts.divides_term(m, c, d) {
                exact.add_term(m.clone(), c);
            } else {
                // The constant is split into a multiple of `d` and a remainder below `d`, so that the range of `rest` is small.
                if m.is_empty() {
                    quotient.add_term(Vec::new(), c.div_euclid(d));
                    rest.add_term(Vec::new(), c.rem_euclid(d));
                } else {
                    rest.add_term(m.clone(), c);
                }
            }
        }
        let rest = match facts.range(&rest) {
            (Some(lo), Some(hi)) if lo >= 0 && hi < d => Expr::default(),
            _ => rest,
        };
        let remainder = exact + rest;
        if remainder.is_zero() {
            return quotient;
        }
        quotient + remainder.div_nested(d)
    }

    /// Returns `⌊self / d⌋`. If `self` is itself a quotient, it is `⌊⌊x / a⌋ / d⌋ = ⌊x / (a·d)⌋`.
    fn div_nested(&self, d: i64) -> Expr {
        if let Some(Atom::Div(inner, by)) = self.as_atom()
            && let Some(b) = by.as_const().filter(|b| *b > 0)
            && let Some(product) = b.checked_mul(d)
        {
            return inner.opaque_div(&Expr::constant(product));
        }
        self.opaque_div(&Expr::constant(d))
    }

    /// Returns `self - ⌊self / divisor⌋ · divisor`, 0 if the divisor is 0, simplified under `facts`.
    pub fn rem(&self, divisor: &Expr, facts: &Facts) -> Expr {
        if let (Some(x), Some(d)) = (self.as_const(), divisor.as_const()) {
            return Expr::constant(floor_mod(x, d));
        }
        let Some(d) = divisor.as_const().filter(|d| *d > 0) else {
            let q = self.div(divisor, facts);
            let has_div = matches!(q.as_atom(), Some(Atom::Div(..)));
            return if has_div {
                Expr::atom(Atom::Mod(self.clone(), divisor.clone()))
            } else {
                self.clone() - &q * divisor
            };
        };
        let mut rest = Expr::default();
        for (m, c) in self.terms() {
            if c % d != 0 && !facts.divides_term(m, c, d) {
                rest.add_term(m.clone(), if m.is_empty() { c.rem_euclid(d) } else { c });
            }
        }
        if let (Some(lo), Some(hi)) = facts.range(&rest)
            && lo >= 0
            && hi < d
        {
            return rest;
        }
        // If `d` divides the divisor of a remainder, `(x % (n·d)) % d = x % d`.
        match rest.as_atom() {
            Some(Atom::Mod(x, by)) if by.as_const().is_some_and(|by| by > 0 && by % d == 0) => {
                x.rem(divisor, facts)
            }
            _ => Expr::atom(Atom::Mod(rest, Expr::constant(d))),
        }
    }

    /// Returns `⌈self / divisor⌉` for a divisor of at least 1; 0 if the divisor is 0.
    pub fn ceil_div(&self, divisor: &Expr, facts: &Facts) -> Expr {
        (self.clone() + divisor.clone() - Expr::constant(1)).div(divisor, facts)
    }

    /// Returns `min(self, other)`. If the facts order the two, it is the lesser of them and not an [`Atom::Min`].
    pub fn minimum(&self, other: &Expr, facts: &Facts) -> Expr {
        self.least(other, |a, b| facts.proves_le(a, b))
    }

    /// Returns `max(self, other)`. If the facts order the two, it is the greater of them and not an [`Atom::Max`].
    pub fn maximum(&self, other: &Expr, facts: &Facts) -> Expr {
        self.greatest(other, |a, b| facts.proves_le(a, b))
    }

    fn least(&self, other: &Expr, is_at_most: impl Fn(&Expr, &Expr) -> bool) -> Expr {
        if is_at_most(self, other) {
            self.clone()
        } else if is_at_most(other, self) {
            other.clone()
        } else {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Expr::atom(Atom::Min(a.clone(), b.clone()))
        }
    }

    fn greatest(&self, other: &Expr, is_at_most: impl Fn(&Expr, &Expr) -> bool) -> Expr {
        if is_at_most(self, other) {
            other.clone()
        } else if is_at_most(other, self) {
            self.clone()
        } else {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Expr::atom(Atom::Max(a.clone(), b.clone()))
        }
    }

    /// Returns the bitwise exclusive or. Both operands must be non-negative.
    pub fn xor(&self, other: &Expr) -> Expr {
        match (self.as_const(), other.as_const()) {
            (Some(a), Some(b)) => Expr::constant(a ^ b),
            (Some(0), _) => other.clone(),
            (_, Some(0)) => self.clone(),
            _ => Expr::atom(Atom::Xor(self.clone(), other.clone())),
        }
    }

    /// Returns the bitwise and with a mask, which must not be negative.
    pub fn and(&self, mask: i64) -> Expr {
        match self.as_const() {
            Some(a) => Expr::constant(a & mask),
            None => Expr::atom(Atom::And(self.clone(), mask)),
        }
    }

    /// Wraps the value to an integer of this width. Returns the expression itself if `facts` prove that it fits.
    pub fn wrap(&self, width: Width, facts: &Facts) -> Expr {
        if let Some(value) = self.as_const() {
            return Expr::constant(width.wrap(value));
        }
        if facts.fits(self, width) { self.clone() } else { Expr::atom(Atom::Wrap(self.clone(), width)) }
    }

    /// Returns the expression without [`Atom::Wrap`]: each is replaced by its operand, as if integers were unbounded.
    pub fn unwrapped(&self) -> Expr {
        let mut sum = Expr::default();
        for (m, c) in self.terms() {
            let factor = |product: Expr, atom: &Atom| match atom {
                Atom::Wrap(a, _) => &product * &a.unwrapped(),
                atom => &product * &Expr::atom(atom.unwrapped()),
            };
            sum = sum + m.iter().fold(Expr::constant(c), factor);
        }
        sum
    }

    /// Replaces each symbol for which `with` returns an expression, and simplifies the result under `facts`.
    pub fn substitute(&self, facts: &Facts, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Expr {
        let mut kept = Products::default();
        let mut sum = Expr::default();
        for (m, c) in self.terms() {
            let is_kept = |atom: &Atom| matches!(atom, Atom::Symbol(symbol) if with(symbol).is_none());
            if m.iter().all(is_kept) {
                kept.add(m.clone(), c);
                continue;
            }
            let product = |product: Expr, atom: &Atom| &product * &atom.substitute(facts, with);
            sum = sum + m.iter().fold(Expr::constant(c), product);
        }
        (sum + kept.into()).simplify(facts)
    }

    /// Cancels factors against the divisors of divisions that `facts` prove exact: `k / 16 · 16` becomes `k` if 16 divides `k`.
    pub fn simplify(&self, facts: &Facts) -> Expr {
        let exact = |m: &Monomial, c: i64| {
            m.iter().enumerate().find_map(|(i, atom)| {
                let Atom::Div(x, by) = atom else { return None };
                let without = || {
                    let mut others = m.clone();
                    others.remove(i);
                    others
                };
                if let Some(d) = by.as_const() {
                    let is_whole = d > 0 && c % d == 0 && facts.is_exact(x, by);
                    return is_whole.then(|| (without(), x.clone(), c / d));
                }
                let (factors, 1) = by.single_term()? else { return None };
                let others = remove_factors(&without(), factors)?;
                facts.is_exact(x, by).then(|| (others, x.clone(), c))
            })
        };
        let mut whole = self.terms().map(|(m, c)| exact(m, c)).peekable();
        let mut simple = 0;
        while whole.next_if(Option::is_none).is_some() {
            simple += 1;
        }
        if whole.peek().is_none() {
            return self.clone();
        }
        let mut sum: Expr = Products(self.terms.products.0[..simple].to_vec()).into();
        for ((m, c), exact) in self.terms().skip(simple).zip(whole) {
            match exact {
                Some((others, x, c)) => {
                    let product = &Expr::product(others, c) * &x;
                    sum = sum + product.simplify(facts);
                }
                None => sum.add_term(m.clone(), c),
            }
        }
        sum
    }

    /// Returns all symbols that occur, in order and without repetition.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let mut out = BTreeSet::new();
        self.visit_symbols(&mut |s| {
            out.insert(s.clone());
        });
        out
    }

    pub(crate) fn visit_symbols<'a>(&'a self, f: &mut dyn FnMut(&'a Symbol)) {
        self.terms().flat_map(|(monomial, _)| monomial).for_each(|atom| atom.visit_symbols(f));
    }

    /// Returns the quotients and remainders whose divisor is 0 or no constant, each once. Facts are not consulted.
    pub fn divisions(&self) -> Vec<Atom> {
        let mut found = Vec::new();
        self.collect_divisions(&mut found);
        found
    }

    fn collect_divisions(&self, found: &mut Vec<Atom>) {
        for atom in self.terms().flat_map(|(monomial, _)| monomial) {
            match atom {
                Atom::Symbol(_) => continue,
                Atom::Div(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) | Atom::Xor(a, b) => {
                    a.collect_divisions(found);
                    b.collect_divisions(found);
                }
                Atom::And(a, _) | Atom::Wrap(a, _) => a.collect_divisions(found),
            }
            let divides =
                matches!(atom, Atom::Div(_, by) | Atom::Mod(_, by) if by.as_const().is_none_or(|by| by == 0));
            if divides && !found.contains(atom) {
                found.push(atom.clone());
            }
        }
    }

    /// Reports whether the symbol occurs in a term, or in an operand of an atom such as a quotient.
    pub fn mentions(&self, symbol: &Symbol) -> bool {
        let mut found = false;
        self.visit_symbols(&mut |s| found |= s == symbol);
        found
    }

    /// Evaluates the expression under a binding of the symbols.
    ///
    /// # Errors
    /// If a symbol has no value, a divisor is 0, or a sum or product outside of [`Atom::Wrap`] exceeds 64 bits.
    pub fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, EvalError> {
        let overflow = || EvalError::Overflow(self.to_string());
        let mut sum = 0i64;
        for (m, c) in self.terms() {
            let mut product = c;
            for atom in m {
                product = product.checked_mul(atom.eval(env)?).ok_or_else(overflow)?;
            }
            sum = sum.checked_add(product).ok_or_else(overflow)?;
        }
        Ok(sum)
    }

    /// Evaluates the expression modulo 2⁶⁴: sums and products wrap.
    ///
    /// # Errors
    /// If a symbol has no value, a divisor is 0, or an operand of an atom other than [`Atom::Wrap`] exceeds 64 bits.
    fn eval_wrapping(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, EvalError> {
        self.terms().try_fold(0i64, |sum, (m, c)| {
            let product =
                m.iter().try_fold(c, |p, atom| Ok::<_, EvalError>(p.wrapping_mul(atom.eval(env)?)))?;
            Ok(sum.wrapping_add(product))
        })
    }

    /// Reports whether the form alone implies a value of at least 0: non-negative symbols, no subtraction.
    pub fn is_nonnegative(&self) -> bool {
        self.terms().all(|(m, c)| c >= 0 && m.iter().all(Atom::is_nonnegative))
    }
}

impl Atom {
    /// Reports whether the form alone implies a value of at least 0.
    pub fn is_nonnegative(&self) -> bool {
        match self {
            Atom::Symbol(Symbol::Scalar(_)) => false,
            Atom::Symbol(
                Symbol::Dim(_)
                | Symbol::Multiprocessors
                | Symbol::GridDim(_)
                | Symbol::BlockIdx(_)
                | Symbol::Thread,
            ) => true,
            // A counter may start below 0, so its form alone says nothing.
            Atom::Symbol(Symbol::Var(..)) => false,
            Atom::Div(a, b) | Atom::Min(a, b) | Atom::Xor(a, b) => a.is_nonnegative() && b.is_nonnegative(),
            Atom::Max(a, b) => a.is_nonnegative() || b.is_nonnegative(),
            Atom::Mod(_, b) => b.is_nonnegative(),
            Atom::And(..) => true,
            Atom::Wrap(_, width) => !width.signed && width.bits < 64,
        }
    }

    fn visit_symbols<'a>(&'a self, f: &mut dyn FnMut(&'a Symbol)) {
        match self {
            Atom::Symbol(s) => f(s),
            Atom::Div(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) | Atom::Xor(a, b) => {
                a.visit_symbols(f);
                b.visit_symbols(f);
            }
            Atom::And(a, _) | Atom::Wrap(a, _) => a.visit_symbols(f),
        }
    }

    pub(crate) fn mentions(&self, symbol: &Symbol) -> bool {
        let mut found = false;
        self.visit_symbols(&mut |s| found |= s == symbol);
        found
    }

    fn unwrapped(&self) -> Atom {
        match self {
            Atom::Symbol(_) => self.clone(),
            Atom::Div(a, b) => Atom::Div(a.unwrapped(), b.unwrapped()),
            Atom::Mod(a, b) => Atom::Mod(a.unwrapped(), b.unwrapped()),
            Atom::Min(a, b) => Atom::Min(a.unwrapped(), b.unwrapped()),
            Atom::Max(a, b) => Atom::Max(a.unwrapped(), b.unwrapped()),
            Atom::Xor(a, b) => Atom::Xor(a.unwrapped(), b.unwrapped()),
            Atom::And(a, mask) => Atom::And(a.unwrapped(), *mask),
            Atom::Wrap(a, width) => Atom::Wrap(a.unwrapped(), *width),
        }
    }

    fn substitute(&self, facts: &Facts, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Expr {
        let sub = |e: &Expr| e.substitute(facts, with);
        let is_at_most = |a: &Expr, b: &Expr| facts.bounds_prove_nonnegative(b.clone() - a.clone());
        match self {
            Atom::Symbol(s) => with(s).unwrap_or_else(|| Expr::symbol(s.clone())),
            Atom::Div(a, b) => sub(a).div(&sub(b), facts),
            Atom::Mod(a, b) => sub(a).rem(&sub(b), facts),
            Atom::Min(a, b) => sub(a).least(&sub(b), is_at_most),
            Atom::Max(a, b) => sub(a).greatest(&sub(b), is_at_most),
            Atom::Xor(a, b) => sub(a).xor(&sub(b)),
            Atom::And(a, mask) => sub(a).and(*mask),
            Atom::Wrap(a, width) => sub(a).wrap(*width, facts),
        }
    }

    fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, EvalError> {
        let divided = |a: &Expr, b: &Expr, f: fn(i64, i64) -> i64| match (a.eval(env)?, b.eval(env)?) {
            (_, 0) => Err(EvalError::DivisionByZero(Expr::atom(self.clone()).to_string())),
            (a, b) => Ok(f(a, b)),
        };
        Ok(match self {
            Atom::Symbol(s) => env(s).ok_or_else(|| EvalError::Unbound(s.to_string()))?,
            Atom::Div(a, b) => divided(a, b, floor_div)?,
            Atom::Mod(a, b) => divided(a, b, floor_mod)?,
            Atom::Min(a, b) => a.eval(env)?.min(b.eval(env)?),
            Atom::Max(a, b) => a.eval(env)?.max(b.eval(env)?),
            Atom::Xor(a, b) => a.eval(env)? ^ b.eval(env)?,
            Atom::And(a, mask) => a.eval(env)? & mask,
            Atom::Wrap(a, width) => width.wrap(a.eval_wrapping(env)?),
        })
    }
}

/// Returns `monomial` without the factors of `by`. `None` if it lacks one of them.
fn remove_factors(monomial: &Monomial, by: &Monomial) -> Option<Monomial> {
    let mut rest = monomial.clone();
    for factor in by {
        let at = rest.iter().position(|a| a == factor)?;
        rest.remove(at);
    }
    Some(rest)
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
