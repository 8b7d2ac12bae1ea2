//! The symbols, loop counts and conditions of a protocol, in terms of what a launch decides.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Symbol};

use super::super::program::Number;
use super::{Act, Launchable, Pattern, Protocol, REGISTERS, Stmt, level};
use hx_tile::Scalar;

/// The longest chain of locals and counters that depend on each other.
const DEEPEST: usize = 16;
/// The largest expression that is expanded further.
const LARGEST: usize = 400;

/// The symbols that decide the statements of a protocol.
pub(super) struct Found {
    /// The symbols that have to have a value.
    pub(super) symbols: BTreeSet<Symbol>,
    pub(super) counts: Vec<Expr>,
    pub(super) conds: Vec<Cond>,
}

impl Found {
    pub(super) fn of(protocol: &Protocol, known: &Launchable, pattern: Pattern) -> Found {
        let mut seen = Seen { pattern, ..Seen::default() };
        protocol.visit(&mut |stmt| seen.stmt(stmt));
        let derived = |symbol: &Symbol| known.derived.iter().any(|(derived, _)| derived == symbol);
        let mut symbols = seen.symbols.clone();
        // A derived symbol has no value of its own. The symbols of its expression decide its loop counts.
        for expr in known.derived.iter().map(|(_, expr)| expr).chain(&known.grid) {
            symbols.extend(expr.symbols());
        }
        symbols.extend(known.requires.iter().flat_map(Cond::symbols));
        let expand = |expr: &Expr| {
            let value = |symbol: &Symbol| match symbol {
                Symbol::Var(..) => Some(seen.first.get(symbol).cloned().unwrap_or_default()),
                symbol => known.derived.iter().find(|(derived, _)| derived == symbol).map(|(_, e)| e.clone()),
            };
            // A local depends on locals before it, and a counter can start at the value of another counter.
            let mut expr = expr.clone();
            for _ in 0..DEEPEST {
                if expr.is_larger_than(LARGEST) || !expr.symbols().iter().any(|s| value(s).is_some()) {
                    break;
                }
                expr = expr.substitute(&known.facts, &value);
            }
            expr
        };
        let mut counts: Vec<Expr> = Vec::new();
        for count in seen.counts.iter().map(expand) {
            if count.as_const().is_none() && !counts.contains(&count) {
                counts.push(count);
            }
        }
        let mut conds: Vec<Cond> = Vec::new();
        for cond in &seen.conds {
            let cond = expanded(cond, &expand);
            let is_open = !cond.symbols().is_empty();
            if is_open && !conds.contains(&cond) {
                conds.push(cond);
            }
        }
        symbols.extend(counts.iter().flat_map(Expr::symbols));
        symbols.extend(conds.iter().flat_map(Cond::symbols));
        symbols.retain(|symbol| !derived(symbol) && !matches!(symbol, Symbol::Var(..) | Symbol::Thread));
        Found { symbols, counts, conds }
    }
}

fn expanded(cond: &Cond, expand: &dyn Fn(&Expr) -> Expr) -> Cond {
    let all = |conds: &[Cond]| conds.iter().map(|cond| expanded(cond, expand)).collect();
    match cond {
        Cond::True | Cond::False => cond.clone(),
        Cond::Cmp(op, a, b) => Cond::Cmp(*op, expand(a), expand(b)),
        Cond::And(conds) => Cond::And(all(conds)),
        Cond::Or(conds) => Cond::Or(all(conds)),
    }
}

struct Seen {
    pattern: Pattern,
    counts: Vec<Expr>,
    conds: Vec<Cond>,
    symbols: BTreeSet<Symbol>,
    /// The first value of each counter and local.
    first: BTreeMap<Symbol, Expr>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            pattern: Pattern::Flat,
            counts: Vec::new(),
            conds: Vec::new(),
            symbols: BTreeSet::new(),
            first: BTreeMap::new(),
        }
    }
}

impl Seen {
    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { var, start, end, .. } => {
                self.counts.push(end.clone() - start.clone());
                self.first.insert(var.clone(), start.clone());
                self.expr(start);
                self.expr(end);
            }
            Stmt::While { cond, .. } => self.symbols.extend(cond.symbols()),
            Stmt::If { cond, .. } => {
                self.symbols.extend(cond.symbols());
                if stmt.counts() {
                    self.conds.push(cond.clone());
                }
            }
            Stmt::Let { var, value } => {
                self.first.insert(var.clone(), value.clone());
                self.expr(value);
            }
            Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Number { var, changes, number } => {
                let weight = |at: &[Expr]| self.pattern.weight_of(at);
                if let (false, Some(value)) = (changes, expansion(number, &weight)) {
                    self.expr(&value);
                    self.first.insert(var.clone(), value);
                }
            }
            Stmt::Value(value) => value.at.iter().for_each(|expr| self.expr(expr)),
            Stmt::Act(_, act) => self.act(act),
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Skip { count, .. } => self.expr(count),
            Act::Fill { multicast: Some(cast), .. } => cast.source.iter().for_each(|expr| self.expr(expr)),
            _ => {}
        }
        act.places().into_iter().flat_map(|place| &place.ranges).for_each(|(start, _)| self.expr(start));
    }

    fn expr(&mut self, expr: &Expr) {
        self.symbols.extend(expr.symbols());
    }
}

/// Returns an expression for a number in terms of the level of its source, as far as it has one.
fn expansion(number: &Number, weight: &dyn Fn(&[Expr]) -> Expr) -> Option<Expr> {
    match number {
        Number::Element { source, at, .. } => Some(&Expr::symbol(level(source)) * &weight(at)),
        Number::Register { .. } => Some(Expr::symbol(level(REGISTERS))),
        Number::Computed(Scalar::Integer { value, .. }) => Some(value.clone()),
        Number::Computed(_) => None,
    }
}
