//! Decides the registers of the threads of each role.

use std::collections::BTreeMap;

use hx_target::{Feature, RegisterError, Share, share_registers};
use hx_tile::{Choice, Op, OpId, OpKind, Role, RoleKind, ScopeId, Stmt, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Returns the registers of each thread of the roles whose threads do not keep those of the launch. Roles keep the number that the
/// source gives them, and share the rest by [`share_registers`]. The map is empty if the source asks for more than the launch gives.
///
/// Before the solution is known, all producers are taken to copy by boxes.
pub fn role_registers(program: &TileProgram) -> BTreeMap<ScopeId, u32> {
    registers_of(program, &|_| false)
}

/// As [`role_registers`], for the choices of a solution: the threads of a producer without boxes hold addresses.
pub(crate) fn role_registers_with(
    program: &TileProgram,
    choices: &BTreeMap<OpId, Choice>,
) -> BTreeMap<ScopeId, u32> {
    let by_threads = |op: &Op| {
        matches!(op.kind, OpKind::CopyAsync { .. }) && matches!(choices.get(&op.id), Some(Choice::Copy(_)))
    };
    registers_of(program, &|role| role.body.iter().flat_map(Stmt::ops).any(by_threads))
}

fn registers_of(program: &TileProgram, copies: &dyn Fn(&Role) -> bool) -> BTreeMap<ScopeId, u32> {
    let roles = program.roles();
    let at_entry = program.limits().registers_at_entry(program.block_threads());
    let shares = shares(program, copies).or_else(|_| shares(program, &|_| false)).unwrap_or_default();
    let of = roles.iter().map(|role| role.scope).zip(shares);
    of.filter(|(_, registers)| *registers != at_entry).collect()
}

/// Rejects a program that gives its roles more registers than a launch gives the block.
///
/// # Errors
/// `Registers` for such a program.
pub(crate) fn check(program: &TileProgram) -> Result<(), Failure> {
    let describe = |RegisterError { wanted, given, .. }| {
        let message = format!(
            "found {wanted} registers for one thread of each group of the roles, expected at most {given}"
        );
        Failure::new(FailureKind::Registers, message)
    };
    shares(program, &|_| false).map(|_| ()).map_err(describe)
}

/// Returns the registers of a thread of each role, in their order. `copies` tells the roles whose threads make copies. A role that
/// holds no tensor in registers, because it only moves tiles, needs no more registers than a producer.
///
/// # Errors
/// If the roles need more registers than the block has.
fn shares(program: &TileProgram, copies: &dyn Fn(&Role) -> bool) -> Result<Vec<u32>, RegisterError> {
    let (roles, limits) = (program.roles(), program.limits());
    // Threads that cannot pass registers on keep those of the launch. A target that lacks roles with given numbers is refused before.
    let is_open = roles.iter().all(|role| role.registers.is_none());
    if roles.is_empty() || (is_open && !program.target.has(Feature::RoleRegisters)) {
        return Ok(vec![limits.registers_at_entry(program.block_threads()); roles.len()]);
    }
    let share = |role: &Role| {
        let scope = program.scope(role.scope);
        let groups = scope.groups * scope.threads / limits.group;
        Share { groups, producer: is_light(role), given: role.registers, copies: copies(role) }
    };
    share_registers(&limits, &roles.iter().map(share).collect::<Vec<Share>>())
}

/// Reports whether the threads of a role hold no tensor in registers.
fn is_light(role: &Role) -> bool {
    let mut ops = role.body.iter().flat_map(Stmt::ops).peekable();
    let moves_tiles = ops.peek().is_some() && ops.all(|op| op.kind.registers().is_empty());
    role.kind == RoleKind::Producer || moves_tiles
}
