//! Decides which warps wait for a stage before it is filled.
//!
//! A wait compares the parity of a phase, and nothing keeps the warps of a scope together. Where one thread makes the copies, a warp
//! that comes late finds a stage which has been filled and given back since, or twice, and then waits for a phase that may never end.
//! That cannot happen where the stage needs each warp: where its threads copy, or where they read it and give it back.
//!
//! In all other scopes, warps without a part in the copies do not wait, if nothing that they do depends on it. Otherwise they arrive
//! at the stage's barrier as well, behind their wait.

use std::collections::BTreeSet;

use hx_target::WARP;
use hx_tile::{Base, OpId, OpKind, PipeId, Rounds, ScopeId, Solution, Stmt as TileStmt, SyncOp, TileProgram};

use super::signal::is_in_boxes;
use crate::{Lanes, Waiters};

/// Returns the threads that run a role: those of one warp, if the role makes bulk copies into pipelines and does nothing else.
pub(super) fn lanes(program: &TileProgram, solution: &Solution, scope: ScopeId) -> Lanes {
    let Some(role) = program.roles().iter().find(|role| role.scope == scope) else { return Lanes::All };
    let is_one = role.body.iter().all(is_of_one) && only_copies(program, solution, scope);
    if is_one { Lanes::FirstWarp } else { Lanes::All }
}

/// Reports whether a statement needs no more than one warp of its scope.
fn is_of_one(stmt: &TileStmt) -> bool {
    let within = || stmt.bodies().all(|body| body.iter().all(is_of_one));
    match stmt {
        TileStmt::Op(op) => match &op.kind {
            OpKind::Sync(sync) => matches!(sync, SyncOp::Acquire { .. } | SyncOp::Skip { .. }),
            _ => true,
        },
        // Each warp reads the number of a round.
        TileStmt::For { rounds: Rounds::Drawn { .. }, .. } => false,
        _ => within(),
    }
}

/// Returns the warps of a scope that wait for a free stage of a pipeline.
pub(super) fn waiters(program: &TileProgram, solution: &Solution, scope: ScopeId) -> Waiters {
    let has_more = program.scope(scope).threads > WARP && lanes(program, solution, scope) == Lanes::All;
    if has_more && only_copies(program, solution, scope) { Waiters::First } else { Waiters::All }
}

/// Returns the number of warps that arrive at the barrier of a stage behind their wait, because the stage would not need them.
pub(super) fn arriving(program: &TileProgram, solution: &Solution, pipe: PipeId) -> u32 {
    let late = |scope: &ScopeId| {
        waiters(program, solution, *scope) == Waiters::All && !needs_each(program, solution, *scope, pipe)
    };
    let scopes = scopes(program, |sync| matches!(sync, SyncOp::Acquire { pipe: own, .. } if *own == pipe));
    scopes
        .iter()
        .filter(|scope| late(scope))
        .map(|scope| program.scope(*scope).threads / WARP)
        .max()
        .unwrap_or(0)
}

/// Returns the scopes with an operation of synchronization.
fn scopes(program: &TileProgram, is: impl Fn(&SyncOp) -> bool) -> BTreeSet<ScopeId> {
    let ops = program.ops(1.0).into_iter();
    let found = ops.filter(|(op, _)| matches!(&op.kind, OpKind::Sync(sync) if is(sync)));
    found.map(|(op, _)| op.scope).collect()
}

/// Reports whether no phase of the pipeline ends without each warp of a scope.
fn needs_each(program: &TileProgram, solution: &Solution, scope: ScopeId, pipe: PipeId) -> bool {
    let is_one = program.scope(scope).threads <= WARP || lanes(program, solution, scope) == Lanes::FirstWarp;
    let copies = |id: OpId, kind: &OpKind| {
        matches!(kind, OpKind::CopyAsync { signal: Some(own), .. } if *own == pipe)
            && !is_in_boxes(solution, id)
    };
    let by_threads = program.ops(1.0).into_iter().any(|(op, _)| copies(op.id, &op.kind));
    let reads = |sync: &SyncOp| matches!(sync, SyncOp::WaitStage { pipe: own, .. } if *own == pipe);
    is_one || by_threads || scopes(program, reads).contains(&scope)
}

/// Reports whether the threads of a scope access no memory that another thread writes: they make bulk copies and synchronize.
fn only_copies(program: &TileProgram, solution: &Solution, scope: ScopeId) -> bool {
    let Some(role) = program.roles().iter().find(|role| role.scope == scope) else { return false };
    fn is_plain(program: &TileProgram, solution: &Solution, stmt: &TileStmt) -> bool {
        let within = || stmt.bodies().all(|body| body.iter().all(|stmt| is_plain(program, solution, stmt)));
        match stmt {
            TileStmt::Op(op) => match &op.kind {
                OpKind::CopyAsync { signal, .. } => signal.is_some() && is_in_boxes(solution, op.id),
                OpKind::Sync(_) => true,
                _ => false,
            },
            TileStmt::LoadScalar { src, .. } => match src.base {
                Base::Global(param) => program.tensor_param(param).is_some_and(|param| !param.mutable),
                Base::Shared(_) | Base::Register(_) => false,
            },
            TileStmt::Let { .. }
            | TileStmt::Assign { .. }
            | TileStmt::LetNumber { .. }
            | TileStmt::AssignNumber { .. } => true,
            TileStmt::For { .. } | TileStmt::While { .. } | TileStmt::If { .. } | TileStmt::Roles(_) => {
                within()
            }
        }
    }
    role.body.iter().all(|stmt| is_plain(program, solution, stmt))
}
