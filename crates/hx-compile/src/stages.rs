//! The stages as queries. Each result is plain data without positions, so an edit that moves text re-runs none of them.

use std::sync::Arc;

use hx_codegen::{CudaSource, Lines};
use hx_hir::Sound;
use hx_lower::{Forms, LowerError, Lowered, Rings};
use hx_synth::{Failure, Solved};
use hx_thread::ThreadProgram;
use hx_tile::Demand;
use hx_verify::Violation;

use crate::forms::{Chosen, best_forms};
use crate::instance::Form;
use crate::needs;
use crate::orders::with_orders;
use crate::stop::Stop;
use crate::{Db, Instance, lines};

/// Returns the tile program of an instance: operations on typed tensors, without layouts.
///
/// # Errors
/// If the kernel has errors ([`Stop::Unsound`]), or it has no tile program ([`Stop::Program`]).
pub fn tile_program<'db>(db: &'db dyn Db, instance: Instance<'db>) -> &'db Result<Lowered, Stop> {
    of_form::tile_program(db, instance.form(db))
}

/// Returns the tile program that all instances of a form share.
pub(crate) fn program_of_form<'db>(db: &'db dyn Db, form: Form<'db>) -> &'db Result<Lowered, Stop> {
    of_form::tile_program(db, form)
}

/// Returns the tile program of a form with the loads that the text says, where [`program_of_form`] may stage them. A value does not depend on
/// the way that it takes.
///
/// # Errors
/// As for [`tile_program`].
pub(crate) fn written_form<'db>(db: &'db dyn Db, form: Form<'db>) -> &'db Result<Lowered, Stop> {
    of_form::as_written(db, form)
}

/// Returns the program of an instance as if loops that load for products only had `pipelined(3)`, with its solution. `None` if there is no such
/// loop, or no solution.
pub(crate) fn offered<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<&'db Chosen> {
    of_form::offered(db, instance.form(db)).as_ref()
}

mod of_form {
    use super::*;

    #[salsa::tracked]
    pub(super) fn tile_program<'db>(db: &'db dyn Db, form: Form<'db>) -> Result<Lowered, Stop> {
        chosen(db, form).as_ref().map(|chosen| chosen.lowered.clone()).map_err(Stop::clone)
    }

    #[salsa::tracked]
    pub(super) fn as_written<'db>(db: &'db dyn Db, form: Form<'db>) -> Result<Lowered, Stop> {
        let chosen = chosen(db, form).as_ref().map_err(Stop::clone)?;
        if !chosen.lowered.sources.rings && !chosen.lowered.sources.stageable {
            return Ok(chosen.lowered.clone());
        }
        lowered(db, form, Forms { rings: Rings::Unstaged, ..Forms::PLAIN }).map_err(Stop::Program)
    }

    #[salsa::tracked]
    pub(super) fn offered<'db>(db: &'db dyn Db, form: Form<'db>) -> Option<Chosen> {
        chosen(db, form).as_ref().ok().filter(|chosen| chosen.lowered.sources.stageable)?;
        let poll = || {
            db.unwind_if_revision_cancelled();
            false
        };
        let offering = |forms: Forms| lowered(db, form, Forms { offers: true, ..forms });
        if offering(Forms::PLAIN).ok()?.sources.offered.is_empty() {
            return None;
        }
        let mut found = best_forms(&offering, &poll).ok()?;
        if found.solved.is_none() && needs::check(&found.lowered.program).is_ok() {
            found.solved = hx_synth::solve(&found.lowered.program, &poll).ok();
        }
        found.solved.is_some().then_some(found)
    }

    /// Lowers a form once: instances that differ only in their candidate share the result.
    #[salsa::tracked]
    pub(super) fn chosen<'db>(db: &'db dyn Db, form: Form<'db>) -> Result<Chosen, Stop> {
        if Sound::of(db, form.kernel(db)).is_none()
            || form.functions(db).any(|function| Sound::of(db, function).is_none())
        {
            return Err(Stop::Unsound);
        }
        let poll = || {
            db.unwind_if_revision_cancelled();
            false
        };
        best_forms(&|forms| lowered(db, form, forms), &poll).map_err(Stop::Program)
    }

    /// Lowers a form whose kernel and functions have no errors.
    fn lowered<'db>(db: &'db dyn Db, form: Form<'db>, forms: Forms) -> Result<Lowered, Vec<LowerError>> {
        let Some(kernel) = Sound::of(db, form.kernel(db)) else { return Err(Vec::new()) };
        let args = with_orders(db, form)?;
        hx_lower::lower(db, kernel, &args, form.facts(db), (form.target(db), forms))
    }
}

/// Returns the solved program of an instance: the program with its rounds of copies, loads and moves, with layouts and instructions.
///
/// # Errors
/// If the kernel has errors, it has no tile program, the target lacks a feature that it needs, its layouts have no solution, or there
/// are fewer candidates than the instance names.
#[salsa::tracked]
pub fn solved<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Solved, Stop> {
    let number = instance.candidate(db) as usize;
    if number > 0 {
        let all = candidates(db, instance.with_candidate(db, 0)).as_ref().map_err(Stop::clone)?;
        let found = all.get(number).cloned();
        return found.ok_or_else(|| Stop::Layouts(Failure::no_candidate(number, all.len())));
    }
    let chosen = of_form::chosen(db, instance.form(db)).as_ref().map_err(Stop::clone)?;
    if let Some(solved) = &chosen.solved {
        return Ok(solved.clone());
    }
    let lowered = &chosen.lowered;
    needs::check(&lowered.program).map_err(Stop::Target)?;
    // A cancelled query unwinds at the poll, so the solver never sees a request to stop.
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::solve(&lowered.program, &poll).map_err(Stop::Layouts)
}

/// Returns the program as the text shows it, with the rounds of copies and the loads of operands of the solved program, or of the
/// search that failed. It has no moves, so that operations name the tensors of the text. Failures and conflicts name its operations and tensors.
///
/// # Errors
/// If the kernel has errors, or it has no tile program.
#[salsa::tracked]
pub fn routed_program<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Lowered, Stop> {
    let lowered = tile_program(db, instance).as_ref().map_err(Stop::clone)?;
    let program = match solved(db, instance) {
        Ok(solved) => solved.loaded(&lowered.program),
        Err(_) => Arc::new(hx_synth::loaded(&lowered.program)),
    };
    Ok(Lowered { program, ..lowered.clone() })
}

/// Returns all solutions of an instance that differ in what runs, cheapest first. The first one is chosen.
///
/// # Errors
/// If the kernel has errors, it has no tile program, the target lacks a feature that it needs, or its layouts have no solution.
#[salsa::tracked]
pub fn candidates<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Vec<Solved>, Stop> {
    let lowered = tile_program(db, instance).as_ref().map_err(Stop::clone)?;
    needs::check(&lowered.program).map_err(Stop::Target)?;
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::candidates(&lowered.program, &poll).map_err(Stop::Layouts)
}

/// Returns the constraints of an instance without layouts, as far as the search got; `None` if there is a solution, or no
/// tile program.
#[salsa::tracked]
pub fn demands<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Vec<Demand>> {
    let lowered = tile_program(db, instance).as_ref().ok()?;
    let Err(Stop::Layouts(_)) = solved(db, instance) else { return None };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    Some(hx_synth::demands(&lowered.program, &poll))
}

/// Returns what the independent verifier finds wrong in the solution of an instance; empty if there is no solution. The
/// verifier enumerates, so it runs in debug builds, in tests and on request.
#[salsa::tracked]
pub fn violations<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Violation> {
    match (tile_program(db, instance), solved(db, instance)) {
        (Ok(lowered), Ok(Solved { program, solution, .. })) => {
            let poll = || db.unwind_if_revision_cancelled();
            hx_verify::verify_polled(&lowered.program, program, solution, &poll)
        }
        _ => Vec::new(),
    }
}

/// Returns the code of every thread of an instance.
///
/// # Errors
/// As for [`solved`]. An error of the lowering itself is [`Stop::Internal`].
#[salsa::tracked]
pub fn thread_program<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<ThreadProgram, Stop> {
    let solved = solved(db, instance).as_ref().map_err(Stop::clone)?;
    let poll = || db.unwind_if_revision_cancelled();
    hx_thread::lower(&solved.program, &solved.solution, &poll).map_err(|error| Stop::Internal {
        stage: "thread program",
        op: Some(error.op),
        message: error.message,
    })
}

/// Returns the CUDA text of an instance and how it is launched. Line marks count from the kernel's header, so that text
/// above the kernel does not change the output.
///
/// # Errors
/// As for [`thread_program`]. An error of the emitter itself is [`Stop::Internal`].
#[salsa::tracked]
pub fn cuda_source<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<CudaSource, Stop> {
    let program = thread_program(db, instance).as_ref().map_err(Stop::clone)?;
    let file = lines::shown_name(db, instance);
    let of = lines::relative_lines(db, instance);
    let lines = Lines { file: &file, of };
    let poll = || db.unwind_if_revision_cancelled();
    hx_codegen::cuda_with_lines(program, Some(lines), &poll).map_err(|error| Stop::Internal {
        stage: "CUDA text",
        op: None,
        message: error.to_string(),
    })
}
