//! Compiles the kernels of all benches at the same time, before the first bench runs: a bench alone compiles one after the other.
//!
//! Only evaluation tells which kernels a bench launches. So every bench is evaluated once with a device that compiles and runs
//! nothing, and with tensors of one repeated number that nobody reads, which takes next to no time. Failures are not reported here: the bench
//! reports the same failure when it runs, in its own order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_hir::Sound;
use hx_host::HostResult;
use hx_host::device::{
    Device, GemmRequest, LaunchError, LaunchReport, LaunchRequest, OrderQuestion, Step, Times,
};
use hx_host::eval::{Options, Session};
use hx_launch::{Launcher, Machine};
use hx_layout::Layout;
use hx_workspace::Database;

use super::BenchOptions;
use crate::bounded::WorkLimit;
use crate::test::{Captured, Case};

/// Stack of a thread that compiles, because the compiler's passes recurse into nested expressions.
const STACK: usize = 64 << 20;
/// Time limit of each bench. Host code that computes for longer is not worth waiting for.
const LIMIT: Duration = Duration::from_secs(60);

/// A device that compiles the kernels of launches and runs nothing.
struct Compiling<'a>(Launcher<'a>);

impl Device for Compiling<'_> {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        self.0.compile_only(request)
    }

    fn gemm(&mut self, _: &GemmRequest) -> Result<(), LaunchError> {
        Ok(())
    }

    fn candidates(&mut self, request: &LaunchRequest) -> Result<u32, LaunchError> {
        self.0.candidates(request)
    }

    fn packed_order(&mut self, question: &OrderQuestion) -> Result<Option<Layout>, LaunchError> {
        self.0.packed_order(question)
    }

    fn announce(&mut self, request: &LaunchRequest, count: u32) {
        self.0.announce(request, count);
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, _: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.0.compile_data().map(|()| Vec::new())
    }
}

/// Compiles the kernels of benches into the cache. A single bench compiles its own.
pub(super) fn compile_ahead(
    db: &Database,
    cases: &[Case],
    machine: &Machine,
    options: &BenchOptions<'_>,
    stop: &AtomicBool,
    on_progress: &(dyn Fn(usize) + Sync),
) {
    if cases.len() < 2 {
        return;
    }
    on_progress(0);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(cases.len()) {
            let (db, next, done) = (db.clone(), &next, &done);
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let until = WorkLimit { stop, limit: Some(LIMIT) }.from_now();
                    let compile = AssertUnwindSafe(|| compile(&db, case, machine, options, until));
                    let _ = catch_unwind(compile);
                    on_progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            };
            // Without a thread the benches compile their own kernels.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
}

fn compile(db: &Database, case: &Case, machine: &Machine, options: &BenchOptions<'_>, until: Until<'_>) {
    let _ = until.run(db, |db| {
        let item = case.test.find(db).and_then(|item| Sound::of(db, item))?;
        let mut device = Compiling(Launcher::new(db, machine, until).with_tuned(options.tuned));
        let mut captured = Captured::default();
        let given =
            Options { unchecked: true, hollow: true, candidates: options.candidates, ..Options::default() };
        let mut session = Session::new(db, &mut device, &mut captured, given);
        let value = match case.index {
            None => None,
            Some(index) => Some(session.cases(item).ok()??.into_iter().nth(index)?),
        };
        session.bench(item, value).ok().map(drop)
    });
}
