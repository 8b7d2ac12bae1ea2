//! Finds which demands of a program without layouts contradict each other, and which changes repair the program.
//!
//! The solver reports only the place where it gave up. This module solves the program again without some of the demands, until
//! the remaining set has no solution while every smaller set has one. A repair is offered only after the repaired program was
//! solved. The module relies on the solver's results only, so it stays correct when the solver changes. Start at [`explain`].

mod repair;

use std::collections::BTreeSet;

use hx_tile::{Control, Leaf, OpId, OpKind, Stmt, TensorId, TileProgram};

pub use repair::{Repair, staged_loads, with_warps};

use crate::failure::{Failure, FailureKind};
use crate::solve::loads::loaded;

/// Limit on the programs that are solved to find the conflict of one program.
const BUDGET: usize = 96;
/// Limit on the branches of all these searches together: four exhausted searches.
const BRANCHES: usize = 4 * crate::search::ALL;

/// A demand of a program on layouts, which can be left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// The layout to which the user pinned a tensor.
    Pin(TensorId),
    /// The arrangement of warps to which the user pinned a gemm.
    Warps(OpId),
    /// The constraints of an operation on its tensors.
    Operation(OpId),
}

/// Demands that have no common solution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// In the order of the text.
    pub claims: Vec<Claim>,
    /// True if leaving out any one of the claims makes the others solvable. False if the budget ended before this was known, or
    /// if a tensor is too large.
    pub minimal: bool,
    /// The claims whose removal makes the whole program solvable, each verified by solving. `None` if the budget ended first. The
    /// list can be empty: a program with several conflicts needs several removals.
    pub enough: Option<Vec<Claim>>,
    /// The failure that the solver reports for these claims alone.
    pub failure: Failure,
    /// Changes that make the program solvable, each verified by solving.
    pub repairs: Vec<Repair>,
}

/// Explains why a program has no solution. Returns `None` if it has one, or if `cancelled` returned true. The claims are those of
/// the program with all operands [`loaded`].
pub fn explain(program: &TileProgram, cancelled: &dyn Fn() -> bool) -> Option<Conflict> {
    let program = &loaded(program);
    let mut tries = Tries { cancelled, left: BUDGET, branches: BRANCHES };
    let mut failure = tries.failure(program)?;
    let mut claims = claims(program);
    let all = claims.clone();
    // Try the claims near the failure first: they usually contain the conflict, and a small program is solved much faster.
    let near = near(program, &claims, &failure);
    if near.len() < claims.len() && tries.failure(&restricted(program, &near)).is_some() {
        claims = near;
    }
    let minimal = !is_size(&failure) && {
        let minimal = shrink(program, &mut claims, &mut tries);
        // The remaining claims may fail for another reason than the whole program did.
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

/// Returns the claims whose removal makes the program solvable, or `None` if the budget does not suffice to try them all.
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

/// Reports whether a failure says that a tensor is too large, which no choice of claims changes.
fn is_size(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Resource | FailureKind::Registers)
}

/// The budget of programs to solve and of branches to search.
struct Tries<'a> {
    cancelled: &'a dyn Fn() -> bool,
    left: usize,
    branches: usize,
}

impl Tries<'_> {
    fn failure(&mut self, program: &TileProgram) -> Option<Failure> {
        let (found, branches) = crate::solve::counted(program, self.cancelled);
        self.branches = self.branches.saturating_sub(branches);
        self.left = if self.branches == 0 { 0 } else { self.left.saturating_sub(1) };
        let failure = found.err()?;
        (failure.kind != FailureKind::Cancelled).then_some(failure)
    }

    fn solves(&mut self, program: &TileProgram) -> bool {
        self.left > 0 && !(self.cancelled)() && self.failure(program).is_none() && !(self.cancelled)()
    }
}

/// Returns all claims of a program.
fn claims(program: &TileProgram) -> Vec<Claim> {
    let is_pinned = |id: &TensorId| program.tensor(*id).kind.is_pinned();
    let mut claims: Vec<Claim> = program.tensor_ids().filter(is_pinned).map(Claim::Pin).collect();
    for (op, _) in program.ops(1.0) {
        if !matches!(op.kind, OpKind::Sync(_)) {
            claims.push(Claim::Operation(op.id));
        }
        if matches!(op.kind, OpKind::Gemm { warps: Some(_), .. }) {
            claims.push(Claim::Warps(op.id));
        }
    }
    claims
}

/// Returns the claims on the tensors that a failure names, and on the tensors that share an operation with them.
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

/// Leaves out claims as long as the rest has no solution: half of them at once at first, single claims at last. Returns true if
/// no further claim can be left out, false if the budget ended or the caller cancelled.
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

/// Returns the program with only these claims.
pub fn restricted(program: &TileProgram, claims: &[Claim]) -> TileProgram {
    let claims: BTreeSet<Claim> = claims.iter().copied().collect();
    let mut program = program.clone();
    for (number, tensor) in program.tensors.iter_mut().enumerate() {
        if !claims.contains(&Claim::Pin(TensorId(number as u32))) {
            tensor.kind.unpin();
        }
    }
    retain(&mut program.body, &claims);
    program
}

fn retain(body: &mut Vec<Stmt>, claims: &BTreeSet<Claim>) {
    body.retain_mut(|stmt| match stmt {
        Stmt::Leaf(Leaf::Op(op)) => {
            if let OpKind::Gemm { warps, .. } = &mut op.kind
                && !claims.contains(&Claim::Warps(op.id))
            {
                *warps = None;
            }
            claims.contains(&Claim::Operation(op.id))
        }
        Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => {
            retain(body, claims);
            true
        }
        Stmt::Control(Control::If { then, otherwise, .. }) => {
            retain(then, claims);
            retain(otherwise, claims);
            true
        }
        Stmt::Control(Control::Roles(roles)) => {
            roles.iter_mut().for_each(|role| retain(&mut role.body, claims));
            true
        }
        Stmt::Leaf(_) => true,
    });
}
