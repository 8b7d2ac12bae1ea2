//! What is wrong with an instance, as diagnostics. The stages say it by operation; here operations become places.

mod layout;
mod narrowed;
mod registers;
pub(crate) mod repair;
mod sync;

use hx_base::{Diagnostic, SourceFile, TextRange, codes, sort_diagnostics};
use hx_hir::Item;
use hx_lower::{At, Lowered, Place};
use hx_tile::{OpId, TensorId};

use crate::{
    Db, Instance, Stop, cuda_source, hazards, solution, synchronization, thread_program, tile_program,
};

/// Everything that is wrong with an instance, ordered by place. Of a kernel that has errors before any instance these, and no
/// more.
#[salsa::tracked]
pub fn instance_diagnostics<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    let places = Places { db, instance };
    let mut found = Vec::new();
    match tile_program(db, instance) {
        Ok(lowered) => solved(&places, lowered, &mut found),
        Err(stop) => found.extend(places.stop(None, stop)),
    }
    sort_diagnostics(db, &mut found);
    found
}

/// The errors among [`instance_diagnostics`]: with any of them, the instance is neither run nor built. What could only be a
/// warning is not looked for.
#[salsa::tracked]
pub fn instance_errors<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    let places = Places { db, instance };
    let mut found = match (tile_program(db, instance), solution(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(solution), Ok(_)) => {
            sync::findings(&places, lowered, solution, hazards(db, instance))
        }
        (Ok(lowered), Err(stop), _) | (Ok(lowered), _, Err(stop)) => places.stop(Some(lowered), stop),
        (Err(stop), ..) => places.stop(None, stop),
    };
    found.retain(Diagnostic::is_error);
    sort_diagnostics(db, &mut found);
    found
}

fn solved(places: &Places<'_>, lowered: &Lowered, found: &mut Vec<Diagnostic>) {
    let Places { db, instance } = *places;
    let solution = match solution(db, instance) {
        Ok(solution) => solution,
        Err(stop) => return found.extend(places.stop(Some(lowered), stop)),
    };
    found.extend(layout::unsound(places, lowered));
    if !found.is_empty() {
        return;
    }
    if let Err(stop) = thread_program(db, instance) {
        found.extend(places.stop(Some(lowered), stop));
    } else if let Err(stop) = cuda_source(db, instance) {
        found.extend(places.stop(Some(lowered), stop));
    } else {
        found.extend(sync::findings(places, lowered, solution, synchronization(db, instance)));
        found.extend(registers::too_many(places, lowered, solution));
        found.extend(layout::redistributions(places, lowered, solution));
        found.extend(layout::scalar_products(places, lowered, solution));
        found.extend(narrowed::single_elements(places, lowered, solution));
        found.extend(layout::stopped(places, solution));
    }
}

/// Operations and tensors of one instance as places in files.
#[derive(Clone, Copy)]
pub(crate) struct Places<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) instance: Instance<'db>,
}

impl<'db> Places<'db> {
    /// The name of the kernel.
    fn kernel(&self) -> (SourceFile, TextRange) {
        let kernel = self.instance.kernel(self.db);
        let place = Place { item: kernel.key(self.db), at: At::Name };
        let start = TextRange::empty(Item::Kernel(kernel).offset(self.db));
        place.range(self.db).unwrap_or((kernel.file(self.db), start))
    }

    fn origin(&self, lowered: &Lowered, origin: hx_tile::Origin) -> Option<(SourceFile, TextRange)> {
        lowered.origins.get(origin.0 as usize)?.place.range(self.db)
    }

    /// Where the function that an operation stands in was called from, innermost first.
    fn calls(&self, lowered: &Lowered, op: OpId) -> Vec<(SourceFile, TextRange)> {
        let at = |origin: hx_tile::Origin| lowered.origins.get(origin.0 as usize);
        let start = lowered.program.op(op).and_then(|op| at(op.origin)?.call);
        let calls = std::iter::successors(start, |call| at(*call)?.call);
        calls.filter_map(|call| self.origin(lowered, call)).collect()
    }

    fn op(&self, lowered: &Lowered, op: OpId) -> Option<(SourceFile, TextRange)> {
        self.origin(lowered, lowered.program.op(op)?.origin)
    }

    /// Where an origin is in the text of the kernel itself; nothing for one in a function that it calls.
    pub(crate) fn own(&self, lowered: &Lowered, origin: hx_tile::Origin) -> Option<TextRange> {
        let place = &lowered.origins.get(origin.0 as usize)?.place;
        if place.item != self.instance.kernel(self.db).key(self.db) {
            return None;
        }
        place.range(self.db).map(|(_, range)| range)
    }

    /// The statement of the kernel around a range.
    pub(crate) fn statement(&self, range: TextRange) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        Some(crate::sync::statement(self.db, Item::Kernel(kernel), range - offset)? + offset)
    }

    /// The statement of the kernel that a statement stands in.
    pub(crate) fn statement_around(&self, stmt: TextRange) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        Some(crate::sync::statement_around(self.db, Item::Kernel(kernel), stmt - offset)? + offset)
    }

    /// The last statement of the kernel.
    pub(crate) fn last_statement(&self) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        Some(crate::sync::last_statement(self.db, Item::Kernel(kernel))? + kernel.offset(self.db))
    }

    fn tensor(&self, lowered: &Lowered, tensor: TensorId) -> Option<(SourceFile, TextRange)> {
        self.origin(lowered, lowered.program.tensors.get(tensor.0 as usize)?.origin)
    }

    fn stop(&self, lowered: Option<&Lowered>, stop: &Stop) -> Vec<Diagnostic> {
        match stop {
            Stop::Unsound => {
                let kernel = Item::Kernel(self.instance.kernel(self.db));
                hx_hir::reached_errors(self.db, kernel).clone()
            }
            Stop::Program(errors) => errors.iter().filter_map(|error| error.to_diagnostic(self.db)).collect(),
            Stop::Layouts(failure) => layout::failure(self, lowered, failure).into_iter().collect(),
            Stop::Internal { stage, op, message } => {
                let at = op.and_then(|op| self.op(lowered?, op));
                let (file, range) = at.unwrap_or_else(|| self.kernel());
                let found = Diagnostic::new(&codes::INTERNAL_ERROR, file, range, message.clone());
                vec![found.note(format!("it happened while making the {stage}"))]
            }
        }
    }
}
