//! The elements of a tensor that lie beyond an end, as conditions on their coordinates, and proofs about them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hx_index::{Atom, CmpOp, Cond, Expr, Facts, Symbol};

/// Symbols with numbers from here on stand for an earlier value of a variable: from another round of its loop, or from before an
/// assignment.
const EARLIER: u32 = 1 << 30;

/// Returns the coordinate of an element along an axis of its tensor.
pub(crate) fn along(axis: usize) -> Symbol {
    Symbol::Var("axis".into(), u32::MAX - axis as u32)
}

/// Returns the symbol of a value that a variable had earlier, whichever it was.
pub(crate) fn earlier(symbol: &Symbol) -> Symbol {
    match symbol {
        Symbol::Var(name, number) if *number < EARLIER => Symbol::Var(name.clone(), number + EARLIER),
        other => other.clone(),
    }
}

/// Reports whether a symbol is one of [`earlier`].
pub(crate) fn is_earlier(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Var(_, number) if (EARLIER..u32::MAX - 64).contains(number))
}

/// Returns the variable that a symbol of [`earlier`] stands for; other symbols as they are.
pub(crate) fn variable(symbol: &Symbol) -> Symbol {
    match symbol {
        Symbol::Var(name, number) if is_earlier(symbol) => Symbol::Var(name.clone(), number - EARLIER),
        other => other.clone(),
    }
}

/// Returns the axis whose coordinate the symbol is; `None` for other symbols.
pub(crate) fn axis_of(symbol: &Symbol) -> Option<usize> {
    match symbol {
        Symbol::Var(_, number) if *number >= u32::MAX - 64 => Some((u32::MAX - number) as usize),
        _ => None,
    }
}

/// The number of nested quotients that [`Ground::holds`] removes from a statement.
const QUOTIENTS: usize = 2;

/// The most work for one program, in proofs about small expressions. Results that come later in the walk are not judged.
const WORK: usize = 2500;

/// The work of a proof about an expression with more terms and factors than this, the largest first.
const WORK_OF_SIZE: [(usize, usize); 2] = [(48, 10), (24, 3)];

fn at_least_0(e: &Expr) -> Cond {
    Cond::Cmp(CmpOp::Le, Expr::default(), e.clone())
}

/// The elements at whose coordinates every expression is at least 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Region(pub(crate) Vec<Expr>);

impl Region {
    /// Returns the region with each expression replaced.
    pub(crate) fn map(&self, f: impl Fn(&Expr) -> Expr) -> Region {
        Region(self.0.iter().map(f).collect()).with(&[])
    }

    /// Returns the elements of the region at which further expressions are at least 0.
    pub(crate) fn with(&self, more: &[Expr]) -> Region {
        let mut all: Vec<Expr> = self.0.iter().chain(more).cloned().collect();
        all.retain(|e| e.as_const().is_none_or(|value| value < 0));
        all.sort();
        all.dedup();
        Region(all)
    }

    pub(crate) fn symbols(&self) -> BTreeSet<Symbol> {
        self.0.iter().flat_map(Expr::symbols).collect()
    }

    pub(crate) fn mentions(&self, symbol: &Symbol) -> bool {
        self.0.iter().any(|e| e.mentions(symbol))
    }

    /// Returns the axes whose coordinates decide whether an element is in the region.
    pub(crate) fn axes(&self) -> BTreeSet<usize> {
        self.symbols().iter().filter_map(axis_of).collect()
    }

    /// Returns the sign with which a coordinate leads into the region; `None` if it does both, or cannot be told.
    pub(crate) fn direction(&self, axis: usize) -> Option<i64> {
        let symbol = along(axis);
        let own = [Atom::Symbol(symbol.clone())];
        let mut found = None;
        for e in self.0.iter().filter(|e| e.mentions(&symbol)) {
            let (_, factor) = e.terms().find(|(monomial, _)| **monomial == own)?;
            let rest = e.clone() - Expr::symbol(symbol.clone()).scale(factor);
            if rest.mentions(&symbol) || found.is_some_and(|sign| sign != factor.signum()) {
                return None;
            }
            found = Some(factor.signum());
        }
        found
    }
}

/// Returns an expression with atoms replaced, from the inside out: an atom for which `f` returns `None` stays.
fn rewritten(e: &Expr, facts: &Facts, f: &dyn Fn(&Atom) -> Option<Expr>) -> Expr {
    let inner = |e: &Expr| rewritten(e, facts, f);
    let of_atom = |atom: &Atom| {
        let atom = match atom {
            Atom::Div(x, by) => Atom::Div(inner(x), inner(by)),
            Atom::Mod(x, by) => Atom::Mod(inner(x), inner(by)),
            Atom::Symbol(_)
            | Atom::Min(..)
            | Atom::Max(..)
            | Atom::Xor(..)
            | Atom::And(..)
            | Atom::Wrap(..) => atom.clone(),
        };
        f(&atom).unwrap_or_else(|| match &atom {
            Atom::Div(x, by) => x.div(by, facts),
            Atom::Mod(x, by) => x.rem(by, facts),
            other => Expr::atom(other.clone()),
        })
    };
    let terms = e.terms().map(|(monomial, c)| {
        monomial.iter().fold(Expr::constant(c), |product, atom| &product * &of_atom(atom))
    });
    terms.fold(Expr::default(), |sum, term| sum + term)
}

/// Reports whether an expression has a quotient or a remainder by a number that only a launch knows.
fn divides(e: &Expr) -> bool {
    !e.divisions().is_empty()
}

/// The facts of a place in the program, and proofs about regions.
pub(crate) struct Ground {
    pub(crate) facts: Facts,
    /// The extents of the tensor whose coordinates the facts bound.
    shape: Vec<i64>,
    /// The integers that come from data.
    pub(crate) data: BTreeSet<Symbol>,
    /// The counters of the loops around the place, each with its first value.
    pub(crate) counters: Vec<(Symbol, Expr)>,
    /// The integers that never change, in terms of others.
    pub(crate) defined: BTreeMap<Symbol, Expr>,
    /// The proofs so far, by a hash of the facts, the expressions of a region and another expression: whether that one is
    /// proven to be at least 0 in the region.
    proven: HashMap<(u64, Vec<Expr>, Expr), bool>,
    /// By a hash of the facts, an expression and the shape of a tensor: whether the expression is proven to be below 0 at all
    /// coordinates of the tensor.
    empty: HashMap<(u64, Expr, Vec<i64>), bool>,
    /// The work of these proofs, in proofs of small expressions.
    work: usize,
}

impl Ground {
    pub(crate) fn new(facts: Facts, data: BTreeSet<Symbol>) -> Ground {
        Ground {
            facts,
            shape: Vec::new(),
            data,
            counters: Vec::new(),
            defined: BTreeMap::new(),
            proven: HashMap::new(),
            empty: HashMap::new(),
            work: 0,
        }
    }

    /// Reports whether the work is within [`WORK`], so that every proof that was needed was tried.
    pub(crate) fn is_decided(&self) -> bool {
        self.work <= WORK
    }

    /// Reports whether `e` is at least 0 where the others are. A loop is walked several times under the same facts, so the answers
    /// are kept.
    fn proves(&mut self, others: &[Expr], e: &Expr) -> bool {
        let key = (self.facts.fingerprint(), others.to_vec(), e.clone());
        if let Some(known) = self.proven.get(&key) {
            return *known;
        }
        if !self.is_decided() {
            return false;
        }
        let stated: Vec<Expr> = others.iter().flat_map(|known| self.state(known)).collect();
        let holds = self.facts.proves_le(&Expr::default(), e);
        self.facts.forget(&stated);
        let work = WORK_OF_SIZE.iter().find(|(size, _)| e.is_larger_than(*size));
        self.work += work.map_or(1, |(_, work)| *work);
        self.proven.insert(key, holds);
        holds
    }

    /// Reports whether data decide the symbol.
    pub(crate) fn is_data(&self, symbol: &Symbol) -> bool {
        self.data.contains(&variable(symbol))
    }

    /// Bounds the coordinates by the extents of a tensor.
    pub(crate) fn of_shape(&mut self, shape: &[i64]) {
        for (axis, &extent) in shape.iter().enumerate() {
            if self.shape.get(axis) == Some(&extent) {
                continue;
            }
            self.facts.set_range(&along(axis), (Some(0), Some(extent.max(1) - 1)));
        }
        let rest = self.shape.get(shape.len()..).map(<[i64]>::to_vec).unwrap_or_default();
        self.shape = [shape, &rest].concat();
    }

    /// Reports whether no element of a tensor of this shape is in the region.
    pub(crate) fn is_empty(&mut self, region: &Region, shape: &[i64]) -> bool {
        self.of_shape(shape);
        let facts = self.facts.fingerprint();
        region.0.iter().any(|e| {
            let key = (facts, e.clone(), shape.to_vec());
            if let Some(known) = self.empty.get(&key) {
                return *known;
            }
            let most = self.most(e, shape);
            let is_empty = self.proves(&[], &(Expr::constant(-1) - most));
            self.empty.insert(key, is_empty);
            is_empty
        })
    }

    /// Returns the expression at the coordinates that make it largest, as far as they are known.
    fn most(&self, e: &Expr, shape: &[i64]) -> Expr {
        let region = Region(vec![e.clone()]);
        let ends: Vec<(Symbol, Expr)> = region
            .axes()
            .into_iter()
            .filter_map(|axis| {
                let last = shape.get(axis)? - 1;
                let at = if region.direction(axis)? > 0 { last } else { 0 };
                Some((along(axis), Expr::constant(at)))
            })
            .collect();
        if ends.is_empty() {
            return e.clone();
        }
        let end = |s: &Symbol| ends.iter().find(|(symbol, _)| symbol == s).map(|(_, at)| at.clone());
        e.substitute(&self.facts, &end)
    }

    /// Reports whether `e` is at least 0 at all elements of the region.
    pub(crate) fn implies(&mut self, region: &Region, e: &Expr) -> bool {
        let plain = |known: &Expr| e.constant_distance(known).is_some_and(|more| more >= 0);
        if region.0.iter().any(plain) || e.as_const().is_some_and(|value| value >= 0) {
            return true;
        }
        self.proves(&region.0, e)
    }

    /// Reports whether every element of the region is in the other one.
    pub(crate) fn covers(&mut self, other: &Region, region: &Region) -> bool {
        other.0.iter().all(|e| self.implies(region, e))
    }

    /// Returns the expression with defined integers replaced by their values. Numbers that may wrap are taken as unbounded, because
    /// indices are far from the ends of their types.
    pub(crate) fn plain(&self, e: &Expr) -> Expr {
        let unwrapped = e.unwrapped();
        if (self.defined.is_empty() || e.as_const().is_some()) && unwrapped == *e {
            return unwrapped;
        }
        unwrapped.substitute(&self.facts, &|symbol| self.defined.get(symbol).cloned())
    }

    /// Returns a condition of [`Ground::plain`] expressions.
    pub(crate) fn plain_cond(&self, cond: &Cond) -> Cond {
        match cond {
            Cond::True | Cond::False => cond.clone(),
            Cond::Cmp(op, a, b) => Cond::Cmp(*op, self.plain(a), self.plain(b)),
            Cond::And(all) => Cond::And(all.iter().map(|cond| self.plain_cond(cond)).collect()),
            Cond::Or(any) => Cond::Or(any.iter().map(|cond| self.plain_cond(cond)).collect()),
        }
    }

    /// Returns expressions that are at least 0 if `e` is, each without a quotient: `x / 8 ≥ j` implies `x ≥ 8 j`.
    fn without_quotients(&mut self, e: &Expr) -> Vec<Expr> {
        let mut found = Vec::new();
        for (monomial, c) in e.terms() {
            let [Atom::Div(x, by)] = &monomial[..] else { continue };
            let least = self.facts.range(by).0;
            if least.is_none_or(|least| least < 1) && !self.proves(&[], &(by.clone() - Expr::constant(1))) {
                continue;
            }
            let rest = e.clone() - Expr::atom(monomial[0].clone()).scale(c);
            // `x - d + 1 ≤ d · (x / d) ≤ x`
            let least = if c > 0 { x.clone() } else { x.clone() - by.clone() + Expr::constant(1) };
            found.push(&rest * by + least.scale(c));
        }
        found
    }

    /// Adds to the facts that an expression is at least 0, and what follows. Returns the facts that are new, for
    /// [`Facts::forget`].
    pub(crate) fn state(&mut self, e: &Expr) -> Vec<Expr> {
        self.holds(&at_least_0(e))
    }

    /// Adds to the facts a condition, and what follows from it for the dividends of quotients. Returns the facts that are new,
    /// for [`Facts::forget`].
    pub(crate) fn holds(&mut self, cond: &Cond) -> Vec<Expr> {
        let mut stated = self.facts.holds(cond);
        for e in stated.clone() {
            // The dividend of a quotient may have a quotient in turn, as `(cdiv(n, 8) - block_idx) / grid_dim` has.
            let mut open = self.without_quotients(&e);
            for _ in 0..QUOTIENTS {
                let stated_here =
                    open.iter().flat_map(|e| self.facts.holds(&at_least_0(e))).collect::<Vec<_>>();
                open = open.iter().flat_map(|e| self.without_quotients(e)).collect();
                stated.extend(stated_here);
            }
        }
        stated
    }

    /// Returns a region in which remainders and quotients of numbers below their divisor are simplified: `i % tiles` is `i` in a loop
    /// over `tiles`.
    pub(crate) fn reduced(&self, region: &Region) -> Region {
        if !region.0.iter().any(divides) {
            return region.clone();
        }
        let facts = &self.facts;
        let below = |x: &Expr, by: &Expr| facts.proves_le(&Expr::default(), x) && facts.proves_lt(x, by);
        region.map(|e| {
            rewritten(e, facts, &|atom| match atom {
                Atom::Mod(x, by) if by.as_const().is_none() && below(x, by) => Some(x.clone()),
                Atom::Div(x, by) if by.as_const().is_none() && below(x, by) => Some(Expr::default()),
                _ => None,
            })
        })
    }

    /// Returns a region of the round before in terms of this round, if its conditions say that a quotient has not changed
    /// since: `(i - 1) / steps` is `i / steps` where `(i - 1) % steps` is not the last step. Otherwise `None`.
    pub(crate) fn same_quotient(&self, region: &Region) -> Option<Region> {
        if !region.0.iter().any(divides) {
            return None;
        }
        let (two, facts) = (Expr::constant(2), &self.facts);
        let (of_elements, paths): (Vec<&Expr>, Vec<&Expr>) =
            region.0.iter().partition(|e| e.symbols().iter().any(|s| axis_of(s).is_some()));
        let remainders = paths.iter().flat_map(|e| e.divisions());
        let goes_on = |atom: Atom| {
            let Atom::Mod(x, by) = &atom else { return None };
            let known = by.clone() - Expr::atom(atom.clone()) - two.clone();
            paths
                .iter()
                .any(|path| known.constant_distance(path).is_some_and(|more| more >= 0))
                .then(|| (x.clone(), by.clone()))
        };
        let steps: Vec<(Expr, Expr)> = remainders.filter_map(goes_on).collect();
        let next = |atom: &Atom| match atom {
            Atom::Div(x, by) => {
                let same = steps.iter().any(|(of, step)| of == x && step == by);
                same.then(|| (x.clone() + Expr::constant(1)).div(by, facts))
            }
            _ => None,
        };
        let now: Vec<Expr> = of_elements.iter().map(|e| rewritten(e, facts, &next)).collect();
        let all = now.iter().zip(&of_elements).all(|(now, old)| now != *old);
        (!now.is_empty() && all).then(|| Region(now).with(&[]))
    }

    /// Returns the truth value that a comparison of integers has at all elements of the region; `None` if it may have both.
    /// With `loose`, a mask that leaves out the elements from some coordinate on is taken to begin with the padding.
    pub(crate) fn decide(
        &mut self,
        region: &Region,
        loose: bool,
        (op, a, b): (CmpOp, &Expr, &Expr),
    ) -> Option<bool> {
        let one = || Expr::constant(1);
        let (less, more) = (b.clone() - a.clone() - one(), a.clone() - b.clone());
        let beyond = more.clone() - one();
        match op {
            CmpOp::Lt if self.excludes(region, loose, &more) => Some(false),
            CmpOp::Le if self.excludes(region, loose, &beyond) => Some(false),
            CmpOp::Lt if self.implies(region, &less) => Some(true),
            CmpOp::Le if self.implies(region, &(less.clone() + one())) => Some(true),
            CmpOp::Eq if self.implies(region, &less) || self.implies(region, &beyond) => Some(false),
            CmpOp::Ne if self.implies(region, &less) || self.implies(region, &beyond) => Some(true),
            CmpOp::Lt | CmpOp::Le | CmpOp::Eq | CmpOp::Ne => None,
        }
    }

    /// Reports whether a mask leaves out all of the region: `e ≥ 0` at its elements.
    ///
    /// A counter of another round, or of another role, is taken to be that of this round: stages arrive in the order in which they
    /// were filled. What data decide is not proven: there, a mask that leaves out the elements from some coordinate on is taken to
    /// begin with the padding.
    pub(crate) fn excludes(&mut self, region: &Region, loose: bool, e: &Expr) -> bool {
        if self.implies(region, e) {
            return true;
        }
        let others: Vec<Symbol> = region.symbols().into_iter().filter(is_earlier).collect();
        let symbols = e.symbols();
        let counters = self.counters.iter().map(|(counter, _)| counter.clone());
        let read = others.iter().map(variable).filter(|symbol| self.data.contains(symbol));
        let here: Vec<Symbol> = counters.chain(read).filter(|symbol| symbols.contains(symbol)).collect();
        if !others.is_empty() && self.implies_now(region, &others, &here, e) {
            return true;
        }
        (loose || self.is_decided_by_data(region, e)) && self.leads_into(region, e)
    }

    /// As [`Ground::implies`], with each of the earlier values `others` in the region replaced by one of the symbols `here`.
    /// Tries all replacements.
    fn implies_now(&mut self, region: &Region, others: &[Symbol], here: &[Symbol], e: &Expr) -> bool {
        let Some((first, rest)) = others.split_first() else { return self.implies(region, e) };
        here.iter().any(|counter| {
            let now = |s: &Symbol| (s == first).then(|| Expr::symbol(counter.clone()));
            let region = self.reduced(&region.map(|e| e.substitute(&self.facts, &now)));
            self.implies_now(&region, rest, here, e)
        })
    }

    /// Reports whether the order of a mask and a region depends on numbers that only data or an argument knows.
    fn is_decided_by_data(&self, region: &Region, e: &Expr) -> bool {
        let unknown = |symbol: &&Symbol| matches!(symbol, Symbol::Scalar(_)) || self.is_data(symbol);
        let (own, masked) = (region.symbols(), e.symbols());
        let of_region: BTreeSet<&Symbol> = own.iter().filter(unknown).collect();
        let of_mask: BTreeSet<&Symbol> = masked.iter().filter(unknown).collect();
        of_region != of_mask
    }

    /// Reports whether a mask and the region point the same way along an axis: both grow with its coordinate, or both shrink.
    fn leads_into(&self, region: &Region, e: &Expr) -> bool {
        let mask = Region(vec![e.clone()]);
        region
            .axes()
            .into_iter()
            .any(|axis| region.direction(axis).is_some_and(|sign| mask.direction(axis) == Some(sign)))
    }
}
