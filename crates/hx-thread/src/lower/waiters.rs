//! Decides which warps wait for a free stage of a pipeline.
//!
//! A wait compares the parity of a phase, and each warp of a scope goes on by itself. If one thread makes the copies, a late
//! warp may reach its wait after the stage was filled and given back. It then waits for the next release, which may never come.
//!
//! - A stage that needs every warp excludes this: the threads copy into it or publish it, or the scope also reads and releases it.
//! - Other warps that access no memory do not wait. A role of such warps alone runs in its first warp.
//! - All other warps wait, and then arrive at the barrier of the full stage.

use std::collections::BTreeSet;

use hx_index::gcd;

use hx_tile::{
    Base, Choice, Control as TileControl, Leaf as TileLeaf, Op, OpId, OpKind, PipeId, Rounds, ScopeId,
    Solution, Stmt as TileStmt, SyncOp, TileProgram,
};

use crate::{Lanes, Waiters};

/// Returns the threads that run a role: those of one warp, if the role makes bulk copies into pipelines and does nothing else.
pub(super) fn lanes(program: &TileProgram, solution: &Solution, scope: ScopeId) -> Lanes {
    let Some(role) = program.roles().iter().find(|role| role.scope == scope) else { return Lanes::All };
    let is_one = role.body.iter().all(is_of_one) && only_copies(program, solution, scope);
    if is_one { Lanes::FirstWarp } else { Lanes::All }
}

/// Reports whether a statement needs no more than one warp of its scope.
fn is_of_one(stmt: &TileStmt) -> bool {
    if let TileStmt::Leaf(TileLeaf::Op(op)) = stmt
        && let OpKind::Sync(sync) = &op.kind
    {
        return matches!(sync, SyncOp::Acquire { .. } | SyncOp::Skip { .. });
    }
    // Each warp reads the number of a round.
    let is_drawn = matches!(stmt, TileStmt::Control(TileControl::For { rounds: Rounds::Drawn { .. }, .. }));
    !is_drawn && stmt.bodies().all(|body| body.iter().all(is_of_one))
}

/// Returns the warps of a scope that wait for a free stage of a pipeline.
pub(super) fn waiters(program: &TileProgram, solution: &Solution, scope: ScopeId, pipe: PipeId) -> Waiters {
    let may = may_go_on(program, solution, scope) && arrivals(program, solution, pipe, scope) == 0;
    if may { Waiters::First } else { Waiters::All }
}

/// Reports whether warps of a scope that make no copy may run ahead: the scope has several warps and only issues bulk copies.
fn may_go_on(program: &TileProgram, solution: &Solution, scope: ScopeId) -> bool {
    warps(program, solution, scope) > 1 && only_copies(program, solution, scope)
}

/// Returns the number of warps that run a scope.
pub(super) fn warps(program: &TileProgram, solution: &Solution, scope: ScopeId) -> u32 {
    match lanes(program, solution, scope) {
        Lanes::All => (program.scope(scope).threads / program.target.limits.lanes).max(1),
        Lanes::FirstWarp => 1,
    }
}

/// Returns the number of arrivals by which the warps of a scope that fills stages of a pipeline announce that they have passed their
/// wait; 0 if no warp needs to. If scopes fill the stages in turns, each makes this many: with 8 arrivals, each of 4 warps arrives
/// twice.
pub(super) fn arrivals(program: &TileProgram, solution: &Solution, pipe: PipeId, scope: ScopeId) -> u32 {
    let scopes = alike(program, pipe, scope);
    let may_be_late = |scope: &ScopeId| {
        !may_go_on(program, solution, *scope) && !needs_each(program, solution, *scope, pipe)
    };
    if !scopes.iter().any(may_be_late) {
        return 0;
    }
    let each = scopes.iter().map(|scope| i64::from(warps(program, solution, *scope)));
    each.fold(1, common) as u32
}

/// Returns the scopes that have an operation of synchronization which `is` accepts.
fn scopes(program: &TileProgram, is: impl Fn(&SyncOp) -> bool) -> BTreeSet<ScopeId> {
    let ops = program.ops(1.0).into_iter();
    let found = ops.filter(|(op, _)| matches!(&op.kind, OpKind::Sync(sync) if is(sync)));
    found.map(|(op, _)| op.scope).collect()
}

/// Reports whether every phase of the pipeline needs each warp of a scope.
fn needs_each(program: &TileProgram, solution: &Solution, scope: ScopeId, pipe: PipeId) -> bool {
    let is_one = warps(program, solution, scope) == 1;
    let reads = |sync: &SyncOp| matches!(sync, SyncOp::WaitStage { pipe: own, .. } if *own == pipe);
    // Under `readers: 1`, a group may read some stages and fill others.
    let reads_all = program.pipe(pipe).readers.is_none() && scopes(program, reads).contains(&scope);
    is_one || threads_fill(program, solution, pipe, scope) || reads_all
}

/// Returns the number of arrivals of the threads of a scope at a stage of a pipeline into which threads copy. If scopes fill the
/// stages in turns, each makes this many: with 256 arrivals, each of 128 threads arrives twice.
pub(super) fn copying(program: &TileProgram, pipe: PipeId, scope: ScopeId) -> u32 {
    let scopes = alike(program, pipe, scope);
    let each = scopes.iter().map(|scope| i64::from(program.scope(*scope).threads));
    each.fold(1, common) as u32
}

/// Returns the number of arrivals of the warps of a scope that publishes stages of a pipeline. If scopes fill the stages in turns,
/// each makes this many.
pub(super) fn publishing(program: &TileProgram, solution: &Solution, pipe: PipeId, scope: ScopeId) -> u32 {
    let scopes = alike(program, pipe, scope);
    let each = scopes.iter().map(|scope| i64::from(warps(program, solution, *scope)));
    each.fold(1, common) as u32
}

/// Returns the scopes that make the same arrivals at each stage as one that fills stages of a pipeline: all that fill stages in turns
/// with it, or itself.
fn alike(program: &TileProgram, pipe: PipeId, scope: ScopeId) -> BTreeSet<ScopeId> {
    if program.fillers_of_stage(pipe) == 1 { program.fillers(pipe) } else { BTreeSet::from([scope]) }
}

/// Returns the least common multiple.
fn common(a: i64, b: i64) -> i64 {
    a / gcd(a, b).max(1) * b
}

/// Reports whether a copy is made in boxes or runs, by one thread.
pub(super) fn is_in_boxes(solution: &Solution, op: OpId) -> bool {
    matches!(solution.choices.get(&op), Some(Choice::Bulk(_)))
}

/// Reports whether one thread makes a prefetch, in boxes.
fn is_fetched_in_boxes(solution: &Solution, op: &Op) -> bool {
    matches!(solution.choices.get(&op.id), Some(Choice::Prefetch(choice)) if !choice.dims.is_empty())
}

/// Reports whether all warps of a scope arrive at each stage of a pipeline that it fills: threads copy into the stages or publish
/// them, of this scope or of one that fills stages in turns with it.
fn threads_fill(program: &TileProgram, solution: &Solution, pipe: PipeId, scope: ScopeId) -> bool {
    let scopes = alike(program, pipe, scope);
    let arrives = |op: &Op| {
        matches!(op.kind, OpKind::CopyAsync { signal: Some(own), .. } if own == pipe && !is_in_boxes(solution, op.id))
            || matches!(op.kind, OpKind::Sync(SyncOp::Publish { pipe: own }) if own == pipe)
    };
    program.ops(1.0).into_iter().any(|(op, _)| scopes.contains(&op.scope) && arrives(op))
}

/// Reports whether another scope counts on each warp of the scope at the operation. A warp that runs ahead must not come there twice
/// while others come once.
fn is_counted(sync: &SyncOp) -> bool {
    matches!(sync, SyncOp::Publish { .. } | SyncOp::ArriveAt { .. })
}

/// Reports whether the threads of a scope access no memory that another thread writes: they make bulk copies and synchronize.
fn only_copies(program: &TileProgram, solution: &Solution, scope: ScopeId) -> bool {
    let Some(role) = program.roles().iter().find(|role| role.scope == scope) else { return false };
    fn is_plain(program: &TileProgram, solution: &Solution, stmt: &TileStmt) -> bool {
        let within = || stmt.bodies().all(|body| body.iter().all(|stmt| is_plain(program, solution, stmt)));
        match stmt {
            TileStmt::Leaf(TileLeaf::Op(op)) => {
                let fills = |pipe: PipeId| !threads_fill(program, solution, pipe, op.scope);
                matches!(op.kind, OpKind::CopyAsync { signal: Some(pipe), .. } if fills(pipe))
                    || matches!(&op.kind, OpKind::Sync(sync) if !is_counted(sync))
                    || is_fetched_in_boxes(solution, op)
            }
            TileStmt::Leaf(TileLeaf::LoadScalar { src, .. }) => match src.base {
                Base::Global(param) => program.tensor_param(param).is_some_and(|param| !param.mutable),
                Base::Shared(_) | Base::Register(_) => false,
            },
            TileStmt::Leaf(
                TileLeaf::Let { .. }
                | TileLeaf::Assign { .. }
                | TileLeaf::LetNumber { .. }
                | TileLeaf::AssignNumber { .. },
            ) => true,
            TileStmt::Control(
                TileControl::For { .. }
                | TileControl::While { .. }
                | TileControl::If { .. }
                | TileControl::Roles(_),
            ) => within(),
        }
    }
    role.body.iter().all(|stmt| is_plain(program, solution, stmt))
}
