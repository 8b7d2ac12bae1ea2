//! The stages of pipelines: which copies filled the stage that a wait returned.
//!
//! The stages of a pipeline arrive in the order in which they were acquired. The acquires of a pipeline and its waits are two
//! sequences of places and loops. [`Side`] matches them from the start: an acquire with a wait, and each round of a loop of
//! acquires with a round of a loop of waits.

use std::collections::BTreeMap;

use hx_index::{Expr, Symbol};
use hx_tile::{Control, Leaf, Op, OpId, OpKind, PipeId, Rounds, ScopeId, Stmt, SyncOp, TileProgram};

use super::region::Ground;

/// The most steps in which two sequences are matched.
const MOST: usize = 16;

/// The acquires or the waits of a pipeline in one scope, in program order.
#[derive(Clone, Debug)]
enum Node {
    Place(OpId),
    Loop {
        counter: Symbol,
        start: Expr,
        count: Expr,
        body: Vec<Node>,
    },
    /// Places that are not executed in every case, or not a known number of times.
    Other,
}

/// An acquire whose stage a wait returns.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) acquire: OpId,
    /// The counters around the acquire in terms of those around the wait.
    pub(crate) counters: Vec<(Symbol, Expr)>,
    /// Expressions that are all at least 0 in those rounds of the wait whose stage this acquire filled.
    pub(crate) rounds: Vec<Expr>,
}

/// For each wait, the acquires that may have filled its stage.
#[derive(Default, Debug)]
pub(crate) struct Rings(BTreeMap<OpId, Vec<Filled>>);

impl Rings {
    /// Matches acquires and waits for every pipeline that a single scope fills.
    pub(crate) fn of(program: &TileProgram, ground: &Ground) -> Rings {
        let (mut pipes, mut skipped) = (BTreeMap::new(), Vec::new());
        scopes_of(&program.body, &mut pipes, &mut skipped);
        let mut rings = Rings::default();
        for ((pipe, scope), kinds) in &pipes {
            // If several scopes fill a ring, each fills a part of the stages: skip it.
            let mut fill = pipes.iter().filter(|((of, _), [acquires, _])| of == pipe && *acquires);
            let (Some(((_, from), _)), None) = (fill.next(), fill.next()) else { continue };
            if !kinds[1] || skipped.contains(pipe) {
                continue;
            }
            let acquires = nodes(&program.body, (*pipe, *from), true, ground);
            let waits = nodes(&program.body, (*pipe, *scope), false, ground);
            let mut side = Side { ground, found: Vec::new() };
            if side.by_side(&acquires, &waits, &[]).is_some() {
                for (wait, filled) in side.found {
                    rings.0.entry(wait).or_default().push(filled);
                }
            }
        }
        rings
    }

    /// Returns the acquires that may have filled the stage that a wait returns; `None` if they are not known.
    pub(crate) fn filled(&self, wait: OpId) -> Option<&[Filled]> {
        self.0.get(&wait).map(Vec::as_slice)
    }
}

/// Collects, for each pipeline and scope, whether the scope acquires stages and whether it waits for them, and the pipelines of
/// which stages are skipped.
fn scopes_of(stmts: &[Stmt], pipes: &mut BTreeMap<(PipeId, ScopeId), [bool; 2]>, skipped: &mut Vec<PipeId>) {
    for op in stmts.iter().flat_map(Stmt::ops) {
        let OpKind::Sync(sync) = &op.kind else { continue };
        if let SyncOp::Acquire { pipe, .. } = sync {
            pipes.entry((*pipe, op.scope)).or_default()[0] = true;
        } else if let SyncOp::WaitStage { pipe, .. } = sync {
            pipes.entry((*pipe, op.scope)).or_default()[1] = true;
        } else if let SyncOp::Skip { pipe, .. } = sync {
            skipped.push(*pipe);
        }
    }
}

/// Returns the acquires or the waits of a pipeline in a scope.
fn nodes(stmts: &[Stmt], of: (PipeId, ScopeId), acquires: bool, ground: &Ground) -> Vec<Node> {
    let mut found = Vec::new();
    for stmt in stmts {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) if is_place(op, of, acquires) => found.push(Node::Place(op.id)),
            Stmt::Control(Control::For { var, rounds, body }) => {
                let body = nodes(body, of, acquires, ground);
                if body.is_empty() {
                    continue;
                }
                found.push(match rounds {
                    Rounds::Range { start, end, .. } => {
                        let (start, end) = (ground.plain(start), ground.plain(end));
                        let count = (end - start.clone()).simplify(&ground.facts);
                        Node::Loop { counter: var.clone(), start, count, body }
                    }
                    // All scopes see the same numbers.
                    Rounds::Drawn { .. } => {
                        let (start, count) = (Expr::default(), Expr::constant(-1));
                        Node::Loop { counter: var.clone(), start, count, body }
                    }
                });
            }
            Stmt::Control(Control::Roles(roles)) => {
                roles.iter().for_each(|role| found.extend(nodes(&role.body, of, acquires, ground)));
            }
            Stmt::Control(Control::If { .. } | Control::While { .. }) => {
                let inside = stmt.bodies().any(|body| !nodes(body, of, acquires, ground).is_empty());
                found.extend(inside.then_some(Node::Other));
            }
            Stmt::Leaf(_) => {}
        }
    }
    found
}

fn is_place(op: &Op, (of, scope): (PipeId, ScopeId), acquires: bool) -> bool {
    let OpKind::Sync(sync) = &op.kind else { return false };
    let pipe = if let SyncOp::Acquire { pipe, .. } = sync
        && acquires
    {
        *pipe
    } else if let SyncOp::WaitStage { pipe, .. } = sync
        && !acquires
    {
        *pipe
    } else {
        return false;
    };
    pipe == of && op.scope == scope
}

/// Matches the acquires of a pipeline with the waits of one scope.
struct Side<'g> {
    ground: &'g Ground,
    found: Vec<(OpId, Filled)>,
}

/// For each loop around an acquire: its counter, the counter's value in terms of the counters around the wait, and expressions
/// that are at least 0 in the rounds of the wait that match.
type Around = Vec<(Symbol, Expr, Vec<Expr>)>;

impl Side<'_> {
    /// Matches two sequences and records the pairs. Returns `None` if they do not fit, or need more than [`MOST`] steps.
    fn by_side(
        &mut self,
        acquires: &[Node],
        waits: &[Node],
        around: &[(Symbol, Expr, Vec<Expr>)],
    ) -> Option<()> {
        let (mut acquires, mut waits) = (acquires.iter(), waits.iter());
        let (mut acquire, mut wait) = (acquires.next(), waits.next());
        // The rounds of the current loop of each sequence that are already matched.
        let (mut filled, mut read) = (Expr::default(), Expr::default());
        for _ in 0..MOST {
            match (acquire, wait) {
                (None, None) => return Some(()),
                (Some(Node::Place(from)), Some(Node::Place(to))) => {
                    self.pair(*from, *to, around);
                    (acquire, wait) = (acquires.next(), waits.next());
                }
                (
                    Some(Node::Loop { counter, start, count, body }),
                    Some(Node::Loop { counter: other, start: first, count: rounds, body: read_body }),
                ) => {
                    let now = Expr::symbol(other.clone()) - first.clone() - read.clone()
                        + start.clone()
                        + filled.clone();
                    let mut inner: Around = around.to_vec();
                    let (left, wanted) = (count.clone() - filled.clone(), rounds.clone() - read.clone());
                    let begun = Expr::symbol(other.clone()) - first.clone() - read.clone();
                    let limits = if read.is_zero() { Vec::new() } else { vec![begun] };
                    inner.push((counter.clone(), now, limits));
                    self.by_side(body, read_body, &inner)?;
                    let (less, more) = (
                        self.ground.facts.proves_le(&left, &wanted),
                        self.ground.facts.proves_le(&wanted, &left),
                    );
                    if less && more || left == wanted {
                        (acquire, wait) = (acquires.next(), waits.next());
                        (filled, read) = Default::default();
                    } else {
                        // The rest of this loop of acquires matches the next loop of waits.
                        filled = filled + wanted;
                        (wait, read) = (waits.next(), Expr::default());
                    }
                }
                (Some(Node::Loop { counter, start, body, .. }), Some(Node::Place(_))) => {
                    let (Some(Node::Place(to)), [Node::Place(from)]) = (wait, &body[..]) else { return None };
                    let mut inner = around.to_vec();
                    inner.push((counter.clone(), start.clone() + filled.clone(), Vec::new()));
                    self.pair(*from, *to, &inner);
                    filled = filled + Expr::constant(1);
                    wait = waits.next();
                }
                (Some(Node::Place(from)), Some(Node::Loop { counter, start, body, .. })) => {
                    let [Node::Place(to)] = &body[..] else { return None };
                    let at = Expr::symbol(counter.clone()) - start.clone() - read.clone();
                    let mut inner = around.to_vec();
                    // A single round of the waits' loop matches. It determines no counter of the acquires, so a symbol that is
                    // none takes its place.
                    inner.push((Symbol::Thread, Expr::default(), vec![at.clone(), -at]));
                    self.pair(*from, *to, &inner);
                    read = read + Expr::constant(1);
                    acquire = acquires.next();
                }
                (None | Some(Node::Other), _) | (_, None | Some(Node::Other)) => return None,
            }
        }
        None
    }

    fn pair(&mut self, acquire: OpId, wait: OpId, around: &[(Symbol, Expr, Vec<Expr>)]) {
        let counters = around.iter().map(|(counter, now, _)| (counter.clone(), now.clone())).collect();
        let rounds = around.iter().flat_map(|(_, _, rounds)| rounds.iter().cloned()).collect();
        self.found.push((wait, Filled { acquire, counters, rounds }));
    }
}
