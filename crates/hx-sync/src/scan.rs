//! Reads properties of a body off its statements, without following them.

use std::collections::BTreeSet;

use hx_index::{Atom, Cond, Expr, Symbol, gcd};
use hx_thread::{Address, Barrier, Control, Drawn, Leaf, Memory, Stmt, Touch, visit, visit_leaves};
use hx_tile::{OpId, Order};

/// Collects the locals that the body changes by assignments of integers.
pub(crate) fn assigned(body: &[Stmt], out: &mut Vec<Symbol>) {
    visit_leaves(body, &mut |leaf| {
        if let Leaf::Assign { var, .. } = leaf {
            out.push(var.clone());
        }
    });
}

/// Returns the largest number of groups that a wait in the body leaves in flight.
pub(crate) fn deepest_wait(body: &[Stmt]) -> u32 {
    let mut deepest = 0;
    visit_leaves(body, &mut |leaf| {
        if let Leaf::Wait { groups } = leaf {
            deepest = deepest.max(*groups);
        }
    });
    deepest
}

/// Reports whether the body begins asynchronous copies.
pub(crate) fn copies(body: &[Stmt]) -> bool {
    let mut copies = false;
    visit_leaves(body, &mut |leaf| copies |= matches!(leaf, Leaf::AsyncCopy(_)));
    copies
}

/// Returns the symbols that a launch decides and that addresses or local integers of the body mention.
pub(crate) fn launch_symbols(body: &[Stmt]) -> BTreeSet<Symbol> {
    let mut symbols = BTreeSet::new();
    visit_leaves(body, &mut |leaf| {
        let described = leaf.description();
        symbols.extend(described.touches.iter().flat_map(|touch| touch.address.offset.symbols()));
        symbols.extend(described.local.and_then(|local| local.value).into_iter().flat_map(Expr::symbols));
    });
    symbols.retain(|symbol| !matches!(symbol, Symbol::Var(..) | Symbol::Thread));
    symbols
}

/// Returns the number of stages of each ring whose barriers the body waits for.
pub(crate) fn rings(body: &[Stmt], barriers: &[Barrier]) -> BTreeSet<i64> {
    let mut rings = BTreeSet::new();
    visit_leaves(body, &mut |leaf| {
        if let Leaf::Await { barrier, .. } = leaf {
            rings.extend(barriers.get(*barrier as usize).map(|barrier| i64::from(barrier.stages)));
        }
    });
    rings
}

/// Returns the barrier whose arrivals threads that run `body` learn of when they wait for `barrier`. If another role arrives on it,
/// that role waited for the pipeline's other barrier before, on which these threads arrived for the same stage.
pub(crate) fn told_by(body: &[Stmt], barriers: &[Barrier], barrier: u32) -> u32 {
    let mut arrives = false;
    visit_leaves(body, &mut |leaf| {
        arrives |= matches!(leaf, Leaf::Arrive { barrier: own, .. } if *own == barrier);
    });
    let Some(own) = barriers.get(barrier as usize).filter(|_| !arrives) else { return barrier };
    let other = barriers.iter().position(|other| other.pipe == own.pipe && other.kind != own.kind);
    other.map_or(barrier, |other| other as u32)
}

/// Reports whether the body closes groups of copies.
pub(crate) fn closes_groups(body: &[Stmt]) -> bool {
    let mut closes = false;
    visit_leaves(body, &mut |leaf| closes |= matches!(leaf, Leaf::Commit));
    closes
}

/// Reports whether the body closes groups of copies and neither waits nor has a barrier.
pub(crate) fn begins_copies_only(body: &[Stmt]) -> bool {
    let (mut commits, mut waits) = (false, false);
    visit_leaves(body, &mut |leaf| match leaf.description().order {
        Order::Close => commits = true,
        Order::Wait(_) | Order::Scope | Order::Warp | Order::Await | Order::WaitStores { .. } => waits = true,
        Order::WaitProducts(_) | Order::Arrive | Order::Nothing => {}
    });
    commits && !waits
}

/// Reports whether a statement of the body belongs in a trace: it accesses shared memory or synchronizes.
pub(crate) fn touches_shared(body: &[Stmt]) -> bool {
    let shared = |touch: &Touch<'_>| matches!(touch.address.memory, Memory::Shared(_));
    let mut touches = false;
    visit_leaves(body, &mut |leaf| {
        let described = leaf.description();
        touches |= described.order != Order::Nothing || described.touches.iter().any(shared);
    });
    touches
}

/// Returns the only operation that commits in one branch of a condition, if the other branch has none; otherwise `None`.
/// Commits in nested loops and conditions do not count.
pub(crate) fn commit_of(then: &[Stmt], otherwise: &[Stmt]) -> Option<OpId> {
    let direct = |body: &[Stmt]| -> Vec<OpId> {
        let commits = body.iter().filter_map(|stmt| {
            let Stmt::Control(Control::Group(group)) = stmt else { return None };
            matches!(group.body.as_slice(), [Stmt::Leaf(Leaf::Commit)]).then_some(group.op)
        });
        commits.collect()
    };
    match (direct(then).as_slice(), direct(otherwise).as_slice()) {
        ([commit], []) | ([], [commit]) => Some(*commit),
        _ => None,
    }
}

/// The number of rounds of a loop after which its rounds repeat.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// The number of rounds after which no constant of the program distinguishes a round from the next.
    pub(crate) settled: i64,
    /// The number of rounds after which addresses and conditions repeat.
    pub(crate) period: i64,
}

/// Derives [`Rounds`] from the conditions, the integer locals and the addresses in shared memory of a body. These change
/// from round to round with `counter`, if the loop has one, and with the locals that the body assigns. If `buffer` is given,
/// only addresses in that buffer count.
pub(crate) fn rounds(body: &[Stmt], counter: Option<&Symbol>, buffer: Option<u32>) -> Rounds {
    let mut changing: Vec<Symbol> = counter.cloned().into_iter().collect();
    assigned(body, &mut changing);
    let mut changes = Changes { counter, changing, rounds: Rounds { settled: 0, period: 1 } };
    let counts = |address: &Address| match address.memory {
        Memory::Shared(of) => buffer.is_none_or(|buffer| of == buffer),
        Memory::Global(_) => false,
    };
    visit(body, &mut |stmt| match stmt {
        Stmt::Control(Control::If { cond, .. }) => changes.condition(cond),
        Stmt::Control(_) => {}
        Stmt::Leaf(leaf) => {
            let described = leaf.description();
            if let Some(value) = described.local.and_then(|local| local.value) {
                changes.expr(value);
            }
            for touch in described.touches.iter().filter(|touch| counts(touch.address)) {
                changes.expr(&touch.address.offset);
            }
        }
    });
    changes.rounds
}

/// Returns the shared buffers that the body accesses.
pub(crate) fn buffers(body: &[Stmt]) -> BTreeSet<u32> {
    let mut buffers = BTreeSet::new();
    visit_leaves(body, &mut |leaf| {
        buffers.extend(leaf.description().touches.iter().filter_map(|touch| match touch.address.memory {
            Memory::Shared(buffer) => Some(buffer),
            Memory::Global(_) => None,
        }));
    });
    buffers
}

/// Reports whether the body contains a loop that accesses shared memory and whose trip count may differ between launches.
pub(crate) fn nests(body: &[Stmt]) -> bool {
    let mut nests = false;
    visit(body, &mut |stmt| {
        if let Stmt::Control(Control::For { start, end, body, .. }) = stmt {
            nests |= (end.clone() - start.clone()).as_const().is_none() && touches_shared(body);
        } else if let Stmt::Control(Control::While { body, .. }) = stmt {
            nests |= touches_shared(body);
        } else if let Stmt::Control(Control::Drawn(drawn)) = stmt {
            nests |= touches_shared(&drawn.body);
        }
    });
    nests
}

/// Reports whether the body contains a loop around a loop that [`nests`] looks for.
pub(crate) fn nests_again(body: &[Stmt]) -> bool {
    let mut again = false;
    visit(body, &mut |stmt| {
        again |= matches!(
            stmt,
            Stmt::Control(Control::For { body, .. } | Control::While { body, .. } | Control::Drawn(Drawn { body, .. })) if nests(body)
        );
    });
    again
}

/// Returns the least common multiple; saturates.
pub(crate) fn common(a: i64, b: i64) -> i64 {
    (a / gcd(a, b)).saturating_mul(b)
}

/// The state of [`rounds`].
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
                // The condition turns in the round in which both sides are equal.
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

    /// Updates the period for every remainder of a changing number. `settled` covers a whole period, so that the repetition
    /// is seen.
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
