//! Loops over counters: how often they run, and the numbers that they see.
//!
//! The other blocks decide how many numbers a block draws, so the number of rounds is a symbol of its own, and every launch
//! chooses it freely. It is the same in all loops of a block over the counter. The numbers ascend: a launch follows the first
//! numbers of the counter, and the last ones if a condition or a loop depends on them. The blocks of a cluster draw different
//! numbers, and one of them may draw fewer.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{CmpOp, Cond, Expr, Symbol};

use super::{Act, Protocol, Stmt};

/// A counter of a protocol, in symbols of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    name: String,
    /// The number of values that the counter hands out in a launch.
    limit: Expr,
    /// The number of blocks of a cluster.
    blocks: i64,
    /// The number of rounds of the loop over the counter in a block.
    rounds: Symbol,
    /// The first number that a block of the cluster draws.
    first: Symbol,
    /// The distance from that number to the first one of this block.
    rank: Symbol,
}

impl Drawn {
    /// Makes a counter that hands out the numbers below `limit` to clusters of `blocks` blocks. The symbols' names contain `name`.
    pub fn new(name: &str, limit: Expr, blocks: i64) -> Drawn {
        // No dimension of a kernel has a name with spaces, so no other symbol is equal to one of these.
        let symbol = |what: &str| Symbol::Dim(format!("{what} of {name}").into());
        let (rounds, first, rank) = (symbol("rounds"), symbol("first number"), symbol("rank"));
        Drawn { name: name.to_owned(), limit, blocks, rounds, first, rank }
    }

    /// Returns a loop over the numbers that the block draws; `var` is the number in each round.
    pub fn repeat(&self, var: &Symbol, body: Vec<Stmt>) -> Stmt {
        let symbol = |symbol: &Symbol| Expr::symbol(symbol.clone());
        let number = if let Symbol::Var(_, number) = var { *number } else { 0 };
        let round = Symbol::Var(format!("round of {}", self.name).into(), number);
        let value = symbol(&self.first) + symbol(&self.rank) + symbol(&round).scale(self.blocks);
        let body = [Stmt::Let { var: var.clone(), value }].into_iter().chain(body).collect();
        Stmt::For { var: round, start: Expr::constant(0), end: symbol(&self.rounds), body }
    }

    /// Returns the condition that the counter has a number for every draw of a launch.
    pub(crate) fn requirement(&self) -> Cond {
        Cond::Cmp(CmpOp::Le, Expr::symbol(self.rounds.clone()).scale(self.blocks), self.limit.clone())
    }

    /// Returns the symbols that no search changes, with their values.
    pub(crate) fn given(&self) -> [(Symbol, i64); 2] {
        [(self.first.clone(), 0), (self.rank.clone(), 0)]
    }

    /// Sets the value of the symbols in the block with this rank. `fewer`: the last block of the cluster draws one number less.
    pub(crate) fn place(&self, rank: i64, fewer: bool, values: &mut BTreeMap<Symbol, i64>) {
        values.insert(self.rank.clone(), rank);
        if fewer && rank + 1 == self.blocks {
            values.entry(self.rounds.clone()).and_modify(|rounds| *rounds = (*rounds - 1).max(0));
        }
    }

    /// Sets the first number so that the last number of the launch is the last one of the counter. Returns false if it is already.
    pub(crate) fn last_numbers(&self, values: &mut BTreeMap<Symbol, i64>) -> bool {
        let limit = self.limit.eval(&|symbol| values.get(symbol).copied()).unwrap_or(0);
        let rounds = values.get(&self.rounds).copied().unwrap_or(0);
        let first = (limit - rounds * self.blocks).max(0);
        values.insert(self.first.clone(), first) != Some(first)
    }

    /// Reports whether a condition, a number of rounds or a number of stages depends on the numbers.
    pub(crate) fn decides(&self, protocol: &Protocol) -> bool {
        let mut known = BTreeSet::from([self.first.clone()]);
        let mut decides = false;
        protocol.visit(&mut |stmt| {
            let uses = |expr: &Expr| known.iter().any(|symbol| expr.mentions(symbol));
            match stmt {
                Stmt::Let { var, value } | Stmt::Assign { var, value } => {
                    if uses(value) {
                        known.insert(var.clone());
                    }
                }
                Stmt::For { start, end, .. } => decides |= uses(start) || uses(end),
                Stmt::Number { var, number, .. } => {
                    if number.exprs().iter().any(&uses) {
                        known.insert(var.clone());
                    }
                }
                Stmt::Value(_) => {}
                Stmt::If { cond, .. } | Stmt::While { cond, .. } => {
                    decides |= cond.symbols().iter().any(|symbol| known.contains(symbol))
                }
                Stmt::Act(_, Act::Skip { count, .. }) => decides |= uses(count),
                Stmt::Act(..) => {}
            }
        });
        decides
    }
}
