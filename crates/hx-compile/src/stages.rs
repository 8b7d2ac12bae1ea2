//! The stages as queries. Each holds plain data without positions, so an edit that moves text re-runs none of them.

use hx_codegen::{CudaSource, Lines};
use hx_hir::Sound;
use hx_lower::{LowerError, Lowered};
use hx_synth::Failure;
use hx_thread::ThreadProgram;
use hx_tile::{Demand, OpId, Solution};
use hx_verify::Violation;

use crate::{Db, Instance, lines};

/// Why an instance does not get past a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The kernel has errors, or something that it uses has: [`hx_hir::reached_errors`].
    Unsound,
    /// The kernel has no tile program; at least one reason.
    Program(Vec<LowerError>),
    /// There are no layouts or no instructions for it.
    Layouts(Failure),
    /// The compiler broke one of its own rules.
    Internal {
        /// Where in the compiler.
        stage: &'static str,
        /// The operation it happened at, if it was at one.
        op: Option<OpId>,
        /// What the stage said.
        message: String,
    },
}

/// The tile program of an instance: operations on typed tensors, no layouts.
#[salsa::tracked]
pub fn tile_program<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Lowered, Stop> {
    let kernel = Sound::of(db, instance.kernel(db)).ok_or(Stop::Unsound)?;
    hx_lower::lower(db, kernel, instance.args(db), instance.facts(db)).map_err(Stop::Program)
}

/// The layouts and instructions of an instance.
#[salsa::tracked]
pub fn solution<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Solution, Stop> {
    let number = instance.candidate(db) as usize;
    if number > 0 {
        let all = candidates(db, instance.with_candidate(db, 0)).as_ref().map_err(Stop::clone)?;
        let found = all.get(number).cloned();
        return found.ok_or_else(|| Stop::Layouts(Failure::no_candidate(number, all.len())));
    }
    let lowered = tile_program(db, instance).as_ref().map_err(Stop::clone)?;
    // A cancelled query unwinds at the poll, so the solver never sees a request to stop.
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::solve(&lowered.program, instance.arch(db), &poll).map_err(Stop::Layouts)
}

/// All solutions of an instance that differ in what runs, cheapest first; the first is the one that is chosen.
#[salsa::tracked]
pub fn candidates<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<Vec<Solution>, Stop> {
    let lowered = tile_program(db, instance).as_ref().map_err(Stop::clone)?;
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::candidates(&lowered.program, instance.arch(db), &poll).map_err(Stop::Layouts)
}

/// The constraints of an instance that has no layouts, as far as the search got; nothing where there is a solution, or no tile program.
#[salsa::tracked]
pub fn demands<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Vec<Demand>> {
    let lowered = tile_program(db, instance).as_ref().ok()?;
    let Err(Stop::Layouts(_)) = solution(db, instance) else { return None };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    Some(hx_synth::demands(&lowered.program, instance.arch(db), &poll))
}

/// What the independent checker says against the solution of an instance; nothing where there is none. It enumerates, so
/// it runs in debug builds, in tests and when asked for.
#[salsa::tracked]
pub fn violations<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<Violation> {
    match (tile_program(db, instance), solution(db, instance)) {
        (Ok(lowered), Ok(solution)) => {
            let poll = || db.unwind_if_revision_cancelled();
            hx_verify::verify_polled(&lowered.program, solution, instance.arch(db), &poll)
        }
        _ => Vec::new(),
    }
}

/// What every thread of an instance does.
#[salsa::tracked]
pub fn thread_program<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<ThreadProgram, Stop> {
    let solution = solution(db, instance).as_ref().map_err(Stop::clone)?;
    let lowered = tile_program(db, instance).as_ref().map_err(Stop::clone)?;
    let poll = || db.unwind_if_revision_cancelled();
    hx_thread::lower(&lowered.program, solution, &poll).map_err(|error| Stop::Internal {
        stage: "thread program",
        op: Some(error.op),
        message: error.message,
    })
}

/// The CUDA text of an instance and how it is launched. Line marks count from the kernel's header, so that text above the
/// kernel changes nothing.
#[salsa::tracked]
pub fn cuda_source<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<CudaSource, Stop> {
    let program = thread_program(db, instance).as_ref().map_err(Stop::clone)?;
    let file = lines::shown_name(db, instance);
    let of = lines::relative_lines(db, instance);
    let lines = Lines { file: &file, of };
    let poll = || db.unwind_if_revision_cancelled();
    hx_codegen::cuda_with_lines(program, instance.arch(db), Some(lines), &poll)
        .map_err(|error| Stop::Internal { stage: "CUDA text", op: None, message: error.to_string() })
}
