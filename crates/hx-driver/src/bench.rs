//! Benches: finding them, and running one after the other on a machine that can time.
//!
//! What they come to is plain data; [`record`] is its form in files.

pub(crate) mod record;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use hx_base::{Diagnostic, SourceFile, codes};
use hx_hir::{ItemKind, Sound, reached_errors};
use hx_host::Value;
use hx_host::bench::Group;
use hx_host::eval::{Options, Session};
use hx_workspace::Database;

use crate::launch::{Launcher, Timing};
use crate::machine::Machine;
use crate::test::{Captured, Case, Filter, Listing, case_seed, list, panicked};

/// How to run benches.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchOptions {
    /// What the random functions start from, mixed with each case's name.
    pub seed: u64,
    /// For each bench.
    pub timeout: Option<Duration>,
    pub timing: Timing,
    /// Measure every candidate of the measured kernels, too.
    pub candidates: bool,
}

/// What became of one bench, or of one case of it.
#[derive(Clone, Debug)]
pub struct BenchReport {
    pub case: Case,
    /// What was timed, or the errors that ended it.
    pub outcome: Result<Vec<Group>, Vec<Diagnostic>>,
    /// What it printed.
    pub output: Vec<String>,
}

/// Finds the benches of files. Cases are evaluated, kernels are not.
pub fn list_benches(db: &Database, files: &[SourceFile], filter: &Filter) -> Listing {
    list(db, files, filter, ItemKind::Bench)
}

/// Runs benches in their order, and hands each report to `each`. One runs at a time: they share the GPU's clock.
pub fn run_benches(
    db: &Database,
    cases: &[Case],
    machine: &Machine,
    options: &BenchOptions,
    stop: &AtomicBool,
    mut each: impl FnMut(BenchReport),
) {
    for case in cases {
        let deadline = options.timeout.map(|limit| Instant::now() + limit);
        let mut captured = Captured::new(deadline, stop);
        let run = AssertUnwindSafe(|| run_case(db, case, machine, options, &mut captured));
        let outcome = catch_unwind(run).unwrap_or_else(|panic| Err(vec![panicked(db, case, &*panic)]));
        each(BenchReport { case: case.clone(), outcome, output: captured.lines });
    }
}

fn run_case(
    db: &Database,
    case: &Case,
    machine: &Machine,
    options: &BenchOptions,
    captured: &mut Captured<'_>,
) -> Result<Vec<Group>, Vec<Diagnostic>> {
    let gone = || {
        let range = hx_base::TextRange::empty(0.into());
        let message = format!("the bench `{}` is gone", case.name);
        vec![Diagnostic::new(&codes::HOST_ERROR, case.test.file, range, message)]
    };
    let item = case.test.find(db).ok_or_else(gone)?;
    let item = Sound::of(db, item).ok_or_else(|| reached_errors(db, item).clone())?;
    let mut launcher = Launcher::new(db, machine, captured.deadline, captured.stop).timed(options.timing);
    let given = Options {
        args: Vec::new(),
        seed: case_seed(options.seed, &case.name),
        unchecked: matches!(machine, Machine::CompileOnly(_)),
        candidates: options.candidates,
    };
    let mut session = Session::new(db, &mut launcher, captured, given);
    let value: Option<Value> = match case.index {
        None => None,
        Some(index) => {
            let values = session.cases(item).map_err(|error| error.diagnostics(db))?;
            Some(values.and_then(|v| v.into_iter().nth(index)).ok_or_else(gone)?)
        }
    };
    session.bench(item, value).map_err(|error| error.diagnostics(db))
}
