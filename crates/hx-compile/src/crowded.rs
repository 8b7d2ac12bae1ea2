//! Checks whether the register tensors of a solved instance fit its threads. If they do not, finds more threads, or another
//! value of a compile-time parameter, with which they fit. Every offer was solved before.

use hx_lower::CtValue;
use hx_synth::{SPARE_REGISTERS, Solved, registers_of_a_thread};
use hx_tile::{LiveAcross, LiveTensors, OpId, ScopeId, Solution, TensorId, TileProgram, registers_of};

use crate::unsolved::{OtherValue, halves, with_value};
use crate::{Db, Instance, solved, tile_program};

/// A program that needs more registers than a thread has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Crowded {
    /// The tensors that on their own take more registers than a thread has.
    pub(crate) alone: Vec<Crowd<TensorId>>,
    /// The operation across which the most registers are held, if no tensor takes too many on its own.
    pub(crate) together: Option<Crowd<Across>>,
}

/// An operation, with the tensors that are held across it and the registers that each takes, the largest first.
pub(crate) type Across = (OpId, Vec<(TensorId, i64)>);

/// A tensor or an operation, the 32-bit registers of each thread that it takes, and the registers that a thread of its scope
/// has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Crowd<T> {
    pub(crate) of: T,
    pub(crate) registers: i64,
    pub(crate) most: i64,
}

impl<T> Crowd<T> {
    fn is_over(&self) -> bool {
        self.registers > self.most
    }
}

/// Returns the register tensors that do not fit; `None` if everything fits.
pub(crate) fn crowded(solved: &Solved) -> Option<Crowded> {
    over(solved, &|scope| registers_of_a_thread(&solved.program, &solved.solution.role_registers, scope))
}

/// Reports whether everything fits and leaves some registers to the computation.
fn has_room(solved: &Solved) -> bool {
    let registers = |scope| registers_of_a_thread(&solved.program, &solved.solution.role_registers, scope);
    let most = |scope| registers(scope) - SPARE_REGISTERS;
    over(solved, &most).is_none()
}

/// Returns the register tensors that exceed the `most` registers of each thread of a scope, alone or together.
fn over(solved: &Solved, most: &dyn Fn(ScopeId) -> i64) -> Option<Crowded> {
    let Solved { program, solution, .. } = solved;
    let of = |id: TensorId| Crowd {
        of: id,
        registers: registers(program, solution, id),
        most: most(program.tensor(id).scope),
    };
    let alone: Vec<Crowd<TensorId>> =
        solution.registers.keys().map(|id| of(*id)).filter(Crowd::is_over).collect();
    if !alone.is_empty() {
        return Some(Crowded { alone, together: None });
    }
    let together = pressure(program, solution, most).filter(Crowd::is_over)?;
    Some(Crowded { alone, together: Some(together) })
}

/// Returns the operation across which the registers held exceed those of its threads by most, with the tensors that hold them.
fn pressure(
    program: &TileProgram,
    solution: &Solution,
    most: &dyn Fn(ScopeId) -> i64,
) -> Option<Crowd<Across>> {
    let mut worst: Option<Crowd<Across>> = None;
    for LiveAcross { op, scope, tensors } in LiveTensors::of(program).across {
        let mut held: Vec<(TensorId, i64)> =
            tensors.into_iter().map(|tensor| (tensor, registers(program, solution, tensor))).collect();
        held.sort_by_key(|(tensor, registers)| (-registers, *tensor));
        let registers = held.iter().map(|(_, registers)| registers).sum();
        let crowd = Crowd { of: (op.id, held), registers, most: most(scope) };
        let over = |crowd: &Crowd<_>| crowd.registers - crowd.most;
        if worst.as_ref().is_none_or(|worst| over(&crowd) > over(worst)) {
            worst = Some(crowd);
        }
    }
    worst
}

/// Returns the number of registers of each thread that a tensor takes.
fn registers(program: &TileProgram, solution: &Solution, tensor: TensorId) -> i64 {
    let values = solution.registers.get(&tensor).map_or(0, |held| held.layout.mode(1).size());
    registers_of(program, tensor, values)
}

/// Returns the fewest threads with which the tensors of a crowded instance fit, of the doubles of its own number up to the
/// limit of the target; `None` if they fit with none of these.
#[salsa::tracked]
pub(crate) fn roomier_threads<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<u32> {
    let lowered = tile_program(db, instance).as_ref().ok()?;
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    let target = instance.target(db);
    let fits = |threads: &u32| {
        let Some(program) = lowered.program.with_block_threads(*threads) else { return false };
        let solved = hx_synth::solve(&program, &poll);
        solved.is_ok_and(|solved| has_room(&solved))
    };
    let more = std::iter::successors(lowered.program.block_threads().checked_mul(2), |threads| {
        threads.checked_mul(2)
    });
    more.take_while(|threads| (1..=target.limits.threads_per_block).contains(threads)).find(fits)
}

/// Returns values of single compile-time parameters with which the tensors of a crowded instance fit: smaller ones, and
/// larger ones of parameters that count threads.
#[salsa::tracked]
pub(crate) fn roomier_values<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<OtherValue> {
    let Ok(lowered) = tile_program(db, instance) else { return Vec::new() };
    let threads = lowered.program.block_threads();
    let most = i64::from(instance.target(db).limits.threads_per_block);
    let mut found = Vec::new();
    for (name, value) in &lowered.sources.args {
        let CtValue::Int(old) = *value else { continue };
        let fits = |new: &i64| {
            let other = with_value(db, instance, name, *new);
            let Ok(lowered) = tile_program(db, other) else { return false };
            // A larger value helps only if the parameter counts threads.
            (lowered.program.block_threads() > threads) == (*new > old)
                && solved(db, other).as_ref().is_ok_and(has_room)
        };
        let doubles = std::iter::successors(old.checked_mul(2), |new| new.checked_mul(2));
        let doubles = doubles.take_while(|new| (1..=most).contains(new));
        let works = halves(old).chain(doubles).find(fits);
        found.extend(works.map(|new| OtherValue { name: name.clone(), old, new }));
    }
    found
}
