//! The analysis of synchronization as queries.

use hx_sync::{Asked, Findings, find, protocol};

use crate::{Db, Instance, routed_program, thread_program, tile_program};

/// Returns the findings about the synchronization of an instance; none if it has no thread program.
#[salsa::tracked]
pub fn synchronization<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Findings {
    match (routed_program(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(threads)) => {
            find(&lowered.program, threads, Asked::All, &|| db.unwind_if_revision_cancelled())
        }
        _ => Findings::default(),
    }
}

/// Returns the findings that a launch needs. Does not search for barriers and waits that order nothing: that takes most of
/// the time, and they are no errors.
#[salsa::tracked]
pub fn hazards<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Findings {
    match (routed_program(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(threads)) => {
            find(&lowered.program, threads, Asked::Errors, &|| db.unwind_if_revision_cancelled())
        }
        _ => Findings::default(),
    }
}

/// Returns what goes wrong between the groups of an instance: in pipelines and turns, and with operations in flight. Needs no
/// layouts, and no loads of operands: a load that the compiler adds to an asynchronous product is the compiler's to order.
#[salsa::tracked]
pub fn protocol_faults<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<protocol::Fault> {
    match tile_program(db, instance) {
        Ok(lowered) => protocol::faults(&lowered.program, &|| db.unwind_if_revision_cancelled()),
        Err(_) => Vec::new(),
    }
}
