//! Turns findings about an instance into diagnostics. The stages report operations; this module maps operations to places.

mod accepted;
mod associative;
mod calls;
mod layout;
mod order;
mod padding;
mod performance;
mod previous;
mod protocol;
mod registers;
pub(crate) mod repair;
mod scopes;
mod stores;
mod sync;
mod unchecked;
mod unwritten;
mod waits;

use std::collections::BTreeSet;

pub use accepted::is_accepted;
use hx_base::{Diagnostic, Severity, SourceFile, TextRange, TextSize, codes, sort_diagnostics};
use hx_hir::{Item, Name};
use hx_lower::{ItemPart, Lowered, Place};
use hx_target::Target;
use hx_tile::{Base, OpId, OpKind, TensorId};

use crate::{
    Db, Instance, Need, NeededAt, Stop, cuda_source, hazards, protocol_verdict, routed_program, solved,
    synchronization, thread_program, tile_program,
};
use hx_sync::Findings;
use hx_sync::protocol::{Fault, Open};

/// Returns all diagnostics of an instance, ordered by place. If the kernel has errors before any instance is made, returns
/// only these.
#[salsa::tracked]
pub fn instance_diagnostics<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    let places = Places { db, instance };
    let mut found = Vec::new();
    match routed_program(db, instance) {
        Ok(lowered) => {
            checked(&places, lowered, &mut found);
            // A protocol does not depend on layouts, so it is checked even if there are none.
            let checked = Protocol::of(&places, lowered);
            found.extend(checked.findings(&places, synchronization(db, instance)));
            found.extend(checked.unchecked(&places));
            found.extend(previous::findings(&places, lowered));
            found.extend(associative::operators(&places, lowered));
            found.extend(scopes::narrow(&places, lowered));
            found.extend(stores::findings(&places, lowered));
            found.extend(unwritten::findings(&places, lowered));
        }
        Err(stop) => found.extend(places.stop(None, stop)),
    }
    found.retain(|found| !is_accepted(db, instance, found));
    sort_diagnostics(db, &mut found);
    found
}

/// Returns the performance notes of an instance, without those that the source accepts.
pub fn performance_notes<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
) -> impl Iterator<Item = &'db Diagnostic> {
    instance_diagnostics(db, instance).iter().filter(|found| found.severity == Severity::Performance)
}

/// Returns the warnings that concern what a run of the instance shows, as far as they take neither layouts nor machine code: padding
/// that enters results, and pipelines that were not checked.
#[salsa::tracked]
pub fn launch_warnings<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    let places = Places { db, instance };
    let unchecked = routed_program(db, instance).as_ref().ok();
    let unchecked = unchecked.and_then(|lowered| Protocol::of(&places, lowered).unchecked(&places));
    padding_diagnostics(db, instance).iter().cloned().chain(unchecked).collect()
}

/// Returns the findings about padding that enters results. They hold for every launch of the instance.
#[salsa::tracked]
pub(crate) fn padding_diagnostics<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    padding::results(&Places { db, instance })
}

/// Returns the errors among [`instance_diagnostics`]. An instance with any of them is neither run nor built. Does not search
/// for findings that can only be warnings.
#[salsa::tracked]
pub fn instance_errors<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Diagnostic> {
    let places = Places { db, instance };
    let mut found = match (routed_program(db, instance), solved(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(solved), Ok(_)) => {
            let faults = Protocol::of(&places, lowered).own_faults();
            sync::findings(&places, lowered, &solved.solution, hazards(db, instance), faults)
        }
        (Ok(lowered), Err(stop), _) | (Ok(lowered), _, Err(stop)) => places.stop(Some(lowered), stop),
        (Err(stop), ..) => places.stop(None, stop),
    };
    if let Ok(lowered) = routed_program(db, instance) {
        found.extend(Protocol::of(&places, lowered).findings(&places, hazards(db, instance)));
        found.extend(previous::findings(&places, lowered));
        found.extend(associative::operators(&places, lowered));
        found.extend(scopes::narrow(&places, lowered));
        found.extend(stores::findings(&places, lowered));
        found.extend(unwritten::findings(&places, lowered));
    }
    found.retain(Diagnostic::is_error);
    sort_diagnostics(db, &mut found);
    found
}

/// Adds the findings about the layouts and the code of an instance.
fn checked(places: &Places<'_>, lowered: &Lowered, found: &mut Vec<Diagnostic>) {
    let Places { db, instance } = *places;
    let solved = match solved(db, instance) {
        Ok(solved) => solved,
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
        let solution = &solved.solution;
        let faults = Protocol::of(places, lowered).own_faults();
        found.extend(sync::findings(places, lowered, solution, synchronization(db, instance), faults));
        found.extend(waits::added(places, lowered, solution, faults));
        found.extend(registers::too_many(places, lowered, solved));
        found.extend(layout::redistributions(places, lowered, solved));
        found.extend(layout::scalar_products(places, lowered, solution));
        found.extend(padding_diagnostics(db, instance).iter().cloned());
        found.extend(layout::stopped(places, solution));
        found.extend(order::slower(places));
        found.extend(performance::notes(places, lowered, solved));
    }
}

/// The verdict on the protocol of an instance, with the program whose operations it names.
struct Protocol<'a> {
    faults: &'a [Fault],
    open: &'a [Open],
    lowered: &'a Lowered,
    /// Whether the operations are those of the instance. Otherwise the verdict was found on another instance, whose program
    /// differs.
    own: bool,
}

impl<'a> Protocol<'a> {
    fn of(places: &Places<'a>, lowered: &'a Lowered) -> Protocol<'a> {
        let (checked, verdict) = protocol_verdict(places.db, places.instance);
        let (faults, open) = (verdict.faults.as_slice(), verdict.open.as_slice());
        let other = (checked != places.instance).then(|| tile_program(places.db, checked).as_ref().ok());
        match other.flatten() {
            Some(other) if !has_operations_of(other, lowered) => {
                Protocol { faults, open, lowered: other, own: false }
            }
            _ => Protocol { faults, open, lowered, own: true },
        }
    }

    /// Returns the faults that name operations of the instance.
    fn own_faults(&self) -> &'a [Fault] {
        if self.own { self.faults } else { &[] }
    }

    /// Returns the warning that parts of the kernel were not checked; `None` if there is none, or if the protocol has a fault.
    fn unchecked(&self, places: &Places<'_>) -> Option<Diagnostic> {
        match self.faults {
            [] => unchecked::pipelines(places, self.lowered, self.open),
            _ => None,
        }
    }

    fn findings(&self, places: &Places<'_>, found: &Findings) -> Vec<Diagnostic> {
        match self.own {
            true => {
                let faults = sync::with_barriers(self.lowered, self.faults, found);
                protocol::faults(places, self.lowered, &faults)
            }
            false => protocol::faults(places, self.lowered, self.faults),
        }
    }
}

/// Reports whether the operations of a program have the same numbers in another one, which may have more.
fn has_operations_of(program: &Lowered, other: &Lowered) -> bool {
    program.program.ops(1.0).into_iter().all(|(op, _)| {
        let same = other.program.op(op.id);
        same.is_some_and(|same| same.origin == op.origin && same.kind.name() == op.kind.name())
    })
}

/// Maps operations and tensors of an instance to places in files.
#[derive(Clone, Copy)]
pub(crate) struct Places<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) instance: Instance<'db>,
}

impl<'db> Places<'db> {
    /// Returns the place of the kernel's name.
    fn kernel(&self) -> (SourceFile, TextRange) {
        let kernel = self.instance.kernel(self.db);
        let place = Place { item: kernel.key(self.db), part: ItemPart::Name };
        let start = TextRange::empty(Item::Kernel(kernel).offset(self.db));
        place.range(self.db).unwrap_or((kernel.file(self.db), start))
    }

    fn origin(&self, lowered: &Lowered, origin: hx_tile::Origin) -> Option<(SourceFile, TextRange)> {
        lowered.sources.origins.get(origin.0 as usize)?.place.range(self.db)
    }

    /// Returns the calls that led to the function that contains an operation, innermost first.
    fn calls(&self, lowered: &Lowered, op: OpId) -> Vec<(SourceFile, TextRange)> {
        let at = |origin: hx_tile::Origin| lowered.sources.origins.get(origin.0 as usize);
        let start = lowered.program.op(op).and_then(|op| at(op.origin)?.call);
        let calls = std::iter::successors(start, |call| at(*call)?.call);
        calls.filter_map(|call| self.origin(lowered, call)).collect()
    }

    fn op(&self, lowered: &Lowered, op: OpId) -> Option<(SourceFile, TextRange)> {
        self.origin(lowered, lowered.program.op(op)?.origin)
    }

    /// Returns the place where an operation names a shared tensor: of a product the operand, of others the whole operation;
    /// `None` if that has no place in the source.
    fn touched(&self, lowered: &Lowered, op: OpId, tensor: TensorId) -> Option<(SourceFile, TextRange)> {
        let operand = lowered.program.op(op).and_then(|op| {
            let OpKind::Gemm { a, b, .. } = &op.kind else { return None };
            let operand = [a, b].into_iter().find(|operand| operand.view.base == Base::Shared(tensor))?;
            // The register tensor of a load that a solution may add has the place of the operand.
            Some(lowered.program.tensor(operand.load?.tensor).origin)
        });
        operand.and_then(|origin| self.origin(lowered, origin)).or_else(|| self.op(lowered, op))
    }

    /// Returns the range of an origin in the text of the kernel itself; `None` if it is in a function that the kernel calls.
    pub(crate) fn own(&self, lowered: &Lowered, origin: hx_tile::Origin) -> Option<TextRange> {
        let place = &lowered.sources.origins.get(origin.0 as usize)?.place;
        if place.item != self.instance.kernel(self.db).key(self.db) {
            return None;
        }
        place.range(self.db).map(|(_, range)| range)
    }

    /// Returns the statement of the kernel around a range; `None` if the range is in none.
    pub(crate) fn statement(&self, range: TextRange) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        Some(crate::statements::statement(self.db, Item::Kernel(kernel), range - offset)? + offset)
    }

    /// Returns the innermost statement of the kernel that contains a statement; `None` if none does.
    pub(crate) fn statement_around(&self, stmt: TextRange) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        Some(crate::statements::statement_around(self.db, Item::Kernel(kernel), stmt - offset)? + offset)
    }

    /// Returns the statements of the kernel in a range, in the order of the text.
    pub(crate) fn statements_in(&self, range: TextRange) -> Vec<TextRange> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        let found = crate::statements::statements_in(self.db, Item::Kernel(kernel), range - offset);
        found.into_iter().map(|stmt| stmt + offset).collect()
    }

    /// Returns the names that a `let` of the kernel binds; `None` if another statement is at the range.
    pub(crate) fn bound_names(&self, stmt: TextRange) -> Option<BTreeSet<Name>> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        crate::statements::bound_names(self.db, Item::Kernel(kernel), stmt - offset)
    }

    /// Returns the names that the kernel mentions in a range.
    pub(crate) fn mentioned_names(&self, range: TextRange) -> BTreeSet<Name> {
        let kernel = self.instance.kernel(self.db);
        let offset = kernel.offset(self.db);
        crate::statements::mentioned_names(self.db, Item::Kernel(kernel), range - offset)
    }

    /// Returns the last statement of the kernel; `None` if it has none.
    pub(crate) fn last_statement(&self) -> Option<TextRange> {
        let kernel = self.instance.kernel(self.db);
        Some(crate::statements::last_statement(self.db, Item::Kernel(kernel))? + kernel.offset(self.db))
    }

    fn tensor(&self, lowered: &Lowered, tensor: TensorId) -> Option<(SourceFile, TextRange)> {
        self.origin(lowered, lowered.program.tensors.get(tensor.0 as usize)?.origin)
    }

    /// Returns the finding that the architecture lacks an ability.
    fn lacking(&self, lowered: Option<&Lowered>, need: &Need) -> Diagnostic {
        let at = match need.at {
            NeededAt::Cluster => self.cluster(),
            NeededAt::Roles => self.warp_groups(),
            NeededAt::Made(origin) => lowered.and_then(|lowered| self.origin(lowered, origin)),
            NeededAt::Op(op) => lowered.and_then(|lowered| self.op(lowered, op)),
        };
        let (file, range) = at.unwrap_or_else(|| self.kernel());
        let target = self.instance.target(self.db);
        let message = format!("found {}, which `{target}` does not have", need.what);
        let found = Diagnostic::new(&codes::NEEDS_TARGET, file, range, message);
        let Some(first) = Target::first_with(need.feature) else { return found };
        let own = Target::all()
            .iter()
            .copied()
            .find(|other| other.capability == target.capability && other.has(need.feature));
        let [major, minor] = first.capability;
        let first = Target::of_capability(major, minor).unwrap_or(first);
        found.help(match own {
            Some(own) => format!("`--target {own}`, for those GPUs alone, has {}", need.name),
            None if target.capability < first.capability => {
                format!("`--target {first}` has {}; older targets do not", need.name)
            }
            None => format!(
                "`--target {first}` has {}; GPUs of compute capability {} do not",
                need.name,
                target.capability.map(|n| n.to_string()).join(".")
            ),
        })
    }

    /// Returns the place of the word `warp_groups` in the kernel's body; `None` if it is not there.
    fn warp_groups(&self) -> Option<(SourceFile, TextRange)> {
        let kernel = self.instance.kernel(self.db);
        let item = Item::Kernel(kernel);
        let mut stmts = hx_hir::body_of(self.db, item).store.stmts.iter();
        let roles = stmts.find(|(_, stmt)| matches!(stmt.kind, hx_hir::StmtKind::WarpGroups(_)))?.0;
        let whole = hx_hir::body_source_map(self.db, item)?.stmt(roles)? + kernel.offset(self.db);
        let word = TextSize::of("warp_groups").min(whole.len());
        Some((kernel.file(self.db), TextRange::at(whole.start(), word)))
    }

    /// Returns the place of the `cluster` in the kernel's header; `None` if it has none.
    fn cluster(&self) -> Option<(SourceFile, TextRange)> {
        let kernel = self.instance.kernel(self.db);
        let cluster = hx_hir::kernel_signature(self.db, kernel).cluster?;
        let place =
            hx_lower::Place { item: kernel.key(self.db), part: hx_lower::ItemPart::Signature(cluster) };
        place.range(self.db)
    }

    fn stop(&self, lowered: Option<&Lowered>, stop: &Stop) -> Vec<Diagnostic> {
        match stop {
            Stop::Unsound => {
                let form = self.instance.form(self.db);
                let kernel = Item::Kernel(form.kernel(self.db));
                hx_hir::all_reached_errors(self.db, std::iter::once(kernel).chain(form.functions(self.db)))
            }
            Stop::Program(errors) => errors.iter().filter_map(|error| error.to_diagnostic(self.db)).collect(),
            Stop::Target(lacks) => lacks.iter().map(|need| self.lacking(lowered, need)).collect(),
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
