//! Lowers pipelines: barriers in shared memory, and the positions of scopes in the ring.
//!
//! A scope keeps, for the stages that it acquires and for those that it waits for, the index of the next stage and the parity
//! of the phase in which it meets the stage. Both change together. Readers also keep the next stage to give back, and how
//! many stages they hold if that number is not the same at every execution of a release.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};

use hx_tile::{BARRIER_BYTES, Op, OpId, OpKind, PipeId, ScopeId, Solution, SyncOp, TileProgram, stages_held};

use super::signal::{self, Fills, barrier_of};
use super::waiters::waiters;
use super::{LowerError, Lowering, cluster};
use crate::{Arrivals, Barrier, BarrierKind, Body, Control, Leaf, Stmt, Waiters};

/// Positions have numbers from this one on, above those of operations and below those of counters and sums.
const POSITIONS: u32 = 1 << 30;
/// The distance between the numbers of the locals of two positions. A position uses only the first numbers.
const POSITION_STEP: u32 = 32;

/// Returns the barriers of all pipelines, two for each. The barriers of sums and the counters follow them in the block's
/// shared memory.
pub(super) fn barriers(program: &TileProgram, solution: &Solution) -> Vec<Barrier> {
    let mut at = solution.shared_bytes - program.barrier_bytes();
    let (fills, axes) = (signal::fills(program, solution), cluster::shared_axes(program, solution));
    let mut out = Vec::new();
    for id in program.pipe_ids() {
        let pipe = program.pipe(id);
        // A stage that several blocks fill is free for each of them when the readers of all of them have released it.
        let blocks = axes.get(&id).map_or(1, |axes| cluster::senders(program, axes));
        for kind in [BarrierKind::Full, BarrierKind::Empty] {
            let count = match kind {
                BarrierKind::Full => signal::arrivals(program, &fills, id).unwrap_or(1),
                BarrierKind::Empty => readers(program, id) * blocks,
            };
            let (name, origin) = (pipe.name.clone(), pipe.origin);
            let (stages, count) = (pipe.stages, count.max(1));
            out.push(Barrier { kind, pipe: name, stages, count, at, origin, sums: false });
            at += pipe.stages * BARRIER_BYTES;
        }
    }
    out
}

/// Returns the number of arrivals of a block that release a stage.
fn readers(program: &TileProgram, pipe: PipeId) -> u32 {
    let limits = &program.target.limits;
    let each = match released_by(program, pipe) {
        Arrivals::Groups => limits.group,
        Arrivals::Warps | Arrivals::Copies => limits.lanes,
    };
    if let Some(readers) = program.pipe(pipe).readers {
        return readers * limits.group / each;
    }
    let ops = program.ops(1.0).into_iter();
    let waits = |op: &Op| matches!(op.kind, OpKind::Sync(SyncOp::WaitStage { pipe: own, .. }) if own == pipe);
    let scopes: BTreeSet<ScopeId> = ops.filter(|(op, _)| waits(op)).map(|(op, _)| op.scope).collect();
    let of = |scope: ScopeId| program.scope(scope).groups * (program.scope(scope).threads / each).max(1);
    scopes.into_iter().map(of).sum()
}

/// Returns the threads that arrive for a release.
fn released_by(program: &TileProgram, pipe: PipeId) -> Arrivals {
    if program.is_released_by_groups(pipe) { Arrivals::Groups } else { Arrivals::Warps }
}

/// The side of a pipeline on which a scope moves along the ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    Write,
    Read,
}

/// The locals of a position.
#[derive(Clone, Debug)]
struct Position {
    index: Symbol,
    parity: Symbol,
    back: Symbol,
    held: Symbol,
}

/// The number of stages that a release gives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Give {
    Nothing,
    /// Exactly one stage.
    One,
    /// One stage if the scope holds more than this many.
    If(u32),
    /// Stages as long as more than this many are held.
    While(u32),
}

impl Give {
    /// Returns the form of a release that keeps the newest `keep` stages, given bounds of the number of stages that the scope
    /// holds.
    fn of([low, high]: [u32; 2], keep: u32) -> Give {
        match (low, high) {
            (_, high) if high <= keep => Give::Nothing,
            (low, high) if low == high && high == keep + 1 => Give::One,
            (_, high) if high == keep + 1 => Give::If(keep),
            _ => Give::While(keep),
        }
    }
}

/// Facts about the whole program that the lowering of pipelines needs.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    /// The arrivals that fill the stages of each pipeline, by the scope that makes them.
    pub(super) fills: BTreeMap<(PipeId, ScopeId), Fills>,
    /// The stage that each copy fills and that each publication hands on: the local that its acquisition defines.
    pub(super) stages: BTreeMap<OpId, Symbol>,
    /// The axes of the cluster along which blocks share copies of each pipeline.
    pub(super) axes: BTreeMap<PipeId, BTreeSet<u8>>,
    positions: BTreeMap<(ScopeId, PipeId, Side), Position>,
    gives: BTreeMap<OpId, Give>,
}

impl Pipes {
    pub(super) fn new(program: &TileProgram, solution: &Solution) -> Pipes {
        let (fills, stages) = (signal::fills(program, solution), signal::stages(program));
        let axes = cluster::shared_axes(program, solution);
        let mut pipes = Pipes { fills, stages, axes, ..Pipes::default() };
        for (op, _) in program.ops(1.0) {
            let key = if let OpKind::Sync(SyncOp::Acquire { pipe, .. }) = op.kind {
                (op.scope, pipe, Side::Write)
            } else if let OpKind::Sync(SyncOp::WaitStage { pipe, .. }) = op.kind {
                (op.scope, pipe, Side::Read)
            } else {
                continue;
            };
            let number = POSITIONS + pipes.positions.len() as u32 * POSITION_STEP;
            let name = &program.pipe(key.1).name;
            let local = |what: &str, n: u32| Symbol::Var(format!("{name}_{what}").into(), number + n);
            pipes.positions.entry(key).or_insert_with(|| Position {
                index: local("index", 0),
                parity: local("parity", 1),
                back: local("back", 2),
                held: local("held", 3),
            });
        }
        for (op, held) in stages_held(program) {
            if let Some(OpKind::Sync(SyncOp::Release { keep, .. })) = program.op(op).map(|op| &op.kind) {
                pipes.gives.insert(op, Give::of(held, *keep));
            }
        }
        pipes
    }

    /// Returns the least and the greatest value of every local of a position.
    pub(super) fn ranges(&self, program: &TileProgram) -> BTreeMap<Symbol, (i64, i64)> {
        let mut out = BTreeMap::new();
        for ((_, pipe, _), position) in &self.positions {
            let stages = i64::from(program.pipe(*pipe).stages);
            // An index is `stages` for a moment before it becomes 0.
            out.insert(position.index.clone(), (0, stages));
            out.insert(position.back.clone(), (0, stages));
            out.insert(position.parity.clone(), (0, 1));
            out.insert(position.held.clone(), (0, stages));
        }
        out
    }

    /// States the ranges of the locals of positions.
    pub(super) fn state(&self, program: &TileProgram, facts: &mut Facts) {
        for (symbol, (low, high)) in self.ranges(program) {
            facts.at_least(symbol.clone(), low);
            facts.at_most(symbol, Expr::constant(high));
        }
    }

    /// Reports whether some release of these readers depends on the number of stages held.
    fn counts(&self, program: &TileProgram, scope: ScopeId, pipe: PipeId) -> bool {
        self.releases(program, scope, pipe).any(|give| matches!(give, Give::If(_) | Give::While(_)))
    }

    fn releases<'a>(
        &'a self,
        program: &'a TileProgram,
        scope: ScopeId,
        pipe: PipeId,
    ) -> impl Iterator<Item = Give> + 'a {
        let of = move |op: &Op| {
            op.scope == scope
                && matches!(op.kind, OpKind::Sync(SyncOp::Release { pipe: own, .. }) if own == pipe)
        };
        program
            .ops(1.0)
            .into_iter()
            .filter(move |(op, _)| of(op))
            .filter_map(|(op, _)| self.gives.get(&op.id).copied())
    }
}

impl Lowering<'_> {
    /// Returns the definitions of the locals with which a scope follows its pipelines and its sums.
    pub(super) fn ring_positions(&self, scope: ScopeId) -> Body {
        let of_scope = self.pipes.positions.iter().filter(|((own, ..), _)| *own == scope);
        let mut out = self.sum_parities(scope);
        for ((_, pipe, side), position) in of_scope {
            let mut local = |var: &Symbol, value| {
                out.push(Stmt::Leaf(Leaf::Let { var: var.clone(), value: Expr::constant(value) }));
            };
            if self.program.pipe(*pipe).stages > 1 {
                local(&position.index, 0);
            }
            // All stages are free before anyone has released them.
            local(&position.parity, i64::from(*side == Side::Write));
            if *side == Side::Read {
                if self.gives_back(scope, *pipe) {
                    local(&position.back, 0);
                }
                if self.pipes.counts(self.program, scope, *pipe) {
                    local(&position.held, 0);
                }
            }
        }
        out
    }

    /// Reports whether readers need the number of the next stage to give back.
    fn gives_back(&self, scope: ScopeId, pipe: PipeId) -> bool {
        let gives = self.pipes.releases(self.program, scope, pipe).any(|give| give != Give::Nothing);
        gives && self.program.pipe(pipe).stages > 1
    }

    fn position(&self, op: &Op, pipe: PipeId, side: Side) -> Result<&Position, LowerError> {
        let found = self.pipes.positions.get(&(op.scope, pipe, side));
        found.ok_or_else(|| self.error(op, "its scope has no position in the pipeline"))
    }

    pub(super) fn index_of(&self, pipe: PipeId, index: &Symbol) -> Expr {
        if self.program.pipe(pipe).stages > 1 { Expr::symbol(index.clone()) } else { Expr::default() }
    }

    pub(super) fn acquire(&self, op: &Op, pipe: PipeId, var: &Symbol) -> Result<Body, LowerError> {
        let position = self.position(op, pipe, Side::Write)?;
        let by = waiters(self.program, self.solution, op.scope, pipe);
        Ok(self.next_stage(op, pipe, var, position, (BarrierKind::Empty, by)))
    }

    pub(super) fn wait_stage(&self, op: &Op, pipe: PipeId, var: &Symbol) -> Result<Body, LowerError> {
        let position = self.position(op, pipe, Side::Read)?;
        let mut body = self.next_stage(op, pipe, var, position, (BarrierKind::Full, Waiters::All));
        if self.pipes.counts(self.program, op.scope, pipe) {
            body.push(changed(&position.held, 1));
        }
        Ok(body)
    }

    /// Waits for the next stage and moves on. The number of the stage outlives the operation, so only the wait is grouped.
    fn next_stage(
        &self,
        op: &Op,
        pipe: PipeId,
        var: &Symbol,
        position: &Position,
        (kind, by): (BarrierKind, Waiters),
    ) -> Body {
        let index = self.index_of(pipe, &position.index);
        let (barrier, parity) = (barrier_of(pipe, kind), Expr::symbol(position.parity.clone()));
        let wait = Stmt::Leaf(Leaf::Await { barrier, index: index.clone(), parity, by });
        let mut body =
            vec![self.group(op, vec![wait]), Stmt::Leaf(Leaf::Let { var: var.clone(), value: index })];
        body.extend(self.advance(pipe, &position.index, Some(&position.parity)));
        body
    }

    /// Moves an index to the next stage.
    fn advance(&self, pipe: PipeId, index: &Symbol, parity: Option<&Symbol>) -> Body {
        next_place(self.program.pipe(pipe).stages, index, parity)
    }

    pub(super) fn release(&self, op: &Op, pipe: PipeId) -> Result<Body, LowerError> {
        let give = self.pipes.gives.get(&op.id).copied().unwrap_or(Give::Nothing);
        if give == Give::Nothing {
            return Ok(Vec::new());
        }
        let position = self.position(op, pipe, Side::Read)?;
        let barrier = barrier_of(pipe, BarrierKind::Empty);
        let (index, by) = (self.index_of(pipe, &position.back), released_by(self.program, pipe));
        let mut body = vec![Stmt::Leaf(Leaf::Arrive { barrier, index, by, blocks: self.sending(pipe) })];
        body.extend(self.advance(pipe, &position.back, None));
        if self.pipes.counts(self.program, op.scope, pipe) {
            body.push(changed(&position.held, -1));
        }
        let more_than = |keep: u32| {
            let (keep, held) = (Expr::constant(i64::from(keep)), Expr::symbol(position.held.clone()));
            Cond::Cmp(CmpOp::Lt, keep, held)
        };
        Ok(match give {
            Give::Nothing | Give::One => body,
            Give::If(keep) => {
                vec![Stmt::Control(Control::If { cond: more_than(keep), then: body, otherwise: Vec::new() })]
            }
            Give::While(keep) => {
                vec![Stmt::Control(Control::While { cond: more_than(keep), body, origin: None })]
            }
        })
    }

    /// Moves the positions of a scope over stages that other scopes use. The scope holds no stage, so the next one to give
    /// back is the next one to wait for.
    pub(super) fn skip(&self, op: &Op, pipe: PipeId, count: &Expr) -> Body {
        let mut body = Vec::new();
        let stages = Expr::constant(i64::from(self.program.pipe(pipe).stages));
        let facts = self.facts_of(op);
        for side in [Side::Write, Side::Read] {
            let Some(position) = self.pipes.positions.get(&(op.scope, pipe, side)) else { continue };
            let moved = self.index_of(pipe, &position.index) + count.clone();
            let parity = Expr::symbol(position.parity.clone()) + moved.div(&stages, facts);
            let parity = parity.rem(&Expr::constant(2), facts);
            body.push(Stmt::Leaf(Leaf::Assign { var: position.parity.clone(), value: parity }));
            if self.program.pipe(pipe).stages > 1 {
                let value = moved.rem(&stages, facts);
                body.push(Stmt::Leaf(Leaf::Assign { var: position.index.clone(), value }));
                if side == Side::Read && self.gives_back(op.scope, pipe) {
                    let value = Expr::symbol(position.index.clone());
                    body.push(Stmt::Leaf(Leaf::Assign { var: position.back.clone(), value }));
                }
            }
        }
        body
    }
}

/// Moves an index to the next place in a ring of `places` places. The parity flips when the index wraps to 0.
pub(super) fn next_place(places: u32, index: &Symbol, parity: Option<&Symbol>) -> Body {
    let flip = |parity: &Symbol| {
        Stmt::Leaf(Leaf::Assign {
            var: parity.clone(),
            value: Expr::constant(1) - Expr::symbol(parity.clone()),
        })
    };
    if places == 1 {
        return parity.map(flip).into_iter().collect();
    }
    let end = Expr::constant(i64::from(places));
    let mut then = vec![Stmt::Leaf(Leaf::Assign { var: index.clone(), value: Expr::default() })];
    then.extend(parity.map(flip));
    let cond = Cond::Cmp(CmpOp::Eq, Expr::symbol(index.clone()), end);
    vec![changed(index, 1), Stmt::Control(Control::If { cond, then, otherwise: Vec::new() })]
}

/// Adds to a local.
fn changed(var: &Symbol, by: i64) -> Stmt {
    Stmt::Leaf(Leaf::Assign { var: var.clone(), value: Expr::symbol(var.clone()) + Expr::constant(by) })
}
