//! The cases of the expressions that decide a protocol: which operand is the value of a minimum or a maximum, and which comparison
//! decides a condition of several.
//!
//! `min(n, 100)` is `n` in all launches with few rounds, and such launches say nothing about the others. So each case needs a launch
//! that shows it. No launch is needed for the cases of an expression whose symbols decide nothing else: if all loops have the bound
//! `min(n, 100)`, that bound is as good as a symbol of its own, whatever it is made of.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};
use hx_tile::OpId;

use super::expansion::Expansion;
use super::{Act, Launchable, Protocol, Stmt, periods};

/// Conditions that hold together where a launch shows a part of a protocol.
#[derive(Clone, Debug, Default)]
pub(super) struct Goal {
    /// The conditions of the part itself, in terms of symbols of a launch and of `counters`.
    pub(super) conds: Vec<Cond>,
    /// The conditions of the loops and branches around it.
    pub(super) around: Vec<Cond>,
    /// The counters of the loops around the part, and the numbers of groups.
    pub(super) counters: Vec<Symbol>,
    /// The constants that the part compares with: a local that counts may reach them in as many rounds.
    pub(super) constants: BTreeSet<i64>,
    /// The statement of a case, by its address, and the position of the case there; `None` for other goals.
    pub(super) case: Option<(usize, usize)>,
}

/// A case that some launch has to show.
#[derive(Debug)]
pub(super) struct Case {
    /// The position of its statement among the statements, in the order of the text.
    pub(super) number: usize,
    pub(super) op: Option<OpId>,
    /// The condition under which the case is there, in terms of the locals of its statement.
    cond: Cond,
    /// The comparison that distinguishes the case, and the expression of which it is a case.
    pub(super) cond_text: String,
    pub(super) of: String,
    pub(super) goal: Goal,
    /// Whether a launch showed the case, or no launch can.
    is_closed: bool,
    /// Whether the goal says exactly when the case is there: no local changes its value.
    is_exact: bool,
}

/// The cases of a protocol, and the ways to its conditions.
#[derive(Debug, Default)]
pub(super) struct Cases {
    /// By the address of the statement.
    pub(super) cases: BTreeMap<usize, Vec<Case>>,
    /// The goals that reach the conditions, by the address of the statement: without the condition itself.
    ways: BTreeMap<usize, (Cond, Goal)>,
}

/// The values of the locals and symbols at a statement of a launch.
pub(super) type Values<'a> = &'a dyn Fn(&Symbol) -> Option<i64>;

impl Cases {
    pub(super) fn of(protocol: &Protocol, known: &Launchable) -> Cases {
        let counters = counters(protocol);
        let mut collector = Collector {
            expansion: Expansion::of(protocol, known, &|_| Expr::constant(1)),
            relevant: relevant(protocol),
            deciding: Vec::new(),
            counters,
            changing: changing(protocol),
            way: Goal::default(),
            is_exact: true,
            number: 0,
            cases: Cases::default(),
        };
        collector.deciding = collector.deciding(protocol);
        collector.body(&protocol.body);
        for role in &protocol.roles {
            let around = collector.way.clone();
            if let Some(index) = &role.index {
                collector.count(index, &Expr::constant(0), &Expr::constant(i64::from(role.groups)));
            }
            collector.body(&role.body);
            collector.way = around;
        }
        collector.cases
    }

    /// Notes that a launch shows a case.
    pub(super) fn close(&mut self, (address, at): (usize, usize)) {
        let case = self.cases.get_mut(&address).and_then(|cases| cases.get_mut(at));
        case.into_iter().for_each(|case| case.is_closed = true);
    }

    /// Returns the positions of the cases of a statement that no launch showed before and this one does.
    pub(super) fn lacking(&self, address: usize, values: Values<'_>) -> Vec<usize> {
        let cases = self.cases.get(&address).into_iter().flatten().enumerate();
        let lacks = |case: &Case| !case.is_closed && case.cond.eval(values) == Ok(true);
        cases.filter(|(_, case)| lacks(case)).map(|(at, _)| at).collect()
    }

    /// Returns the cases that no launch showed.
    pub(super) fn open(&self) -> impl Iterator<Item = &Case> {
        self.cases.values().flatten().filter(|case| !case.is_closed)
    }

    /// Notes that no launch, however long, was found for the goal of a case.
    pub(super) fn give_up(&mut self, (address, at): (usize, usize)) {
        let case = self.cases.get_mut(&address).and_then(|cases| cases.get_mut(at));
        case.into_iter().for_each(|case| case.is_closed |= case.is_exact);
    }

    /// Returns the goal of a launch in which the condition of a statement has a truth; `None` if the statement has no condition.
    pub(super) fn truth(&self, address: usize, holds: bool) -> Option<Goal> {
        let (cond, way) = self.ways.get(&address)?;
        let cond = if holds { cond.clone() } else { cond.clone().negate() };
        Some(Goal { conds: vec![cond], ..way.clone() })
    }
}

/// Returns the counters of the loops of a protocol, and the numbers of its groups.
fn counters(protocol: &Protocol) -> BTreeSet<Symbol> {
    let mut counters: BTreeSet<Symbol> =
        protocol.roles.iter().filter_map(|role| role.index.clone()).collect();
    protocol.visit(&mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            counters.insert(var.clone());
        }
    });
    counters
}

/// Returns the locals on which loops, conditions, positions in rings and places in shared memory depend.
fn relevant(protocol: &Protocol) -> BTreeSet<Symbol> {
    let mut relevant: BTreeSet<Symbol> = BTreeSet::new();
    loop {
        let before = relevant.len();
        protocol.visit(&mut |stmt| {
            let used: Vec<Symbol> = exprs(stmt, &relevant).into_iter().flat_map(Expr::symbols).collect();
            relevant.extend(used);
        });
        if relevant.len() == before {
            return relevant;
        }
    }
}

/// Returns the locals that change, and the locals and counters that depend on them.
fn changing(protocol: &Protocol) -> BTreeSet<Symbol> {
    let mut changing: BTreeSet<Symbol> = BTreeSet::new();
    loop {
        let before = changing.len();
        protocol.visit(&mut |stmt| {
            let depends = |expr: &Expr| !expr.symbols().is_disjoint(&changing);
            let var = match stmt {
                Stmt::Assign { var, .. } | Stmt::Number { var, changes: true, .. } => var,
                Stmt::Let { var, value } if depends(value) => var,
                Stmt::For { var, start, end, .. } if depends(start) || depends(end) => var,
                Stmt::Let { .. } | Stmt::For { .. } | Stmt::Number { .. } => return,
                Stmt::Act(..) | Stmt::While { .. } | Stmt::If { .. } | Stmt::Value(_) => return,
            };
            changing.insert(var.clone());
        });
        if changing.len() == before {
            return changing;
        }
    }
}

/// Returns the expressions with which a statement decides what a launch does: itself, or through locals that are relevant.
fn exprs<'a>(stmt: &'a Stmt, relevant: &BTreeSet<Symbol>) -> Vec<&'a Expr> {
    match stmt {
        Stmt::For { start, end, .. } if is_decisive(stmt, relevant) => vec![start, end],
        Stmt::While { cond, .. } | Stmt::If { cond, .. } if is_decisive(stmt, relevant) => compared(cond),
        Stmt::Let { var, value } | Stmt::Assign { var, value } if relevant.contains(var) => vec![value],
        Stmt::Act(_, act) => {
            let skipped = if let Act::Skip { count, .. } = act { Some(count) } else { None };
            let starts =
                act.places().into_iter().flat_map(|place| place.ranges.iter().map(|(start, _)| start));
            skipped.into_iter().chain(starts).collect()
        }
        Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } => Vec::new(),
        Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Number { .. } | Stmt::Value(_) => Vec::new(),
    }
}

/// Reports whether a loop or condition contains what others wait for, uses shared memory, or changes a local that is relevant.
fn is_decisive(stmt: &Stmt, relevant: &BTreeSet<Symbol>) -> bool {
    stmt.counts() || uses_memory(stmt) || changes(stmt, relevant)
}

fn uses_memory(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Act(_, act) => !act.places().is_empty(),
        control => control.bodies().flatten().any(uses_memory),
    }
}

fn changes(stmt: &Stmt, relevant: &BTreeSet<Symbol>) -> bool {
    match stmt {
        Stmt::Assign { var, .. } | Stmt::Number { var, changes: true, .. } => relevant.contains(var),
        control => control.bodies().flatten().any(|stmt| changes(stmt, relevant)),
    }
}

/// Returns the expressions that a condition compares.
fn compared(cond: &Cond) -> Vec<&Expr> {
    match cond {
        Cond::True | Cond::False => Vec::new(),
        Cond::Cmp(_, a, b) => vec![a, b],
        Cond::And(all) | Cond::Or(all) => all.iter().flat_map(compared).collect(),
    }
}

fn constants_of(cond: &Cond) -> BTreeSet<i64> {
    let mut constants = BTreeSet::new();
    periods::constants(cond, &mut constants);
    constants
}

struct Collector<'a> {
    expansion: Expansion<'a>,
    relevant: BTreeSet<Symbol>,
    /// All expressions that decide statements, in terms of symbols of a launch and counters.
    deciding: Vec<Expr>,
    counters: BTreeSet<Symbol>,
    /// The locals that change, and those that depend on them.
    changing: BTreeSet<Symbol>,
    /// The loops and branches around the statement.
    way: Goal,
    /// Whether none of them depends on a local that changes.
    is_exact: bool,
    number: usize,
    cases: Cases,
}

impl Collector<'_> {
    fn expand(&self, expr: &Expr) -> Expr {
        self.expansion.expr(expr, &|symbol| self.counters.contains(symbol))
    }

    fn expand_cond(&self, cond: &Cond) -> Cond {
        self.expansion.cond(cond, &|symbol| self.counters.contains(symbol))
    }

    fn deciding(&self, protocol: &Protocol) -> Vec<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        protocol.visit(&mut |stmt| {
            // A definition is expanded where it is used.
            if matches!(stmt, Stmt::Let { .. }) {
                return;
            }
            for expr in exprs(stmt, &self.relevant) {
                let expr = self.expand(expr);
                if !all.contains(&expr) {
                    all.push(expr);
                }
            }
        });
        all
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.number += 1;
        self.add(stmt);
        let (around, is_exact) = (self.way.clone(), self.is_exact);
        match stmt {
            Stmt::For { var, start, end, body } => {
                self.count(var, start, end);
                self.is_exact &= !self.changing.contains(var);
                self.body(body);
            }
            Stmt::If { cond, then, otherwise } => {
                self.is_exact &= cond.symbols().is_disjoint(&self.changing);
                let way = Goal { constants: constants_of(cond), ..around.clone() };
                let cond = self.expand_cond(cond);
                self.cases.ways.insert(super::address(stmt), (cond.clone(), way));
                self.way.around.push(cond.clone());
                self.body(then);
                self.way = around.clone();
                self.way.around.push(cond.negate());
                self.body(otherwise);
            }
            Stmt::While { body, .. } => self.body(body),
            Stmt::Act(..) | Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Number { .. } | Stmt::Value(_) => {
            }
        }
        (self.way, self.is_exact) = (around, is_exact);
    }

    /// Notes that the statements that follow are in a loop over a counter.
    fn count(&mut self, var: &Symbol, start: &Expr, end: &Expr) {
        let value = Expr::symbol(var.clone());
        self.way.around.push(Cond::Cmp(CmpOp::Le, self.expand(start), value.clone()));
        self.way.around.push(Cond::Cmp(CmpOp::Lt, value, self.expand(end)));
        self.way.counters.push(var.clone());
    }

    /// Adds the cases of a statement.
    fn add(&mut self, stmt: &Stmt) {
        let mut atoms: Vec<&Atom> = Vec::new();
        exprs(stmt, &self.relevant).into_iter().for_each(|expr| choices(expr, &mut atoms));
        let mut found: Vec<(Cond, String, String)> = Vec::new();
        for atom in atoms {
            let (Atom::Min(a, b) | Atom::Max(a, b)) = atom else { continue };
            if self.matters(atom) {
                for (less, other) in [(a, b), (b, a)] {
                    let cond = Cond::Cmp(CmpOp::Lt, less.clone(), other.clone());
                    found.push((cond, format!("{less} < {other}"), Expr::atom(atom.clone()).to_string()));
                }
            }
        }
        if let Stmt::While { cond, .. } | Stmt::If { cond, .. } = stmt
            && is_decisive(stmt, &self.relevant)
        {
            // The truth of a condition around operations is a site of its own.
            if !stmt.counts() {
                for cond in [cond.clone(), cond.clone().negate()] {
                    let text = cond.to_string();
                    found.push((cond, text.clone(), text));
                }
            }
            let mut decisive = Vec::new();
            decide(cond, &[], &mut decisive);
            found.extend(decisive.into_iter().map(|(all, part)| (all, part.to_string(), cond.to_string())));
        }
        let (number, op, address) = (self.number, stmt.first_op(), super::address(stmt));
        let new = |(at, (cond, cond_text, of)): (usize, (Cond, String, String))| {
            let is_exact = self.is_exact && cond.symbols().is_disjoint(&self.changing);
            let (conds, case) = (vec![self.expand_cond(&cond)], Some((address, at)));
            let goal = Goal { conds, case, constants: constants_of(&cond), ..self.way.clone() };
            Case { number, op, cond, cond_text, of, goal, is_closed: false, is_exact }
        };
        let new: Vec<Case> = found.into_iter().enumerate().map(new).collect();
        if !new.is_empty() {
            self.cases.cases.insert(address, new);
        }
    }

    /// Reports whether launches with the same value of a minimum or maximum may differ by its case: something else depends on its
    /// symbols, too.
    fn matters(&self, atom: &Atom) -> bool {
        let whole = self.expand(&Expr::atom(atom.clone()));
        let symbols = whole.symbols();
        let Some(atom) = whole.as_atom() else { return true };
        if symbols.iter().any(|symbol| self.counters.contains(symbol)) {
            return true;
        }
        let mut others = BTreeSet::new();
        self.deciding.iter().for_each(|expr| symbols_outside(expr, atom, &mut others));
        !symbols.is_disjoint(&others)
    }
}

/// Collects the minima and maxima in an expression, inner ones too.
fn choices<'a>(expr: &'a Expr, out: &mut Vec<&'a Atom>) {
    for atom in expr.terms().flat_map(|(factors, _)| factors) {
        if matches!(atom, Atom::Min(..) | Atom::Max(..)) && !out.contains(&atom) {
            out.push(atom);
        }
        operands(atom).into_iter().for_each(|operand| choices(operand, out));
    }
}

/// Collects the symbols that occur in an expression outside of an atom.
fn symbols_outside(expr: &Expr, atom: &Atom, out: &mut BTreeSet<Symbol>) {
    for part in expr.terms().flat_map(|(factors, _)| factors).filter(|part| *part != atom) {
        if let Atom::Symbol(symbol) = part {
            out.insert(symbol.clone());
        }
        operands(part).into_iter().for_each(|operand| symbols_outside(operand, atom, out));
    }
}

fn operands(atom: &Atom) -> Vec<&Expr> {
    match atom {
        Atom::Symbol(_) => Vec::new(),
        Atom::Div(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) | Atom::Xor(a, b) => vec![a, b],
        Atom::And(a, _) | Atom::Wrap(a, _) => vec![a],
    }
}

/// Collects, for each part of a condition of several parts, the condition under which this part alone decides the whole: all parts of
/// `a && b` hold but this one, none of `a || b` holds but this one. `around` are the conditions under which the whole counts.
fn decide<'a>(cond: &'a Cond, around: &[Cond], out: &mut Vec<(Cond, &'a Cond)>) {
    let (Cond::And(parts) | Cond::Or(parts)) = cond else { return };
    let all = matches!(cond, Cond::And(_));
    for (at, part) in parts.iter().enumerate() {
        let others =
            parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other.clone());
        let others = others.map(|other| if all { other } else { other.negate() });
        let context: Vec<Cond> = around.iter().cloned().chain(others).collect();
        let decides = if all { part.clone().negate() } else { part.clone() };
        out.push((context.iter().cloned().chain([decides]).fold(Cond::True, Cond::and), part));
        decide(part, &context, out);
    }
}
