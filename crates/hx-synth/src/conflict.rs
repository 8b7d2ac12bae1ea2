//! Which demands of a program without layouts cannot live together, and what would mend it.
//!
//! The solver says where it gave up. Here the program is solved again with demands left out, until those remain that have no
//! solution while every smaller set of them has one. A repair is offered only after the repaired program was solved. Nothing
//! here knows how the solver works, so it stays right when that changes. Start at [`explain`].

mod repair;

use std::collections::BTreeSet;

use hx_target::Arch;
use hx_tile::{OpId, OpKind, Stmt, TensorId, TensorKind, TileProgram};

pub use repair::Repair;

use crate::failure::{Failure, FailureKind};

/// Programs that are solved to find the conflict of one, at most.
const BUDGET: usize = 96;
/// Branches that their searches look at, all together: those of a program that is searched to the end, some times over.
const BRANCHES: usize = 4 * crate::search::ALL;

/// Something of a program that asks for layouts, and that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// The layout that the user gave a tensor.
    Pin(TensorId),
    /// The arrangement of warps that the user gave a gemm.
    Warps(OpId),
    /// What an operation asks of the tensors that it takes.
    Operation(OpId),
}

/// Demands that cannot live together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// In the order of the text.
    pub claims: Vec<Claim>,
    /// Without any one of the claims the others have a solution. False only where looking for it took too long.
    pub minimal: bool,
    /// The claims without which the whole program has a solution, each solved; nothing where looking for them took too long. A program with
    /// several conflicts may have none.
    pub enough: Option<Vec<Claim>>,
    /// What the solver says of these claims alone.
    pub failure: Failure,
    /// What mends the program: each was solved.
    pub repairs: Vec<Repair>,
}

/// The conflict of a program that has no solution; nothing if it has one, or if `cancelled` returned true.
pub fn explain(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Option<Conflict> {
    let mut tries = Tries { arch, cancelled, left: BUDGET, branches: BRANCHES };
    let mut failure = tries.failure(program)?;
    let mut claims = claims(program);
    let all = claims.clone();
    // Most often the conflict is near where the solver gave up, and a small program is solved much faster.
    let near = near(program, &claims, &failure);
    if near.len() < claims.len() && tries.failure(&restricted(program, &near)).is_some() {
        claims = near;
    }
    let minimal = !is_size(&failure) && {
        let minimal = shrink(program, &mut claims, &mut tries);
        // What is left may fail for another reason than the whole did.
        failure = tries.failure(&restricted(program, &claims)).unwrap_or(failure);
        minimal
    };
    if is_size(&failure) {
        claims.clear();
    }
    let repairs = repair::repairs(program, &claims, &failure, &mut tries);
    let enough = enough(program, &all, &claims, &mut tries);
    (!cancelled()).then_some(Conflict { claims, minimal, enough, failure, repairs })
}

/// Those of the claims without which the program has a solution; nothing where the tries do not suffice to know.
fn enough(
    program: &TileProgram,
    all: &[Claim],
    claims: &[Claim],
    tries: &mut Tries<'_>,
) -> Option<Vec<Claim>> {
    let mut enough = Vec::new();
    for claim in claims {
        if tries.left == 0 {
            return None;
        }
        let others: Vec<Claim> = all.iter().copied().filter(|other| other != claim).collect();
        if tries.solves(&restricted(program, &others)) {
            enough.push(*claim);
        }
    }
    Some(enough)
}

/// What is too large is so whatever anybody demands.
fn is_size(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Resource | FailureKind::Registers)
}

/// Solving, so many times.
struct Tries<'a> {
    arch: Arch,
    cancelled: &'a dyn Fn() -> bool,
    left: usize,
    branches: usize,
}

impl Tries<'_> {
    fn failure(&mut self, program: &TileProgram) -> Option<Failure> {
        let (found, branches) = crate::solve::counted(program, self.arch, self.cancelled);
        self.branches = self.branches.saturating_sub(branches);
        self.left = if self.branches == 0 { 0 } else { self.left.saturating_sub(1) };
        let failure = found.err()?;
        (failure.kind != FailureKind::Cancelled).then_some(failure)
    }

    fn solves(&mut self, program: &TileProgram) -> bool {
        self.left > 0 && !(self.cancelled)() && self.failure(program).is_none() && !(self.cancelled)()
    }
}

/// Everything of a program that asks for layouts.
fn claims(program: &TileProgram) -> Vec<Claim> {
    let is_pinned = |id: &TensorId| match &program.tensor(*id).kind {
        TensorKind::Register { pinned } => pinned.is_some(),
        TensorKind::Shared { pinned } => pinned.is_some(),
    };
    let mut claims: Vec<Claim> = program.tensor_ids().filter(is_pinned).map(Claim::Pin).collect();
    for (op, _) in program.ops(1.0) {
        match op.kind {
            OpKind::Sync | OpKind::SyncWarp | OpKind::Commit | OpKind::Wait { .. } => continue,
            OpKind::Gemm { warps: Some(_), .. } => {
                claims.extend([Claim::Operation(op.id), Claim::Warps(op.id)]);
            }
            _ => claims.push(Claim::Operation(op.id)),
        }
    }
    claims
}

/// The claims on the tensors that a failure names, and on those that their operations take besides.
fn near(program: &TileProgram, claims: &[Claim], failure: &Failure) -> Vec<Claim> {
    let mut tensors: BTreeSet<TensorId> = failure.parts.iter().filter_map(|part| part.tensor).collect();
    let named = failure.op.into_iter().chain(failure.parts.iter().filter_map(|part| part.op));
    tensors.extend(named.filter_map(|op| program.op(op)).flat_map(|op| op.kind.tensors()));
    let ops = program.ops(1.0);
    let around: Vec<BTreeSet<TensorId>> = ops.iter().map(|(op, _)| op.kind.tensors()).collect();
    let beside = around.iter().filter(|around| !around.is_disjoint(&tensors)).flatten().copied();
    tensors.extend(beside.collect::<Vec<_>>());
    let takes = |op: OpId| program.op(op).is_some_and(|op| !op.kind.tensors().is_disjoint(&tensors));
    let is_near = |claim: &Claim| match *claim {
        Claim::Pin(tensor) => tensors.contains(&tensor),
        Claim::Warps(op) | Claim::Operation(op) => takes(op),
    };
    claims.iter().copied().filter(is_near).collect()
}

/// Leaves out claims as long as the rest has no solution: first many at once, at last one by one. True if nothing more could
/// be left out.
fn shrink(program: &TileProgram, claims: &mut Vec<Claim>, tries: &mut Tries<'_>) -> bool {
    let mut size = claims.len().div_ceil(2);
    loop {
        let before = claims.len();
        let mut at = 0;
        while at < claims.len() {
            if tries.left == 0 || (tries.cancelled)() {
                return false;
            }
            let end = (at + size).min(claims.len());
            let fewer = [&claims[..at], &claims[end..]].concat();
            if tries.failure(&restricted(program, &fewer)).is_some() {
                *claims = fewer;
            } else {
                at = end;
            }
        }
        if size == 1 && claims.len() == before {
            return true;
        }
        size = if claims.len() == before { size / 2 } else { size.min(claims.len() / 2) }.max(1);
    }
}

/// The program with these claims only.
pub fn restricted(program: &TileProgram, claims: &[Claim]) -> TileProgram {
    let claims: BTreeSet<Claim> = claims.iter().copied().collect();
    let mut program = program.clone();
    for (number, tensor) in program.tensors.iter_mut().enumerate() {
        if !claims.contains(&Claim::Pin(TensorId(number as u32))) {
            unpin(&mut tensor.kind);
        }
    }
    retain(&mut program.body, &claims);
    program
}

fn unpin(kind: &mut TensorKind) {
    match kind {
        TensorKind::Register { pinned } => *pinned = None,
        TensorKind::Shared { pinned } => *pinned = None,
    }
}

fn retain(body: &mut Vec<Stmt>, claims: &BTreeSet<Claim>) {
    body.retain_mut(|stmt| match stmt {
        Stmt::Op(op) => {
            if let OpKind::Gemm { warps, .. } = &mut op.kind
                && !claims.contains(&Claim::Warps(op.id))
            {
                *warps = None;
            }
            claims.contains(&Claim::Operation(op.id))
        }
        Stmt::For { body, .. } | Stmt::While { body, .. } => {
            retain(body, claims);
            true
        }
        Stmt::If { then, otherwise, .. } => {
            retain(then, claims);
            retain(otherwise, claims);
            true
        }
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::LoadScalar { .. }
        | Stmt::LetNumber { .. }
        | Stmt::AssignNumber { .. } => true,
    });
}
