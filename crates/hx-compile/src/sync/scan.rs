//! What a body does, read off its statements without following them.

use std::collections::BTreeSet;

use hx_index::{Atom, Cond, Expr, Symbol, gcd};
use hx_thread::{Address, Memory, Stmt};
use hx_tile::OpId;

/// Shows every statement of a body, and of the bodies in it.
pub(super) fn visit<'b>(body: &'b [Stmt], see: &mut impl FnMut(&'b Stmt)) {
    for stmt in body {
        see(stmt);
        match stmt {
            Stmt::Group(group) => visit(&group.body, see),
            Stmt::For { body, .. } | Stmt::While { body, .. } => visit(body, see),
            Stmt::If { then, otherwise, .. } => {
                visit(then, see);
                visit(otherwise, see);
            }
            _ => {}
        }
    }
}

/// The locals that a body changes.
pub(super) fn assigned(body: &[Stmt], out: &mut Vec<Symbol>) {
    visit(body, &mut |stmt| {
        if let Stmt::Assign { var, .. } = stmt {
            out.push(var.clone());
        }
    });
}

/// The most groups that a wait leaves in flight.
pub(super) fn deepest_wait(body: &[Stmt]) -> u32 {
    let mut deepest = 0;
    visit(body, &mut |stmt| {
        if let Stmt::Wait { groups } = stmt {
            deepest = deepest.max(*groups);
        }
    });
    deepest
}

/// Whether a body begins copies itself.
pub(super) fn copies(body: &[Stmt]) -> bool {
    let mut copies = false;
    visit(body, &mut |stmt| copies |= matches!(stmt, Stmt::AsyncCopy(_)));
    copies
}

/// Whether a body closes groups of copies.
pub(super) fn closes_groups(body: &[Stmt]) -> bool {
    let mut closes = false;
    visit(body, &mut |stmt| closes |= matches!(stmt, Stmt::Commit));
    closes
}

/// Whether a body begins copies and waits for nothing.
pub(super) fn begins_copies_only(body: &[Stmt]) -> bool {
    let (mut commits, mut waits) = (false, false);
    visit(body, &mut |stmt| match stmt {
        Stmt::Commit => commits = true,
        Stmt::Wait { .. } | Stmt::Barrier | Stmt::WarpBarrier => waits = true,
        _ => {}
    });
    commits && !waits
}

/// Whether a body does anything that belongs in a trace.
pub(super) fn touches_shared(body: &[Stmt]) -> bool {
    let shared = |address: &Address| matches!(address.memory, Memory::Shared(_));
    let mut touches = false;
    visit(body, &mut |stmt| {
        touches |= match stmt {
            Stmt::Transfer(transfer) => shared(&transfer.address),
            Stmt::LoadIndex { address, .. } => shared(address),
            Stmt::AsyncCopy(_) | Stmt::Barrier | Stmt::WarpBarrier | Stmt::Commit | Stmt::Wait { .. } => true,
            _ => false,
        };
    });
    touches
}

/// The one operation that closes groups of copies in one of the two ways of a condition, where the other way has none and
/// no loop or further condition stands in between.
pub(super) fn commit_of(then: &[Stmt], otherwise: &[Stmt]) -> Option<OpId> {
    let direct = |body: &[Stmt]| -> Vec<OpId> {
        let commits = body.iter().filter_map(|stmt| match stmt {
            Stmt::Group(group) if matches!(group.body.as_slice(), [Stmt::Commit]) => Some(group.op),
            _ => None,
        });
        commits.collect()
    };
    match (direct(then).as_slice(), direct(otherwise).as_slice()) {
        ([commit], []) | ([], [commit]) => Some(*commit),
        _ => None,
    }
}

/// How the rounds of a loop differ from each other.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    /// After so many they go on as they are, as far as constants of the program say.
    pub(super) settled: i64,
    /// Addresses and conditions repeat after so many.
    pub(super) period: i64,
}

/// What the conditions and the places in shared memory of a body say of what changes from round to round: the counter of its
/// loop, if it has one, and the locals that it assigns. Of places only those in one buffer count, if it is given.
pub(super) fn rounds(body: &[Stmt], counter: Option<&Symbol>, buffer: Option<u32>) -> Rounds {
    let mut changing: Vec<Symbol> = counter.cloned().into_iter().collect();
    assigned(body, &mut changing);
    let mut changes = Changes { counter, changing, rounds: Rounds { settled: 0, period: 1 } };
    let counts = |address: &Address| match address.memory {
        Memory::Shared(of) => buffer.is_none_or(|buffer| of == buffer),
        Memory::Global(_) => false,
    };
    visit(body, &mut |stmt| match stmt {
        Stmt::If { cond, .. } => changes.condition(cond),
        Stmt::Transfer(transfer) if counts(&transfer.address) => changes.expr(&transfer.address.offset),
        Stmt::AsyncCopy(copy) if counts(&copy.dst) => changes.expr(&copy.dst.offset),
        Stmt::Let { value, .. } | Stmt::Assign { value, .. } => changes.expr(value),
        _ => {}
    });
    changes.rounds
}

/// The shared buffers that a body moves something to or from.
pub(super) fn buffers(body: &[Stmt]) -> BTreeSet<u32> {
    let mut buffers = BTreeSet::new();
    visit(body, &mut |stmt| {
        let address = match stmt {
            Stmt::Transfer(transfer) => &transfer.address,
            Stmt::AsyncCopy(copy) => &copy.dst,
            Stmt::LoadIndex { address, .. } => address,
            _ => return,
        };
        if let Memory::Shared(buffer) = address.memory {
            buffers.insert(buffer);
        }
    });
    buffers
}

/// Whether a loop in a body may run longer in one launch than in another.
pub(super) fn nests(body: &[Stmt]) -> bool {
    let mut nests = false;
    visit(body, &mut |stmt| {
        nests |= match stmt {
            Stmt::For { start, end, body, .. } => {
                (end.clone() - start.clone()).as_const().is_none() && touches_shared(body)
            }
            Stmt::While { body, .. } => touches_shared(body),
            _ => false,
        };
    });
    nests
}

/// Whether a loop around such a loop stands in a body.
pub(super) fn nests_again(body: &[Stmt]) -> bool {
    let mut again = false;
    visit(body, &mut |stmt| {
        again |= matches!(stmt, Stmt::For { body, .. } | Stmt::While { body, .. } if nests(body));
    });
    again
}

/// The least number that both divide.
pub(super) fn common(a: i64, b: i64) -> i64 {
    (a / gcd(a, b)).saturating_mul(b)
}

/// What is being read off a body.
struct Changes<'a> {
    counter: Option<&'a Symbol>,
    changing: Vec<Symbol>,
    rounds: Rounds,
}

impl Changes<'_> {
    fn condition(&mut self, cond: &Cond) {
        match cond {
            Cond::True | Cond::False => {}
            Cond::Cmp(_, a, b) => {
                self.expr(a);
                self.expr(b);
                // Where both sides are equal, the condition turns.
                let difference = b.clone() - a.clone();
                let slope = difference.terms().find_map(|(monomial, slope)| match monomial.as_slice() {
                    [Atom::Symbol(symbol)] if self.counter == Some(symbol) => Some(slope),
                    _ => None,
                });
                if let Some(slope) = slope {
                    let turn = difference.constant_term() / slope;
                    self.rounds.settled = self.rounds.settled.max(turn.saturating_abs().saturating_add(2));
                }
            }
            Cond::And(conds) | Cond::Or(conds) => {
                conds.iter().for_each(|cond| self.condition(cond));
            }
        }
    }

    /// A remainder comes back to where it was; it is seen to do so.
    fn expr(&mut self, expr: &Expr) {
        for atom in expr.terms().flat_map(|(monomial, _)| monomial) {
            match atom {
                Atom::Mod(a, b) if self.changing.iter().any(|symbol| a.mentions(symbol)) => {
                    let period = b.as_const().unwrap_or(1).max(1);
                    self.rounds.period = common(self.rounds.period, period);
                    self.rounds.settled = self.rounds.settled.max(period.saturating_add(2));
                }
                Atom::Mod(..) | Atom::Symbol(_) => {}
                Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) | Atom::Xor(a, b) => {
                    self.expr(a);
                    self.expr(b);
                }
                Atom::And(a, _) | Atom::Wrap(a, _) => self.expr(a),
            }
        }
    }
}
