//! The analysis of synchronization as queries.

use hx_sync::{Asked, Findings, find, protocol, stores, unwritten};

use crate::{Db, Instance, routed_program, thread_program};

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
///
/// Returns the instance with whose program the verdict was found. It is another one if too few launches have the facts of this one:
/// with `where bounds == experts + 1` no launch has multiples of 16 for both. It is also another one if the roles agree only because
/// lengths are multiples of 16, which no launch needs.
pub fn protocol_verdict<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
) -> (Instance<'db>, &'db protocol::Verdict) {
    let own = of_form::verdict(db, instance.form(db));
    if !own.faults.is_empty() {
        return (instance, own);
    }
    let with = |form| (Instance::new(db, form, 0), of_form::verdict(db, form));
    if let Some((other, found)) = of_form::of_any_length(db, instance.form(db)).map(with) {
        // A kernel that is compiled for such lengths only is not launched with others.
        let is_launched = || thread_program(db, other).is_ok();
        let decides = !own.open.is_empty() && found.open.is_empty() && found.launches > 0;
        if decides || !found.faults.is_empty() && is_launched() {
            return (other, found);
        }
    }
    if own.open.is_empty() {
        return (instance, own);
    }
    match of_form::weaker(db, instance.form(db)).map(with) {
        Some((other, found)) if found.launches > 0 => (other, found),
        _ => (instance, own),
    }
}

mod of_form {
    use std::collections::BTreeSet;

    use hx_index::{CmpOp, Cond, Symbol};
    use hx_sync::{protocol, stores, unwritten};

    use crate::{Db, Form, program_of_form};

    /// Checks a form once: the protocol does not depend on the candidate.
    #[salsa::tracked]
    pub(super) fn verdict<'db>(db: &'db dyn Db, form: Form<'db>) -> protocol::Verdict {
        match program_of_form(db, form) {
            Ok(lowered) => protocol::verdict(&lowered.program, &|| db.unwind_if_revision_cancelled()),
            Err(_) => protocol::Verdict::default(),
        }
    }

    #[salsa::tracked]
    pub(super) fn store_faults<'db>(db: &'db dyn Db, form: Form<'db>) -> Vec<stores::Fault> {
        match program_of_form(db, form) {
            Ok(lowered) => stores::faults(&lowered.program, &|| db.unwind_if_revision_cancelled()),
            Err(_) => Vec::new(),
        }
    }

    #[salsa::tracked]
    pub(super) fn unwritten_registers<'db>(db: &'db dyn Db, form: Form<'db>) -> Vec<unwritten::Fault> {
        match program_of_form(db, form) {
            Ok(lowered) => unwritten::faults(&lowered.program, &|| db.unwind_if_revision_cancelled()),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the form without the divisors of the dimensions in comparisons by `==` and `!=`; `None` if there are none.
    pub(super) fn weaker<'db>(db: &'db dyn Db, form: Form<'db>) -> Option<Form<'db>> {
        let lowered = program_of_form(db, form).as_ref().ok()?;
        let mut names = BTreeSet::new();
        lowered.program.requires.iter().for_each(|requirement| equal(&requirement.cond, &mut names));
        without_divisors(db, form, names)
    }

    /// Returns the form without the divisors of the dimensions that decide loops and conditions of roles which differ in them; `None`
    /// if there are none.
    pub(super) fn of_any_length<'db>(db: &'db dyn Db, form: Form<'db>) -> Option<Form<'db>> {
        let lowered = program_of_form(db, form).as_ref().ok()?;
        without_divisors(db, form, protocol::lengths(&lowered.program))
    }

    fn without_divisors<'db>(db: &'db dyn Db, form: Form<'db>, names: BTreeSet<Symbol>) -> Option<Form<'db>> {
        let mut facts = form.facts(db).clone();
        for symbol in names {
            if let Symbol::Dim(name) = symbol {
                facts.dims.insert(name, 1);
            }
        }
        (facts != *form.facts(db))
            .then(|| Form::new(db, form.kernel(db), form.args(db).clone(), facts, form.target(db)))
    }

    /// Collects the symbols of the comparisons by `==` and `!=` in a condition.
    fn equal(cond: &Cond, symbols: &mut BTreeSet<Symbol>) {
        match cond {
            Cond::Cmp(CmpOp::Eq | CmpOp::Ne, ..) => symbols.extend(cond.symbols()),
            Cond::And(all) | Cond::Or(all) => all.iter().for_each(|cond| equal(cond, symbols)),
            Cond::Cmp(CmpOp::Lt | CmpOp::Le, ..) | Cond::True | Cond::False => {}
        }
    }
}

/// Returns the accesses to global memory that bulk stores of the instance are still writing. Needs no layouts.
pub fn store_faults<'db>(db: &'db dyn Db, instance: Instance<'db>) -> &'db Vec<stores::Fault> {
    of_form::store_faults(db, instance.form(db))
}

/// Returns the reads of register tensors of the instance that nothing has written. Needs no layouts.
pub fn unwritten_registers<'db>(db: &'db dyn Db, instance: Instance<'db>) -> &'db Vec<unwritten::Fault> {
    of_form::unwritten_registers(db, instance.form(db))
}
