//! `hx test`: finds tests, runs them on the machines, and reports them.

mod junit;
mod progress;
mod tell;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use hx_base::{Diagnostic, codes};
use hx_driver::{
    Case, CaseReport, DRAWN_CASES, Filter, History, Listing, TestOptions, Verdict, WorkLimit, list_tests,
    run_tests_on,
};
use hx_inspect::Setup;
use hx_launch::{Levels, Machine, Tuned, open_compiler};
use hx_workspace::Manifest;

use self::progress::Progress;
use self::tell::Teller;
use self::watch::{Cause, SeenTests, Watch};
use super::run::lacks_environment;
use super::tuned::{self, Once};
use super::{Loaded, announce, load, machine_warnings, machines, setup_choosing, simulated};
use crate::cli::TestArgs;
use crate::output::Output;
use crate::{Exit, interrupt};

/// Number of tests by verdict.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Number of passed tests that failed in an earlier run of `--retries`; `passed` includes them.
    flaky: usize,
    /// Number of assertions that could not be judged, by reason.
    unjudged: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, report: &CaseReport) {
        match &report.verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
            Verdict::Failed(_) => self.failed += 1,
        }
        self.flaky += usize::from(report.is_flaky());
        for reason in &report.unjudged {
            *self.unjudged.entry(reason.clone()).or_default() += 1;
        }
    }

    /// Returns the number of tests with a verdict.
    fn ended(&self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

pub(crate) fn run(args: TestArgs, output: &Output) -> Exit {
    tested(&args, output).unwrap_or_else(|exit| exit)
}

fn tested(args: &TestArgs, output: &Output) -> Result<Exit, Exit> {
    let (paths, names) = paths_and_names(&args.choice.what);
    let mut loaded = load(&paths, output)?;
    loaded.choose(args.candidate);
    let tuned = match args.tuned.tuned.as_deref() {
        Some(named) => tuned::tuned(&loaded, &paths[0], Some(named), output)?,
        None => None,
    };
    let filter = Filter { names, exact: args.choice.exact, skip: args.choice.skip.clone() };
    // Ctrl-C ends the process directly while tests are listed, because no test has run yet.
    let each = WorkLimit { limit: time_limit(args.each.timeout, &loaded), ..WorkLimit::unlimited() };
    let mut listing = list_tests(&loaded.db, &loaded.files, &filter, each);
    let flag = args.orders.map(|_| "--orders").or(args.order.order.map(|_| "--order"));
    let flag = flag.or(args.report.report.then_some("--report"));
    let device = simulated(args.device.device, flag, output)?;
    let setup =
        setup_choosing(args.choosing, (device, &args.device.target), loaded.manifest.as_ref(), output)?;
    let here = std::env::current_dir().unwrap_or_default();
    let mut history = History::open(setup.cache.as_ref().map(|cache| cache.dir()), &here);
    if args.failed {
        listing.cases.retain(|case| history.has_failed(&case.name));
        listing.broken.retain(|name| history.has_failed(name));
    }
    output.diagnostics(&loaded.db, &listing.diagnostics);
    let none = listing.cases.is_empty() && listing.broken.is_empty();
    if let Some(shard) = args.shard {
        // The shards count broken tests before runnable ones, the order in which the report lists them.
        let mut at = 0..;
        let mut is_in = || at.next().is_some_and(|position| shard.has(position));
        listing.broken.retain(|_| is_in());
        listing.cases.retain(|_| is_in());
    }
    let mut teller = Teller::new(args, &loaded, output);
    if args.choice.list {
        teller.list(&listing);
        let exit = if none { Exit::NoTest } else { broken_files(&listing).unwrap_or(Exit::Good) };
        return Ok(loaded.exit(exit));
    }
    if none {
        let broken = broken_files(&listing);
        // Without a filter the reported errors already explain why there is no test.
        if broken.is_none() || args.failed || !filter.names.is_empty() {
            output.remark(if args.failed {
                "no test failed when it was last run"
            } else {
                "no test matches"
            });
        }
        teller.counts(&Counts::default(), Duration::ZERO);
        return Ok(loaded.exit(broken.unwrap_or(Exit::NoTest)));
    }
    if filter.names.is_empty() && filter.skip.is_empty() && !args.failed && args.shard.is_none() {
        let known: BTreeSet<&str> =
            listing.cases.iter().map(|c| &c.name).chain(&listing.broken).map(String::as_str).collect();
        loaded.files.iter().for_each(|file| history.keep_known(file.path(&loaded.db), &known));
    }
    drop(teller);
    let machines = opened(args, &setup, output)?;
    let mut runner = Runner { args, output, machines, history, tuned };
    let exit = runner.run(&loaded, &listing)?;
    if args.watch {
        return watched(&mut runner, &mut loaded, (&paths, &filter, each), listing);
    }
    Ok(loaded.exit(exit))
}

/// Runs tests again whenever a file changes, until Ctrl-C.
///
/// # Errors
/// `Exit::Environment` if a folder cannot be watched, and the exit codes of a run that cannot begin; the reason has been
/// reported.
fn watched(
    runner: &mut Runner<'_>,
    loaded: &mut Loaded,
    (paths, filter, each): (&[String], &Filter, WorkLimit<'_>),
    listing: Listing,
) -> Result<Exit, Exit> {
    let output = runner.output;
    let failed = |reason: String| {
        output.placeless_parts(&codes::IO_ERROR, &reason, &[], &[]);
        Exit::Environment
    };
    let mut known = SeenTests::default();
    known.affected(&loaded.db, &listing);
    let mut watch = Watch::new().map_err(failed)?;
    loop {
        watch.follow(&loaded.db, paths).map_err(failed)?;
        output.remark("waiting for changes; Enter runs all tests, Ctrl-C ends");
        let changed = match watch.wait() {
            Cause::Interrupted => return Ok(Exit::Interrupted),
            Cause::Asked => None,
            Cause::Changed(changed) => {
                watch::reload(loaded, paths, &changed);
                Some(changed)
            }
        };
        let mut listing = list_tests(&loaded.db, &loaded.files, filter, each);
        output.diagnostics(&loaded.db, &listing.diagnostics);
        let affected = known.affected(&loaded.db, &listing);
        if let Some(changed) = changed {
            let all = listing.cases.len();
            let history = &runner.history;
            listing.cases.retain(|case| affected.contains(&case.name) || history.has_failed(&case.name));
            let names = changed.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
            let names = names.collect::<Vec<_>>().join(", ");
            output.remark(&format!("{names} changed: {} of {all} tests run", listing.cases.len()));
        }
        if !listing.cases.is_empty() || !listing.broken.is_empty() {
            runner.run(loaded, &listing)?;
        }
        if interrupt::requested() {
            return Ok(Exit::Interrupted);
        }
    }
}

/// Returns the time limit of each test or bench: that of the flag, which is in seconds, or else that of the project. `None` is
/// no limit.
pub(super) fn time_limit(flag: Option<f64>, loaded: &Loaded) -> Option<Duration> {
    flag.or(loaded.manifest.as_ref().and_then(|m| m.timeout)).map(Duration::from_secs_f64)
}

fn broken_files(listing: &Listing) -> Option<Exit> {
    listing.diagnostics.iter().any(Diagnostic::is_error).then_some(Exit::Bad)
}

/// Opens the machines on which the tests run, or the compiler if they only compile.
///
/// # Errors
/// `Exit::Environment` if a flag needs a GPU and a machine is none; otherwise that of a machine or compiler that cannot be
/// opened. The reason has been reported.
fn opened(args: &TestArgs, setup: &Setup, output: &Output) -> Result<Vec<Machine>, Exit> {
    let machines =
        if args.no_run { vec![announce(open_compiler(setup), output)?] } else { machines(setup, output)? };
    let levels = args.compare_levels.then_some("--compare-levels").or(args.optimize.map(|_| "--optimize"));
    let needs = args.require_gpu.then_some("--require-gpu").or(levels);
    if let Some(flag) = needs.filter(|_| !args.no_run && !machines.iter().all(Machine::is_gpu)) {
        let reason = format!("`{flag}` was given, and the tests would run on the simulator");
        output.placeless_parts(&codes::NO_GPU, &reason, &[], &[]);
        return Err(Exit::Environment);
    }
    Ok(machines)
}

/// Runs listed tests and reports them.
struct Runner<'r> {
    args: &'r TestArgs,
    output: &'r Output,
    machines: Vec<Machine>,
    history: History,
    tuned: Option<Tuned>,
}

impl Runner<'_> {
    fn run(&mut self, loaded: &Loaded, listing: &Listing) -> Result<Exit, Exit> {
        let exit = self.execute(loaded, listing);
        if let Err(reason) = self.history.save() {
            self.output.placeless_parts(&codes::CACHE_UNWRITABLE, &reason, &[], &[]);
        }
        Ok(exit)
    }

    fn options(&self, manifest: Option<&Manifest>, loaded: &Loaded) -> TestOptions<'_> {
        let args = self.args;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let only = args.order.order.unwrap_or(0);
        TestOptions {
            orders: args.orders.map_or(only..=only, |orders| 0..=orders - 1),
            seed: args.each.seed.or(manifest.and_then(|m| m.seed)).unwrap_or(0),
            timeout: time_limit(args.each.timeout, loaded),
            jobs: args.jobs.unwrap_or(cores.max(self.machines.len())),
            tuned: self.tuned.as_ref(),
            fail_fast: args.fail_fast,
            retries: args.retries,
            cases: args.cases.or(manifest.and_then(|m| m.cases)).map_or(DRAWN_CASES, |n| n as usize),
            observer: None,
            report: args.report.report,
            levels: if args.compare_levels { Levels::Compared } else { Levels::One(args.optimize) },
        }
    }

    fn execute(&mut self, loaded: &Loaded, listing: &Listing) -> Exit {
        let (args, output, begun) = (self.args, self.output, Instant::now());
        let mut history = std::mem::take(&mut self.history);
        let mut teller = Teller::new(args, loaded, output);
        super::limit_memory(args.each.memory, loaded.manifest.as_ref());
        let mut once = Once::default();
        let mut counts = Counts::default();
        for name in &listing.broken {
            counts.failed += 1;
            history.record(name, true);
            teller.broken(name);
        }
        let mut only_environment = listing.broken.is_empty();
        let mut times = Vec::new();
        let stop = interrupt::flag();
        // A test with errors in its text counts as a failure, so with `--fail-fast` no other test begins.
        let cases = if args.fail_fast && !listing.broken.is_empty() { &[] } else { listing.cases.as_slice() };
        let known = |case: &Case| case.clone().starting_with(history.failed_cases(&case.name));
        let cases: Vec<Case> = cases.iter().map(known).collect();
        let progress = Progress::new(output, cases.len());
        let options = self.options(loaded.manifest.as_ref(), loaded);
        let options = TestOptions { observer: Some(&progress), ..options };
        run_tests_on(&loaded.db, &cases, &self.machines, &options, stop, |report| {
            progress.print(|| {
                times.push((report.time, report.case.name.clone()));
                once.remark(&report.remarks, output);
                once.findings(&report.findings, &loaded.db, output);
                if let Verdict::Failed(found) = &report.verdict {
                    only_environment &= lacks_environment(found);
                }
                counts.add(&report);
                if !matches!(report.verdict, Verdict::Skipped(_)) {
                    record(&mut history, &report);
                }
                teller.case(&report, &self.machines, &options);
            });
        });
        let running = progress.end();
        self.history = history;
        let (ended, all) = (counts.ended(), listing.cases.len() + listing.broken.len());
        if interrupt::requested() {
            output.remark(&format!("interrupted: {ended} of {all} tests ended"));
            running.iter().for_each(|name| output.remark(&format!("  interrupted in {name}")));
        } else if args.fail_fast && counts.failed > 0 {
            output.remark(&format!("stopped after a failure: {ended} of {all} tests ended"));
        } else {
            // A case without a report has lost its thread, so it counts as failed.
            counts.failed += all.saturating_sub(ended);
        }
        machine_warnings(&self.machines, output);
        for (reason, count) in &counts.unjudged {
            let s = if *count == 1 { " was" } else { "s were" };
            output.remark(&format!("{count} assertion{s} skipped: {reason}"));
        }
        if let Some(count) = args.slowest {
            teller.slowest(times, count);
        }
        if counts.flaky > 0 {
            let s = if counts.flaky == 1 { " is" } else { "s are" };
            output.remark(&format!("{} test{s} flaky: failed, then passed", counts.flaky));
        }
        if output.draws() {
            let s = if ended == 1 { "" } else { "s" };
            output.remark(&format!("{ended} test{s} took {}", tell::show_time(begun.elapsed())));
        }
        teller.counts(&counts, begun.elapsed());
        match counts.failed {
            0 => broken_files(listing).unwrap_or(Exit::Good),
            _ if only_environment => Exit::Environment,
            _ => Exit::Bad,
        }
    }
}

/// Records the result of a test. For one case of a `forall`, a pass leaves the verdict of the test as it was. A failure makes the
/// test fail, and the case runs first in the test's next run.
fn record(history: &mut History, report: &CaseReport) {
    let (test, failed) = (report.case.test_name(), matches!(report.verdict, Verdict::Failed(_)));
    let is_whole = test == report.case.name;
    if is_whole && report.drawn.is_some() {
        history.forget_cases(test);
    }
    history.record(&report.rerun_name(), failed);
    if failed || is_whole {
        history.record(test, failed);
    }
}

/// Splits arguments into paths and filters. An argument is a path if it exists, ends in `.hx` or is `std`; all others are
/// filters. Without a path, the files of filters like `path::title` are the paths, or else the current folder.
pub(super) fn paths_and_names(what: &[String]) -> (Vec<String>, Vec<String>) {
    let is_path = |text: &str| Path::new(text).exists() || text.ends_with(".hx") || text == "std";
    let (mut paths, mut names) = (Vec::new(), Vec::new());
    let mut named_files = Vec::new();
    for text in what {
        if is_path(text) {
            paths.push(text.clone());
            continue;
        }
        names.push(text.clone());
        if let Some((file, _)) = text.split_once("::")
            && is_path(file)
        {
            named_files.push(file.to_owned());
        }
    }
    if paths.is_empty() {
        paths = named_files;
    }
    if paths.is_empty() {
        paths.push(".".to_owned());
    }
    (paths, names)
}
