//! The addresses of a candidate's lanes, which the pool keeps.

use std::rc::Rc;

use hx_tile::TileProgram;

use super::buffer::{Candidate, End, Use};
use super::conflicts::Places;
use super::measured::{Measured, MeasuredOf};
use crate::access::Access;
use crate::distribution::key;
use crate::search::context::SolverContext;

/// An access with the addresses of its lanes.
pub(super) struct Addressed<'c> {
    pub(super) access: &'c Access,
    pub(super) addresses: &'c Rc<Measured>,
}

/// Returns a candidate's access with the addresses of its lanes, computed once. `None` if no lane has an address: the
/// candidate reads by descriptor, or moves boxes or runs.
pub(super) fn measured<'c>(
    context: &SolverContext<'_, '_>,
    candidate: &'c Candidate,
    u: &Use<'_>,
) -> Option<Addressed<'c>> {
    let access = candidate.by.access()?;
    let addresses = candidate.measured.get_or_init(|| {
        let make = || Rc::new(Measured::new(places(context.program(), u, access)));
        // In an asynchronous copy the assignment of vectors to threads depends on the tensor's other accesses, so the pool
        // cannot keep it.
        let End::Register(layout) = &u.end else { return make() };
        let shape = u.tensor().map(|tensor| context.program().tensor(tensor).shape.clone());
        let of = MeasuredOf {
            op: u.op.id,
            reads: u.reads,
            held: key(layout),
            row: std::ptr::from_ref(access.row),
            run: access.run.clone(),
            shape: shape.unwrap_or_default(),
        };
        context.pool.measured.borrow_mut().entry(of).or_insert_with(make).clone()
    });
    Some(Addressed { access, addresses })
}

/// Returns the places that the lanes of a use address. Offsets that are known only at run time count as 0.
fn places(program: &TileProgram, u: &Use<'_>, access: &Access) -> Places {
    let (shape, view) = (&u.shape, &u.view);
    let offsets: Vec<i64> = view.offsets.iter().map(|o| o.as_const().unwrap_or(0)).collect();
    let factors: Vec<(usize, i64)> =
        view.modes.iter().map(|m| (m.dim, m.factor.as_const().unwrap_or(1))).collect();
    let place = |at: &[i64], out: &mut [i64]| {
        out[..offsets.len()].copy_from_slice(&offsets);
        for (c, (dim, factor)) in at.iter().zip(&factors) {
            out[*dim] += c * factor;
        }
        at.iter().zip(shape).all(|(c, extent)| c < extent)
    };
    Places::of(access, program.threads_of(u.op), u.reads, offsets.len(), &place)
}
