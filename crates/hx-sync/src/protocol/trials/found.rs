//! The symbols, loop counts and conditions of a protocol, in terms of what a launch decides.

use std::collections::BTreeSet;

use hx_index::{Cond, Expr, Symbol};

use super::super::expansion::{Expansion, first_value};
use super::{Act, Launchable, Pattern, Protocol, Stmt};

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
        let expansion = Expansion::of(protocol, known, &|at| pattern.weight_of(at));
        let mut counts: Vec<Expr> = Vec::new();
        for count in seen.counts.iter().map(|count| expansion.expr(count, &|_| false)) {
            if count.as_const().is_none() && !counts.contains(&count) {
                counts.push(count);
            }
        }
        let mut conds: Vec<Cond> = Vec::new();
        for cond in &seen.conds {
            let cond = expansion.cond(cond, &|_| false);
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

struct Seen {
    pattern: Pattern,
    counts: Vec<Expr>,
    conds: Vec<Cond>,
    symbols: BTreeSet<Symbol>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { pattern: Pattern::Flat, counts: Vec::new(), conds: Vec::new(), symbols: BTreeSet::new() }
    }
}

impl Seen {
    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { start, end, .. } => {
                self.counts.push(end.clone() - start.clone());
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
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Number { changes, number, .. } => {
                let weight = |at: &[Expr]| self.pattern.weight_of(at);
                if let (false, Some(value)) = (changes, first_value(number, &weight)) {
                    self.expr(&value);
                }
            }
            Stmt::Value(value) => value.at.iter().for_each(|expr| self.expr(expr)),
            Stmt::Act(_, act) => self.act(act),
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Skip { count, .. } => self.expr(count),
            Act::Store { to: Some(far), .. } | Act::Far { far, .. } => {
                far.ranges.iter().for_each(|(start, _, extent)| {
                    self.expr(start);
                    self.expr(extent);
                });
            }
            Act::Fill { multicast: Some(cast), .. } => cast.source.iter().for_each(|expr| self.expr(expr)),
            _ => {}
        }
        act.places().into_iter().flat_map(|place| &place.ranges).for_each(|(start, _)| self.expr(start));
    }

    fn expr(&mut self, expr: &Expr) {
        self.symbols.extend(expr.symbols());
    }
}
