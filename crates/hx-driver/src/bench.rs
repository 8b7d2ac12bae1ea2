//! Finds benches, and runs them one after the other on a machine that can time.
//!
//! Results are plain data; [`record`] is their form in files.

mod ahead;
pub(crate) mod record;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hx_base::interrupt::{Ended, Until};
use hx_base::{Diagnostic, SourceFile, codes};
use hx_hir::{ItemKind, Sound, reached_errors};
use hx_host::Value;
use hx_host::bench::Group;
use hx_host::eval::{Options, Session};
use hx_launch::{Launcher, Machine, Timing, Tuned};
use hx_workspace::Database;

use crate::bounded::{WorkLimit, ended_at};
use crate::test::{Captured, Case, Failed, Filter, Listing, case_seed, list, panicked};

/// Options of a run of benches.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchOptions<'t> {
    /// Seed of the random functions; it is mixed with each case's name.
    pub seed: u64,
    /// Time limit of each bench; no limit if `None`.
    pub timeout: Option<Duration>,
    pub timing: Timing,
    /// Measure every candidate of the measured kernels, not only the chosen one.
    pub candidates: bool,
    /// Arguments of tuned kernels.
    pub tuned: Option<&'t Tuned>,
}

/// The result of one bench, or of one case of it.
#[derive(Clone, Debug)]
pub struct BenchReport {
    pub case: Case,
    /// The timed groups, or the errors that ended the bench.
    pub outcome: Result<Vec<Group>, Vec<Diagnostic>>,
    /// Lines that the bench printed.
    pub output: Vec<String>,
    /// Lines about the compile-time arguments of its kernels, each once.
    pub remarks: Vec<String>,
}

/// Finds the benches of files, in the way that [`list_tests`](crate::list_tests) finds tests.
pub fn list_benches(db: &Database, files: &[SourceFile], filter: &Filter, each: WorkLimit<'_>) -> Listing {
    list(db, files, filter, ItemKind::Bench, each)
}

/// The stages of [`run_benches`], in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BenchStage {
    Compiling,
    Timing,
}

/// Compiles the kernels of all benches at the same time, then runs the benches in order. Only one bench runs at a time, because they
/// share the GPU's clock.
///
/// `on_progress` receives the number of benches of a stage that are done; it is called on any thread.
pub fn run_benches(
    db: &Database,
    cases: &[Case],
    machine: &Machine,
    options: &BenchOptions<'_>,
    stop: &AtomicBool,
    on_progress: &(dyn Fn(BenchStage, usize) + Sync),
    mut each: impl FnMut(BenchReport),
) {
    ahead::compile_ahead(db, cases, machine, options, stop, &|done| on_progress(BenchStage::Compiling, done));
    for (at, case) in cases.iter().enumerate() {
        on_progress(BenchStage::Timing, at);
        let until = WorkLimit { stop, limit: options.timeout }.from_now();
        let mut captured = Captured::default();
        let run = AssertUnwindSafe(|| run_case(db, case, machine, options, until, &mut captured));
        let outcome = catch_unwind(run).unwrap_or_else(|panic| Err(vec![panicked(db, case, &*panic)]));
        each(BenchReport { case: case.clone(), outcome, output: captured.lines, remarks: captured.remarks });
    }
}

fn run_case(
    db: &Database,
    case: &Case,
    machine: &Machine,
    options: &BenchOptions<'_>,
    until: Until<'_>,
    captured: &mut Captured,
) -> Result<Vec<Group>, Vec<Diagnostic>> {
    let gone = || {
        let range = hx_base::TextRange::empty(0.into());
        let message = format!("the bench `{}` is gone", case.name);
        vec![Diagnostic::new(&codes::HOST_ERROR, case.test.file, range, message)]
    };
    let item = case.test.find(db).ok_or_else(gone)?;
    match until.run(db, |db| evaluated(db, case, machine, options, until, captured)) {
        Ok(Ok(groups)) => Ok(groups),
        Ok(Err(Failed::Unsound)) => Err(reached_errors(db, item).clone()),
        Ok(Err(Failed::Gone)) => Err(gone()),
        Ok(Err(Failed::At(error))) => Err(error.diagnostics(db)),
        Err(Ended) => Err(vec![ended_at(db, item)]),
    }
}

fn evaluated(
    db: &Database,
    case: &Case,
    machine: &Machine,
    options: &BenchOptions<'_>,
    until: Until<'_>,
    captured: &mut Captured,
) -> Result<Vec<Group>, Failed> {
    let item = case.test.find(db).and_then(|item| Sound::of(db, item)).ok_or(Failed::Unsound)?;
    let launcher = Launcher::new(db, machine, until).timed(options.timing).with_tuned(options.tuned);
    let mut launcher = launcher.keeping_results();
    let given = Options {
        args: Vec::new(),
        seed: case_seed(options.seed, &case.name),
        unchecked: !machine.runs(),
        candidates: options.candidates,
        hollow: !machine.runs(),
    };
    let mut session = Session::new(db, &mut launcher, captured, given);
    let groups = benched(&mut session, item, case);
    // Memory that cannot be freed is that of a dead worker, whose death the bench has reported.
    let _ = launcher.close();
    groups
}

fn benched<'a>(
    session: &mut Session<'a>,
    item: Sound<hx_hir::Item<'a>>,
    case: &Case,
) -> Result<Vec<Group>, Failed> {
    let value: Option<Value> = match case.index {
        None => None,
        Some(index) => {
            let values = session.cases(item).map_err(Failed::At)?;
            Some(values.and_then(|v| v.into_iter().nth(index)).ok_or(Failed::Gone)?)
        }
    };
    session.bench(item, value).map_err(Failed::At)
}
