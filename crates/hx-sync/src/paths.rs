//! Follows debts along the paths of a tile program: what an operation leaves open, or what nobody has done yet, until an operation
//! settles it. A store in flight is a debt, and so is a register tensor that nothing has written.
//!
//! Nothing is known of the numbers of a launch but the facts, so a debt is carried along every path, with the conditions of the
//! branches that it has left. A branch whose condition contradicts these is not on its path. The first two rounds of a loop are
//! followed one by one, so that conditions such as `i == 0` are decided in them, and the later rounds until nothing changes.
//!
//! A finding must concern a launch that exists. So a debt is not reported if its path needs two conditions that the facts do
//! not decide: the two may never hold together. A debt whose condition depends on a number that changes is dropped.

use std::collections::BTreeSet;

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Control, Leaf, Op, OpKind, Role, Rounds, Stmt, SyncOp, TileProgram};

/// A debt on some path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Debt<K> {
    pub(crate) key: K,
    /// The conditions of the branches that the path has left, and which of the two branches it took.
    under: Vec<(Cond, bool)>,
    /// The number of conditions around the operation that made the debt, less those that its path has left since.
    depth: usize,
    /// The symbols that have got another value since.
    pub(crate) stale: BTreeSet<Symbol>,
}

impl<K> Debt<K> {
    /// Makes a debt that the conditions open at this depth do not restrict.
    pub(crate) fn new(key: K, depth: usize) -> Debt<K> {
        Debt { key, under: Vec::new(), depth, stale: BTreeSet::new() }
    }
}

/// The debts at a place of the program, each on its paths.
pub(crate) type Debts<K> = Vec<Debt<K>>;

/// Makes and settles debts.
pub(crate) trait Follow {
    type Key: Clone + Ord;
    /// Whether [`Debt::stale`] matters.
    const WATCHES: bool;
    /// Makes and settles debts at an operation.
    fn op(&mut self, op: &Op, debts: &mut Debts<Self::Key>, here: &Here<'_>);
}

/// The facts that hold at an operation.
pub(crate) struct Here<'a> {
    pub(crate) facts: &'a Facts,
    /// The conditions around the operation that the facts do not decide, each with its truth.
    open: &'a [(Cond, bool)],
    /// Values of symbols, which hold here.
    values: &'a [(Symbol, Expr)],
}

impl Here<'_> {
    /// Reports whether some launch takes the path of a debt to this operation: at most one condition of the path is undecided.
    pub(crate) fn is_certain<K>(&self, debt: &Debt<K>) -> bool {
        debt.under.len() + self.depth().saturating_sub(debt.depth) <= 1
    }

    /// Returns the undecided condition on which the path of a debt to this operation depends, and its truth there; `None`
    /// without one.
    pub(crate) fn condition<K>(&self, debt: &Debt<K>) -> Option<(Cond, bool)> {
        debt.under.first().or_else(|| self.open.get(debt.depth)).cloned()
    }

    /// Returns the number of conditions around the operation.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Reports whether a condition on the path of a debt to this operation depends on the index of the block.
    pub(crate) fn depends_on_block<K>(&self, debt: &Debt<K>) -> bool {
        let is_index = |symbol: &Symbol| matches!(symbol, Symbol::BlockIdx(_));
        self.open.iter().chain(&debt.under).any(|(cond, _)| cond.symbols().iter().any(is_index))
    }

    /// Returns an expression in terms of symbols whose values are unknown here.
    pub(crate) fn value(&self, expr: &Expr) -> Expr {
        expr.substitute(self.facts, &|symbol| value_of(self.values, symbol))
    }
}

fn value_of(values: &[(Symbol, Expr)], symbol: &Symbol) -> Option<Expr> {
    values.iter().rev().find(|(known, _)| known == symbol).map(|(_, value)| value.clone())
}

/// Follows a program from its first statement. `debts` are those before it.
pub(crate) fn follow<F: Follow>(
    program: &TileProgram,
    debts: Debts<F::Key>,
    follow: &mut F,
    poll: &dyn Fn(),
) {
    let mut changing = BTreeSet::new();
    assigned(&program.body, &mut changing);
    let facts = program.facts.clone();
    let mut walk = Walk { facts, changing, open: Vec::new(), values: Vec::new(), follow, poll };
    let mut debts = debts;
    walk.body(&program.body, &mut debts);
}

/// The most paths of one debt. Others are forgotten.
const PATHS: usize = 6;
/// The longest unrolled loop that is followed round by round.
const UNROLLED: i64 = 64;
/// The most times that a loop is followed until nothing changes.
const ROUNDS: usize = 6;

struct Walk<'f, F> {
    facts: Facts,
    /// The locals that some statement assigns. Facts are never stated of them.
    changing: BTreeSet<Symbol>,
    /// The conditions around the statement.
    open: Vec<(Cond, bool)>,
    values: Vec<(Symbol, Expr)>,
    follow: &'f mut F,
    poll: &'f dyn Fn(),
}

impl<F: Follow> Walk<'_, F> {
    fn body(&mut self, body: &[Stmt], debts: &mut Debts<F::Key>) {
        for stmt in body {
            (self.poll)();
            self.stmt(stmt, debts);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, debts: &mut Debts<F::Key>) {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => self.op(op, debts),
            Stmt::Control(Control::If { cond, then, otherwise }) => self.branch(cond, then, otherwise, debts),
            Stmt::Control(Control::For { var, rounds, body }) => match rounds {
                Rounds::Range { start, end, unroll } => {
                    self.counted(var, [start, end], *unroll, body, debts);
                }
                Rounds::Drawn { counter, .. } => {
                    let number = Expr::dim(format!("rounds of counter {}", counter.0));
                    let cond = Cond::Cmp(CmpOp::Lt, Expr::default(), number);
                    self.repeated(&cond, body, debts, &mut |walk, debts| walk.rebind(var, debts));
                }
            },
            Stmt::Control(Control::While { cond, body, .. }) => {
                self.repeated(cond, body, debts, &mut |_, _| ())
            }
            Stmt::Leaf(Leaf::Let { var, value } | Leaf::Assign { var, value }) => {
                let value = value.substitute(&self.facts, &|symbol| value_of(&self.values, symbol));
                self.rebind(var, debts);
                if !value.mentions(var) {
                    self.values.push((var.clone(), value));
                }
            }
            Stmt::Leaf(
                Leaf::LoadScalar { var, .. } | Leaf::LetNumber { var, .. } | Leaf::AssignNumber { var, .. },
            ) => {
                self.rebind(var, debts);
            }
            Stmt::Control(Control::Roles(roles)) => roles.iter().for_each(|role| self.role(role, debts)),
        }
    }

    fn role(&mut self, role: &Role, debts: &Debts<F::Key>) {
        let values = self.values.clone();
        self.body(&role.body, &mut debts.clone());
        self.values = values;
    }

    fn op(&mut self, op: &Op, debts: &mut Debts<F::Key>) {
        let here = Here { facts: &self.facts, open: &self.open, values: &self.values };
        self.follow.op(op, debts, &here);
        if let OpKind::ReadNumber { var, .. }
        | OpKind::Sync(SyncOp::Acquire { var, .. } | SyncOp::WaitStage { var, .. }) = &op.kind
        {
            self.rebind(var, debts);
        }
    }

    /// Forgets the values of and about a symbol that gets another value, and drops the debts on whose paths a condition
    /// mentions it.
    fn rebind(&mut self, symbol: &Symbol, debts: &mut Debts<F::Key>) {
        debts.retain(|debt| !debt.under.iter().any(|(cond, _)| cond.symbols().contains(symbol)));
        if F::WATCHES {
            debts.iter_mut().for_each(|debt| _ = debt.stale.insert(symbol.clone()));
        }
        self.values.retain(|(known, value)| known != symbol && !value.mentions(symbol));
    }

    fn branch(&mut self, cond: &Cond, then: &[Stmt], otherwise: &[Stmt], debts: &mut Debts<F::Key>) {
        let cond = self.decided(cond);
        match cond {
            Cond::True => return self.body(then, debts),
            Cond::False => return self.body(otherwise, debts),
            Cond::Cmp(..) | Cond::And(_) | Cond::Or(_) => {}
        }
        let values = self.values.clone();
        let mut other = self.possible(&cond, false, debts);
        *debts = self.possible(&cond, true, debts);
        self.within(&cond, true, |walk| walk.body(then, debts));
        let after = std::mem::replace(&mut self.values, values);
        self.within(&cond, false, |walk| walk.body(otherwise, &mut other));
        self.values.retain(|value| after.contains(value));
        leave(debts, &cond, true, self.open.len());
        leave(&mut other, &cond, false, self.open.len());
        join(debts, other);
    }

    /// Follows statements under a condition.
    fn within(&mut self, cond: &Cond, holds: bool, inside: impl FnOnce(&mut Self)) {
        let stated = self.state(cond, holds);
        self.open.push((cond.clone(), holds));
        inside(self);
        self.open.pop();
        self.facts.forget(&stated);
    }

    /// Adds a condition to the facts, unless a number in it changes. Returns the expressions with which [`Facts::forget`]
    /// removes it.
    fn state(&mut self, cond: &Cond, holds: bool) -> Vec<Expr> {
        if !self.changing.is_disjoint(&cond.symbols()) {
            return Vec::new();
        }
        self.facts.holds(&if holds { cond.clone() } else { cond.clone().negate() })
    }

    /// Returns the debts on whose paths a condition may have this truth.
    fn possible(&self, cond: &Cond, holds: bool, debts: &Debts<F::Key>) -> Debts<F::Key> {
        let wanted = if holds { cond.clone() } else { cond.clone().negate() };
        let meets = |debt: &&Debt<F::Key>| {
            if debt.under.is_empty() {
                return true;
            }
            if debt.under.iter().any(|(known, held)| known == cond && *held != holds) {
                return false;
            }
            let mut facts = self.facts.clone();
            for (known, held) in &debt.under {
                if self.changing.is_disjoint(&known.symbols()) {
                    facts.holds(&if *held { known.clone() } else { known.clone().negate() });
                }
            }
            decide(&wanted, &facts, &|_| None) != Cond::False
        };
        debts.iter().filter(meets).cloned().collect()
    }

    /// Decides a condition by the facts and the values of symbols, as far as they go.
    fn decided(&self, cond: &Cond) -> Cond {
        decide(cond, &self.facts, &|symbol| value_of(&self.values, symbol))
    }

    /// Follows a loop over a range.
    fn counted(
        &mut self,
        var: &Symbol,
        [start, end]: [&Expr; 2],
        unroll: bool,
        body: &[Stmt],
        debts: &mut Debts<F::Key>,
    ) {
        let [start, end] =
            [start, end].map(|e| e.substitute(&self.facts, &|symbol| value_of(&self.values, symbol)));
        let trips = (end.clone() - start.clone()).as_const();
        if let Some(trips) = trips.filter(|trips| unroll && *trips <= UNROLLED) {
            for round in 0..trips {
                self.round(var, &(start.clone() + Expr::constant(round)), body, debts);
            }
            return;
        }
        let enters = Cond::cmp(CmpOp::Lt, start.clone(), end.clone(), &self.facts);
        let mut out = self.around(&enters, debts);
        if enters == Cond::False {
            return *debts = out;
        }
        let stated = self.state(&enters, true);
        *debts = self.possible(&enters, true, debts);
        self.round(var, &start, body, debts);
        let second = start.clone() + Expr::constant(1);
        let again = Cond::cmp(CmpOp::Lt, second.clone(), end.clone(), &self.facts);
        if again != Cond::False {
            join(&mut out, debts.clone());
            let stated = self.state(&again, true);
            self.round(var, &second, body, debts);
            let later = Cond::cmp(CmpOp::Lt, second.clone(), Expr::symbol(var.clone()), &self.facts);
            let of_later = self.state(&later, true);
            self.until_settled(body, debts, &mut |walk, debts| walk.rebind(var, debts));
            self.facts.forget(&of_later);
            self.facts.forget(&stated);
        }
        self.facts.forget(&stated);
        join(&mut out, std::mem::take(debts));
        *debts = out;
    }

    /// Follows a round of a loop in which the counter has a known value.
    fn round(&mut self, var: &Symbol, value: &Expr, body: &[Stmt], debts: &mut Debts<F::Key>) {
        self.values.push((var.clone(), value.clone()));
        self.body(body, debts);
        self.rebind(var, debts);
    }

    /// Follows a loop whose rounds only a launch knows.
    fn repeated(
        &mut self,
        cond: &Cond,
        body: &[Stmt],
        debts: &mut Debts<F::Key>,
        next: &mut dyn FnMut(&mut Self, &mut Debts<F::Key>),
    ) {
        let enters = self.decided(cond);
        let mut out = self.around(&enters, debts);
        if enters != Cond::False {
            *debts = self.possible(&enters, true, debts);
            self.body(body, debts);
            next(self, debts);
            self.until_settled(body, debts, next);
            join(&mut out, std::mem::take(debts));
        }
        *debts = out;
    }

    /// Returns the debts of the path that skips a loop.
    fn around(&self, enters: &Cond, debts: &Debts<F::Key>) -> Debts<F::Key> {
        if *enters == Cond::True {
            return Vec::new();
        }
        let mut out = self.possible(enters, false, debts);
        if *enters != Cond::False {
            leave(&mut out, enters, false, self.open.len());
        }
        out
    }

    /// Follows the later rounds of a loop until the debts after a round are among those before it, at most [`ROUNDS`] times.
    fn until_settled(
        &mut self,
        body: &[Stmt],
        debts: &mut Debts<F::Key>,
        next: &mut dyn FnMut(&mut Self, &mut Debts<F::Key>),
    ) {
        let mut assigned_here = BTreeSet::new();
        assigned(body, &mut assigned_here);
        self.values.retain(|(known, value)| {
            !assigned_here.contains(known) && !assigned_here.iter().any(|symbol| value.mentions(symbol))
        });
        for _ in 0..ROUNDS {
            let values = self.values.clone();
            let mut after = debts.clone();
            self.body(body, &mut after);
            next(self, &mut after);
            self.values.retain(|value| values.contains(value));
            let before = debts.clone();
            join(debts, after);
            if *debts == before {
                return;
            }
        }
    }
}

/// Adds a condition to the paths of debts that leave its branch.
fn leave<K>(debts: &mut Debts<K>, cond: &Cond, holds: bool, depth: usize) {
    for debt in debts {
        if !debt.under.iter().any(|(known, held)| known == cond && *held == holds) {
            debt.under.push((cond.clone(), holds));
        }
        debt.depth = debt.depth.min(depth);
    }
}

/// Joins the debts of two paths. A debt of both branches of a condition does not depend on it.
fn join<K: Clone + Ord>(debts: &mut Debts<K>, others: Debts<K>) {
    for mut other in others {
        loop {
            if debts.contains(&other) {
                break;
            }
            let Some(at) = debts.iter().position(|debt| opposite(debt, &other)) else {
                if debts.iter().filter(|debt| debt.key == other.key).count() < PATHS {
                    debts.push(other);
                }
                break;
            };
            other = debts.swap_remove(at);
            other.under.pop();
        }
    }
    debts.sort();
}

/// Reports whether two paths of one debt differ only in the branch of the last condition that they took.
fn opposite<K: PartialEq>(a: &Debt<K>, b: &Debt<K>) -> bool {
    let (Some((last, first)), Some((other, second))) = (a.under.split_last(), b.under.split_last()) else {
        return false;
    };
    a.key == b.key && a.stale == b.stale && first == second && last.0 == other.0 && last.1 != other.1
}

/// Decides a condition in which symbols have the values of `with`, as far as the facts go; a symbol for which `with` returns
/// `None` stays.
fn decide(cond: &Cond, facts: &Facts, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Cond {
    match cond {
        Cond::True | Cond::False => cond.clone(),
        Cond::Cmp(op, a, b) => Cond::cmp(*op, a.substitute(facts, with), b.substitute(facts, with), facts),
        Cond::And(all) => all.iter().map(|cond| decide(cond, facts, with)).fold(Cond::True, Cond::and),
        Cond::Or(any) => any.iter().map(|cond| decide(cond, facts, with)).fold(Cond::False, Cond::or),
    }
}

/// Collects the locals that statements assign.
fn assigned(body: &[Stmt], out: &mut BTreeSet<Symbol>) {
    for stmt in body {
        if let Stmt::Leaf(Leaf::Assign { var, .. } | Leaf::AssignNumber { var, .. }) = stmt {
            out.insert(var.clone());
        }
        stmt.bodies().for_each(|body| assigned(body, out));
    }
}
