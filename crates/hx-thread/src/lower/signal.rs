//! Lowers the signals of copies to the barrier of the stage that they fill, and the publications of stages that threads write.
//!
//! A bulk copy subtracts its bytes from those that the phase waits for, and one thread arrives and announces these bytes before
//! the copies. For other copies, each thread arrives when its copies are complete. If the threads of a scope publish a stage, each
//! warp arrives. A pipeline may have arrivals of all kinds, also in different stages. The count of the barrier is the same for all
//! stages, so each stage then has the arrivals of all kinds. Scopes that fill each stage together make their arrivals side by side;
//! if they fill stages in turns, each scope makes as many arrivals as any other.

use std::collections::BTreeMap;

use hx_index::{Expr, Symbol};
use hx_tile::{
    Base, Control as TileControl, Leaf as TileLeaf, Op, OpId, OpKind, PipeId, ScopeId, Solution,
    Stmt as TileStmt, SyncOp, TileProgram,
};

use super::waiters::{self, is_in_boxes};
use super::{LowerError, Lowering};
use crate::{Arrivals, BarrierKind, Body, Leaf, Stmt};

/// Returns a barrier of a pipeline, as a position in [`crate::ThreadProgram::barriers`].
pub(super) fn barrier_of(pipe: PipeId, kind: BarrierKind) -> u32 {
    match kind {
        BarrierKind::Full => 2 * pipe.0,
        BarrierKind::Empty => 2 * pipe.0 + 1,
    }
}

/// The arrivals with which a scope, or each group of a scope of groups, fills a stage of a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fills {
    /// Whether some copies are bulk copies, for which one thread arrives.
    in_boxes: bool,
    /// The arrivals of threads; 0 if no thread copies.
    threads: u32,
    /// The arrivals of warps that publish the stage.
    published: u32,
    /// The arrivals of warps that may make no copy; see [`super::waiters`].
    warps: u32,
}

impl Fills {
    /// Returns the number of arrivals that fill a stage.
    fn arrivals(&self) -> u32 {
        u32::from(self.in_boxes) + self.threads + self.published + self.warps
    }

    /// Returns the arrivals of a scope that fills stages in turns with others which make these arrivals, too.
    fn or(self, other: Fills) -> Fills {
        Fills {
            in_boxes: self.in_boxes || other.in_boxes,
            threads: self.threads.max(other.threads),
            published: self.published.max(other.published),
            warps: self.warps.max(other.warps),
        }
    }
}

/// Returns the arrivals that fill the stages of each pipeline, by the scope that makes them.
pub(super) fn fills(program: &TileProgram, solution: &Solution) -> BTreeMap<(PipeId, ScopeId), Fills> {
    let mut out: BTreeMap<(PipeId, ScopeId), Fills> = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        if let OpKind::CopyAsync { signal: Some(pipe), .. } = op.kind {
            let fills = out.entry((pipe, op.scope)).or_default();
            if is_in_boxes(solution, op.id) {
                fills.in_boxes = true;
            } else {
                fills.threads = waiters::copying(program, pipe, op.scope);
            }
        } else if let OpKind::Sync(SyncOp::Publish { pipe }) = op.kind {
            let published = waiters::publishing(program, solution, pipe, op.scope);
            out.entry((pipe, op.scope)).or_default().published = published;
        }
    }
    for ((pipe, scope), fills) in &mut out {
        fills.warps = waiters::arrivals(program, solution, *pipe, *scope);
    }
    for pipe in program.pipe_ids().filter(|pipe| program.fillers_of_stage(*pipe) == 1) {
        let of_pipe = || out.iter().filter(|((of, _), _)| *of == pipe);
        let all = of_pipe().fold(Fills::default(), |all, (_, fills)| all.or(*fills));
        out.iter_mut().filter(|((of, _), _)| *of == pipe).for_each(|(_, fills)| *fills = all);
    }
    out
}

/// Returns the number of arrivals that fill each stage of a pipeline; `None` if nothing fills its stages.
pub(super) fn arrivals(
    program: &TileProgram,
    fills: &BTreeMap<(PipeId, ScopeId), Fills>,
    pipe: PipeId,
) -> Option<u32> {
    let own = || fills.iter().filter(|((of, _), _)| *of == pipe);
    let (_, first) = own().next()?;
    Some(match program.fillers_of_stage(pipe) {
        1 => first.arrivals(),
        _ => own().map(|((_, scope), fills)| program.scope(*scope).groups * fills.arrivals()).sum(),
    })
}

/// Returns the barrier that a copy signals; `None` if it signals none.
pub(super) fn barrier_of_copy(op: &Op) -> Option<u32> {
    let OpKind::CopyAsync { signal, .. } = op.kind else { return None };
    signal.map(|pipe| barrier_of(pipe, BarrierKind::Full))
}

/// Returns the stage that each signalling copy fills and that each publication hands on: the local that the last acquisition before
/// it defines, in its body or in an enclosing one.
pub(super) fn stages(program: &TileProgram) -> BTreeMap<OpId, Symbol> {
    let mut out = BTreeMap::new();
    let _ = stages_in(&program.body, &BTreeMap::new(), &mut out);
    out
}

/// Returns the stages at the end of a body, and adds those of its copies to `out`. A stage that a nested body acquires is
/// unknown after that body.
fn stages_in(
    body: &[TileStmt],
    around: &BTreeMap<PipeId, Symbol>,
    out: &mut BTreeMap<OpId, Symbol>,
) -> BTreeMap<PipeId, Symbol> {
    let mut open = around.clone();
    for stmt in body {
        if let TileStmt::Leaf(TileLeaf::Op(op)) = stmt {
            if let OpKind::Sync(SyncOp::Acquire { pipe, var }) = &op.kind {
                open.insert(*pipe, var.clone());
            } else if let OpKind::CopyAsync { signal: Some(pipe), .. }
            | OpKind::Sync(SyncOp::Publish { pipe }) = &op.kind
                && let Some(var) = open.get(pipe)
            {
                out.insert(op.id, var.clone());
            }
        }
        for body in stmt.bodies() {
            let after = stages_in(body, &open, out);
            open.retain(|pipe, var| after.get(pipe) == Some(var));
        }
    }
    open
}

/// The statements before and after a statement that signal the stages which its copies fill.
#[derive(Default)]
pub(super) struct Signals {
    pub(super) before: Body,
    pub(super) after: Body,
}

/// A stage that a body acquires.
struct Stage {
    pipe: PipeId,
    var: Symbol,
    bytes: u64,
    /// The positions of the first and the last statement with a copy into the stage, each with such a copy; `None` until one
    /// is found.
    copies: Option<[(usize, Op); 2]>,
}

impl Lowering<'_> {
    /// Returns the barrier of the stage that a copy fills.
    pub(super) fn stage_signalled(&self, op: &Op) -> Result<(u32, Expr), LowerError> {
        let (Some(var), OpKind::CopyAsync { signal: Some(pipe), .. }) =
            (self.pipes.stages.get(&op.id), &op.kind)
        else {
            return Err(self.error(op, "no stage is acquired for the copy"));
        };
        Ok((barrier_of(*pipe, BarrierKind::Full), self.index_of(*pipe, var)))
    }

    /// Lowers `publish`: each warp arrives at the barrier of the stage that its scope acquired last.
    pub(super) fn publish(&self, op: &Op, pipe: PipeId) -> Result<Body, LowerError> {
        let Some(var) = self.pipes.stages.get(&op.id) else {
            return Err(self.error(op, "no stage is acquired where it is published"));
        };
        let (barrier, index) = (barrier_of(pipe, BarrierKind::Full), self.index_of(pipe, var));
        let fills = self.pipes.fills.get(&(pipe, op.scope)).copied().unwrap_or_default();
        let times = fills.published / waiters::warps(self.program, self.solution, op.scope);
        let arrive = Stmt::Leaf(Leaf::Arrive { barrier, index, by: Arrivals::Warps, blocks: Vec::new() });
        Ok(vec![arrive; times as usize])
    }

    /// Returns the signals of the stages that a body acquires, by the position of the statement next to them.
    pub(super) fn signals(&self, stmts: &[TileStmt]) -> Result<BTreeMap<usize, Signals>, LowerError> {
        let mut stages: Vec<Stage> = Vec::new();
        for (at, stmt) in stmts.iter().enumerate() {
            if let TileStmt::Leaf(TileLeaf::Op(Op {
                kind: OpKind::Sync(SyncOp::Acquire { pipe, var }),
                ..
            })) = stmt
            {
                stages.push(Stage { pipe: *pipe, var: var.clone(), bytes: 0, copies: None });
            }
            for stage in &mut stages {
                let fills = |op: &&Op| {
                    self.pipes.stages.get(&op.id) == Some(&stage.var)
                        && matches!(op.kind, OpKind::CopyAsync { .. })
                };
                let copies: Vec<&Op> = stmt.ops().filter(fills).collect();
                let (Some(first), Some(last)) = (copies.first(), copies.last()) else { continue };
                stage.bytes += self.bytes(stmt, &stage.var)?;
                let first = stage.copies.take().map_or((at, (*first).clone()), |[first, _]| first);
                stage.copies = Some([first, (at, (*last).clone())]);
            }
        }
        let mut out: BTreeMap<usize, Signals> = BTreeMap::new();
        for Stage { pipe, var, bytes, copies } in stages {
            let Some([first, last]) = copies else { continue };
            let (barrier, index) = (barrier_of(pipe, BarrierKind::Full), self.index_of(pipe, &var));
            let fills = self.pipes.fills.get(&(pipe, first.1.scope)).copied();
            let Fills { in_boxes, threads, warps, .. } = fills.unwrap_or_default();
            let name = &self.program.pipe(pipe).name;
            if warps > 0 {
                let (index, by) = (index.clone(), Arrivals::Warps);
                let times = warps / waiters::warps(self.program, self.solution, first.1.scope);
                let arrive =
                    vec![Stmt::Leaf(Leaf::Arrive { barrier, index, by, blocks: Vec::new() }); times as usize];
                let title = format!("each warp has the stage of {name}");
                out.entry(first.0).or_default().before.push(self.titled(&first.1, title, arrive));
            }
            if in_boxes {
                let too_many = |_| self.error(&first.1, "a stage has too many bytes");
                let bytes = u32::try_from(bytes).map_err(too_many)?;
                let expect = vec![Stmt::Leaf(Leaf::Expect { barrier, index: index.clone(), bytes })];
                let title = format!("expect {bytes} bytes for {name}");
                out.entry(first.0).or_default().before.push(self.titled(&first.1, title, expect));
            }
            if threads > 0 {
                let times = threads / self.program.threads_of(&last.1).max(1);
                let arrive =
                    Stmt::Leaf(Leaf::Arrive { barrier, index, by: Arrivals::Copies, blocks: Vec::new() });
                let arrive = vec![arrive; times as usize];
                let signal = self.titled(&last.1, format!("signal {name}"), arrive);
                out.entry(last.0).or_default().after.push(signal);
            }
        }
        Ok(out)
    }

    /// Returns the bytes that the bulk copies of a statement bring into a stage: the same on every path through it.
    fn bytes(&self, stmt: &TileStmt, var: &Symbol) -> Result<u64, LowerError> {
        let all = |body: &[TileStmt]| body.iter().try_fold(0, |sum, stmt| Ok(sum + self.bytes(stmt, var)?));
        let differs = || {
            let copy = stmt.ops().into_iter().find(|op| self.pipes.stages.get(&op.id) == Some(var));
            let op = copy.map_or(OpId(0), |op| op.id);
            LowerError { op, message: "the stage gets more bytes on one way than on another".to_owned() }
        };
        match stmt {
            TileStmt::Leaf(TileLeaf::Op(op)) => {
                let OpKind::CopyAsync { dst, .. } = &op.kind else { return Ok(0) };
                let is_counted =
                    self.pipes.stages.get(&op.id) == Some(var) && is_in_boxes(self.solution, op.id);
                let Base::Shared(tensor) = dst.base else { return Ok(0) };
                let elements: i64 = dst.shape().iter().product();
                let bits = u64::from(self.program.tensor(tensor).dtype.bits());
                Ok(if is_counted { elements as u64 * bits / 8 } else { 0 })
            }
            TileStmt::Control(TileControl::For { rounds, body, .. }) => {
                let (each, trips) = (all(body)?, rounds.count());
                match trips {
                    _ if each == 0 => Ok(0),
                    Some(trips) => Ok(each * trips as u64),
                    None => Err(differs()),
                }
            }
            TileStmt::Control(TileControl::If { then, otherwise, .. }) => {
                let [then, otherwise] = [all(then)?, all(otherwise)?];
                if then == otherwise { Ok(then) } else { Err(differs()) }
            }
            TileStmt::Control(TileControl::While { body, .. }) => {
                if all(body)? == 0 {
                    Ok(0)
                } else {
                    Err(differs())
                }
            }
            // A role acquires stages of its own.
            TileStmt::Control(TileControl::Roles(_)) | TileStmt::Leaf(_) => Ok(0),
        }
    }
}
