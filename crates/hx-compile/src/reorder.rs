//! Finds copies and products of a loop that would take less time in the other order.
//!
//! An asynchronous copy is in flight until its wait. If it starts ahead of products, they hide its latency; if it starts behind
//! them, only the deeper stages of a ring do. Copies that start while asynchronous products run cost the threads nothing. The
//! estimate follows both, so it tells the two orders apart where one of these times is exposed. It knows nothing of the order in
//! which the assembler of the CUDA compiler issues instructions: where only that differs, both orders have one estimate.
//!
//! A change is offered only if it was tried: the changed program has layouts, and the checks of synchronization find nothing in it.

use hx_sync::{Asked, find, protocol};
use hx_synth::{Solved, wave_cycles};
use hx_tile::{Exchange, TileProgram};

use crate::{Db, Instance, hazards, protocol_verdict, solved, tile_program};

/// Offer a change only if the estimate falls to this fraction of the present one, or below.
const WORTH: f64 = 0.9;

/// An exchange that saves time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reordering {
    pub(crate) exchange: Exchange,
    /// The estimated cycles of the blocks that a multiprocessor runs at a time, as the program is and after the exchange.
    pub(crate) cycles: [f64; 2],
}

/// Returns the best exchange for each group of copies in a loop of an instance. Returns none for a program with errors.
#[salsa::tracked(returns(ref))]
pub(crate) fn reorderings<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Reordering> {
    let (Ok(lowered), Ok(found)) = (tile_program(db, instance), solved(db, instance)) else {
        return Vec::new();
    };
    let program = &lowered.program;
    let exchanges = program.exchanges();
    if exchanges.is_empty() {
        return Vec::new();
    }
    let now = wave_cycles(&found.program, &found.solution);
    let mut best: Vec<Reordering> = Vec::new();
    for exchange in exchanges {
        let changed = program.exchanged(&exchange);
        // First estimate with the solution of the unchanged program, which is close: solving every exchange would take too long.
        if wave_cycles(&found.edited(&changed), &found.solution) > now * WORTH || !is_sound(db, instance) {
            continue;
        }
        let poll = || {
            db.unwind_if_revision_cancelled();
            false
        };
        let Ok(solved) = hx_synth::solve(&changed, &poll) else { continue };
        let then = wave_cycles(&solved.program, &solved.solution);
        if then > now * WORTH || !is_synchronized(db, &changed, &solved) {
            continue;
        }
        let other = Reordering { exchange, cycles: [now, then] };
        match best.iter_mut().find(|found| found.exchange.copies == other.exchange.copies) {
            Some(found) if then < found.cycles[1] => *found = other,
            Some(_) => {}
            None => best.push(other),
        }
    }
    best
}

/// Reports whether the checks of synchronization find nothing in the instance as it is.
fn is_sound(db: &dyn Db, instance: Instance<'_>) -> bool {
    let found = hazards(db, instance);
    found.hazards.is_empty()
        && found.unwritten.is_empty()
        && protocol_verdict(db, instance).1.faults.is_empty()
}

/// Reports whether the checks of synchronization find nothing in a changed program.
pub(crate) fn is_synchronized(db: &dyn Db, program: &TileProgram, solved: &Solved) -> bool {
    let poll = || db.unwind_if_revision_cancelled();
    let Ok(threads) = hx_thread::lower(&solved.program, &solved.solution, &poll) else { return false };
    let found = find(&solved.loaded(program), &threads, Asked::Errors, &poll);
    found.hazards.is_empty()
        && found.unwaited.is_empty()
        && found.unwritten.is_empty()
        && protocol::verdict(program, &poll).faults.is_empty()
        && hx_sync::previous::faults(program).is_empty()
}
