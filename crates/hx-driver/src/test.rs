//! Finds tests and their cases, runs them in parallel, and reports them in the order of the text.
//!
//! Finding tests needs no machine, so editors can list them. Every case has a stable name, `path::title[case]`.

mod docs;
mod property;
mod shrink;
mod trial;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use hx_base::interrupt::Ended;
use hx_base::{Diagnostic, Label, SourceFile, TextRange, TextSize, codes, fnv};
use hx_hir::{Db as HirDb, Item, ItemKey, ItemKind, Sound, file_items, item_range, reached_errors};
use hx_host::Value;
use hx_host::device::{LaunchReport, NoDevice};
use hx_host::eval::{EvalError, Options, Session, Surroundings, Suspect};
use hx_host::picture::Picture;
use hx_inspect::{KernelReport, foreign_errors, front_diagnostics};
use hx_launch::{Launcher, Levels, Machine, Old, Reporting, Tuned};
use hx_workspace::Database;
use web_time::Instant;

use crate::blame::{Settings, blame};
use crate::bounded::{WorkLimit, ended_at, ended_in, first_code};

pub use docs::{DocMode, DocTest};
pub use property::DRAWN_CASES;
pub(crate) use trial::Run;
pub use trial::{Drawn, Property};

/// Stack of a thread that runs cases, because the compiler's passes recurse into nested expressions.
const STACK: usize = 64 << 20;

/// The reason of a skip on a machine that only compiles kernels.
const COMPILED: &str = "compiled, not run";

/// Selects cases by name.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Substrings of names, or whole names with `exact`. A case fits if one of them fits; an empty list fits every case.
    pub names: Vec<String>,
    pub exact: bool,
    /// Substrings of names (whole names with `exact`) whose cases are left out.
    pub skip: Vec<String>,
}

impl Filter {
    fn wants(&self, name: &str) -> bool {
        let fits =
            |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern.as_str()) };
        (self.names.is_empty() || self.names.iter().any(fits)) && !self.skip.iter().any(fits)
    }
}

/// A test, or one case of a parameterized test.
#[derive(Clone, Debug)]
pub struct Case {
    /// `path::title[case]`.
    pub name: String,
    /// The item of the test.
    pub test: ItemKey,
    /// Index of the case in the test's list; `None` for a test without a list of cases.
    pub index: Option<usize>,
    /// The way in which the test runs, if it has a `forall`.
    pub property: Option<Property>,
    /// The place of the code, if it is in a doc comment.
    pub doc: Option<DocTest>,
}

/// The tests of some files.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// In the order of the files and of the text.
    pub cases: Vec<Case>,
    /// Diagnostics of the files, of the code that they use from other files, and of lists of cases that cannot be evaluated.
    pub diagnostics: Vec<Diagnostic>,
    /// Tests that do not run because of errors in them or in what they use.
    pub broken: Vec<String>,
}

/// Options of a run of tests.
#[derive(Clone, Debug)]
pub struct TestOptions<'t> {
    /// Seed of the random functions; it is mixed with each case's name.
    pub seed: u64,
    /// The orders of events in which each case runs on the simulator, until it fails. A case without a launch that has several
    /// orders runs once.
    pub orders: RangeInclusive<u64>,
    /// Time limit of each run of a case.
    pub timeout: Option<Duration>,
    /// Number of cases that run at the same time.
    pub jobs: usize,
    /// Arguments of tuned kernels.
    pub tuned: Option<&'t Tuned>,
    /// After a case has failed, no other begins. Those that run at that time come to their end and are reported.
    pub fail_fast: bool,
    /// A failed case runs at most this many times more, until it passes.
    pub retries: u32,
    /// Number of cases that are drawn for a test with a `forall`.
    pub cases: usize,
    /// Observes the cases while they run, such as a progress bar.
    pub observer: Option<&'t dyn Observer>,
    /// The cases report the counters of their launches on the simulator.
    pub report: bool,
    /// The levels of the assembler on a GPU.
    pub levels: Levels,
}

impl Default for TestOptions<'_> {
    /// Runs each case once, in order 0, one after the other, without a time limit.
    fn default() -> Self {
        TestOptions {
            seed: 0,
            orders: 0..=0,
            timeout: None,
            jobs: 1,
            tuned: None,
            fail_fast: false,
            retries: 0,
            cases: DRAWN_CASES,
            observer: None,
            report: false,
            levels: Levels::default(),
        }
    }
}

/// Observes cases while they run. The methods are called on the threads of the cases.
pub trait Observer: Sync + std::fmt::Debug {
    /// Receives a case before its first statement runs.
    fn case_begins(&self, case: &Case);
    /// Receives the report of a case that has ended.
    fn case_ends(&self, report: &CaseReport);
}

/// The result of a case.
#[derive(Clone, Debug)]
pub enum Verdict {
    Passed,
    Failed(Vec<Diagnostic>),
    /// The case was skipped, for this reason.
    Skipped(String),
}

/// The report of one case, with what it printed and found.
#[derive(Clone, Debug)]
pub struct CaseReport {
    pub case: Case,
    pub verdict: Verdict,
    /// Lines that the case printed.
    pub output: Vec<String>,
    pub time: Duration,
    /// Whether the case drew random numbers from the run's seed.
    pub uses_seed: bool,
    /// The order of events in which the case failed, if it passed in others, or if another one than 0 was asked for.
    pub order: Option<u64>,
    /// Assertions that could not be judged: one reason for each.
    pub unjudged: Vec<String>,
    /// Lines about the compile-time arguments of its kernels, each once.
    pub remarks: Vec<String>,
    /// The warnings about the kernels that it launched.
    pub findings: Vec<Diagnostic>,
    /// The position of the machine that ran the case.
    pub machine: usize,
    /// The failure of each run before the last, if the case ran several times.
    pub failures: Vec<Vec<Diagnostic>>,
    /// The tensor of a failed comparison.
    pub picture: Option<Picture>,
    /// The cases that were drawn, if the test has a `forall`.
    pub drawn: Option<Drawn>,
    /// Whether `hx step` leads to the failure: a launch has a fault, or wrote wrong elements.
    pub steps: bool,
    /// The counters of its launches on the simulator, if they are asked for: one report for each instance.
    pub kernels: Vec<KernelReport>,
}

impl CaseReport {
    /// Reports whether the case failed and then passed, though nothing had changed.
    pub fn is_flaky(&self) -> bool {
        !self.failures.is_empty() && matches!(self.verdict, Verdict::Passed)
    }
}

/// Finds the tests of files. Evaluates their lists of cases, but runs no kernel. `each` limits each file, and each list of cases.
pub fn list_tests(db: &Database, files: &[SourceFile], filter: &Filter, each: WorkLimit<'_>) -> Listing {
    list(db, files, filter, ItemKind::Test, each)
}

/// Finds the items of a kind (tests or benches) with their cases.
pub(crate) fn list(
    db: &Database,
    files: &[SourceFile],
    filter: &Filter,
    kind: ItemKind,
    each: WorkLimit<'_>,
) -> Listing {
    let mut listing = Listing::default();
    for &file in files {
        if kind == ItemKind::Test {
            let ran = each.from_now().run(db, |db| docs::list_file(db, file, filter, &mut listing));
            ran.unwrap_or_else(|Ended| listing.diagnostics.push(ended_in(file)));
        }
        for &item in &file_items(db, file).items {
            if kind == ItemKind::Test {
                let key = item.key(db);
                let ran = each.from_now().run(db, |db| docs::list_item(db, &key, filter, &mut listing));
                ran.unwrap_or_else(|Ended| listing.diagnostics.push(ended_at(db, item)));
            }
            if item.kind() == kind {
                list_item(db, item, filter, each, &mut listing);
            }
        }
        let found = each.from_now().run(db, |db| front_diagnostics(db, file));
        listing.diagnostics.extend(found.unwrap_or_else(|Ended| vec![ended_in(file)]));
    }
    let foreign = each.from_now().run(db, |db| foreign_errors(db, files));
    let ended = |Ended| files.first().map(|file| ended_in(*file)).into_iter().collect();
    listing.diagnostics.splice(0..0, foreign.unwrap_or_else(ended));
    number_repetitions(&mut listing.cases);
    // A case of a `forall` is listed only because the filter names it.
    listing.cases.retain(|case| filter.wants(&case.name));
    listing
}

/// Adds a test or bench with its cases to a listing.
fn list_item(db: &Database, item: Item<'_>, filter: &Filter, each: WorkLimit<'_>, listing: &mut Listing) {
    let (plain, key) = (title(db, item.file(db).path(db), item), item.key(db));
    let case = |name: String, index| Case { name, test: key.clone(), index, property: None, doc: None };
    match each.from_now().run(db, |db| listed(db, &key)) {
        Ok(Listed::Cases(None)) => listing.cases.push(case(plain, None)),
        Ok(Listed::Drawn) => listing.cases.extend(property::wanted(filter, &plain, &key)),
        Ok(Listed::Cases(Some(values))) => {
            for (index, value) in values.iter().enumerate() {
                let name = format!("{plain}[{}]", hx_base::printable(&case_text(value)));
                listing.cases.push(case(name, Some(index)));
            }
        }
        // The list of cases itself may have the error, so the test is listed as a whole.
        Ok(Listed::Unsound) if filter.wants(&plain) => listing.broken.push(plain),
        Ok(Listed::Unsound) => {}
        Ok(Listed::Failed(error)) => {
            listing.diagnostics.extend(error.diagnostics(db));
            listing.broken.push(plain);
        }
        Err(Ended) => {
            listing.diagnostics.push(ended_at(db, item));
            listing.broken.push(plain);
        }
    }
}

/// Returns the place of a case's `test` keyword, or of the fence of code in a doc comment; `None` if the test is no longer in
/// its file.
pub fn case_place(db: &Database, case: &Case) -> Option<(SourceFile, TextSize)> {
    match &case.doc {
        Some(doc) => Some((doc.file, doc.fence.start())),
        None => Some((case.test.file, first_code(db, case.test.find(db)?))),
    }
}

/// Returns `path::title`, followed by a number if several tests of a file have the same title.
fn title(db: &dyn HirDb, path: &str, item: Item<'_>) -> String {
    let key = item.key(db);
    let number = if key.nth > 0 { format!("#{}", key.nth + 1) } else { String::new() };
    // The name is printed, listed, and typed at a prompt: escape the characters that a terminal would interpret, in all of them.
    hx_base::printable(&format!("{path}::{}{number}", key.name)).into_owned()
}

/// Formats a case: `64, 64, 16` for the case `(64, 64, 16)`.
fn case_text(value: &Value) -> String {
    let text = value.brief();
    match value {
        Value::Tuple(v) if v.len() > 1 => text[1..text.len() - 1].to_owned(),
        _ => text,
    }
}

/// Numbers cases that have the same name, so that `--exact` can select each.
fn number_repetitions(cases: &mut [Case]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases {
        let count = seen.entry(case.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            case.name = format!("{}#{count}", case.name);
        }
    }
}

/// The cases of a test or bench, or the reason why they are unknown.
enum Listed {
    /// The values of the list of cases; `None` for an item without a list.
    Cases(Option<Vec<Value>>),
    /// The cases are drawn when the test runs.
    Drawn,
    /// The item has errors, or uses an item that has errors.
    Unsound,
    /// The list of cases cannot be evaluated.
    Failed(EvalError),
}

fn listed(db: &Database, item: &ItemKey) -> Listed {
    let Some(item) = item.find(db).and_then(|item| Sound::of(db, item)) else { return Listed::Unsound };
    if !item.body(db).forall.is_empty() {
        return Listed::Drawn;
    }
    let mut surroundings = Vec::<String>::new();
    let mut device = NoDevice;
    let mut session = Session::new(db, &mut device, &mut surroundings, Options::default());
    session.cases(item).map_or_else(Listed::Failed, Listed::Cases)
}

/// Collects the prints of a case, and the reasons of unjudged assertions.
#[derive(Default)]
pub(crate) struct Captured {
    pub lines: Vec<String>,
    pub unjudged: Vec<String>,
    /// Lines about the compile-time arguments of kernels, each once.
    pub remarks: Vec<String>,
}

impl Surroundings for Captured {
    fn print(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn unjudged(&mut self, reason: &str) {
        self.unjudged.push(reason.to_owned());
    }

    fn launched(&mut self, _: &str, report: &LaunchReport) {
        for line in &report.remarks {
            if !self.remarks.contains(line) {
                self.remarks.push(line.clone());
            }
        }
    }
}

/// Runs cases on one machine; see [`run_tests_on`].
pub fn run_tests(
    db: &Database,
    cases: &[Case],
    machine: &Machine,
    options: &TestOptions<'_>,
    stop: &AtomicBool,
    each: impl FnMut(CaseReport),
) {
    run_tests_on(db, cases, std::slice::from_ref(machine), options, stop, each);
}

/// Runs cases and hands their reports to `each` in the order of the cases, whichever ends first. The machines take turns: case `i`
/// runs on machine `i` modulo their number, so that a case runs on the same one each time. Once `stop` is true no further case
/// begins, and cases that it interrupts have no report. Without a machine there are no reports. Without threads, as in a browser,
/// the cases run on the caller's thread.
pub fn run_tests_on(
    db: &Database,
    cases: &[Case],
    machines: &[Machine],
    options: &TestOptions<'_>,
    stop: &AtomicBool,
    each: impl FnMut(CaseReport),
) {
    let next = AtomicUsize::new(0);
    let jobs = options.jobs.clamp(1, cases.len().max(1));
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = || {
            let (db, send, next) = (db.clone(), send.clone(), &next);
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let turn = at % machines.len().max(1);
                    let (Some(case), Some(machine)) = (cases.get(at), machines.get(turn)) else { return };
                    if let Some(observer) = options.observer {
                        observer.case_begins(case);
                    }
                    let report = run_with_retries(Run { db: &db, case, machine, options, stop });
                    let report = CaseReport { machine: turn, ..report };
                    // An interrupted case has not ended.
                    if stop.load(Ordering::Relaxed) && was_stopped(&report) {
                        return;
                    }
                    if let Some(observer) = options.observer {
                        observer.case_ends(&report);
                    }
                    if options.fail_fast && matches!(report.verdict, Verdict::Failed(_)) {
                        next.store(cases.len(), Ordering::Relaxed);
                    }
                    if send.send((at, report)).is_err() {
                        return;
                    }
                }
            }
        };
        let start = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker());
        // Ignore a thread that cannot be started: the others run its cases.
        let started = (0..jobs).filter(|_| start().is_ok()).count();
        if started == 0 {
            worker()();
        }
        drop(send);
        in_order(receive, each);
    });
}

/// Hands out reports in the order of their numbers.
fn in_order(reports: mpsc::Receiver<(usize, CaseReport)>, mut each: impl FnMut(CaseReport)) {
    let mut waiting: BTreeMap<usize, CaseReport> = BTreeMap::new();
    let mut told = 0;
    for (at, report) in reports {
        waiting.insert(at, report);
        while let Some(report) = waiting.remove(&told) {
            each(report);
            told += 1;
        }
    }
    // After a stop the sequence has gaps: hand out the reports behind them.
    waiting.into_values().for_each(each);
}

/// Reports whether the case ended because of the time limit or the stop flag.
fn was_stopped(report: &CaseReport) -> bool {
    matches!(&report.verdict, Verdict::Failed(found) if found.iter().any(|d| d.code == &codes::TIME_LIMIT))
}

/// Runs a case until it passes, or until it has failed once more than there are retries. An interrupted case does not run again.
fn run_with_retries(run: Run<'_>) -> CaseReport {
    let mut failures = Vec::new();
    loop {
        let report = run_guarded(run);
        let stopped = run.stop.load(Ordering::Relaxed);
        match report.verdict {
            Verdict::Failed(found) if !stopped && failures.len() < run.options.retries as usize => {
                failures.push(found);
            }
            _ => return CaseReport { failures, ..report },
        }
    }
}

/// Runs a case. A panic of the compiler fails only this case.
fn run_guarded(run: Run<'_>) -> CaseReport {
    let (start, Run { db, case, machine, .. }) = (Instant::now(), run);
    let alone = || run_case(run);
    let whole = AssertUnwindSafe(|| match (&case.property, &case.doc) {
        (Some(Property::Drawn(_)), _) => property::run(run),
        (None, Some(doc)) => docs::run(db, case, doc, machine.runs(), alone),
        (Some(Property::Given(_) | Property::Trial(_)), _) | (None, None) => alone(),
    });
    let mut report =
        catch_unwind(whole).unwrap_or_else(|panic| failed(case, vec![panicked(db, case, &*panic)]));
    report.time = start.elapsed();
    report
}

/// Converts a panic of the compiler to a diagnostic of the case.
pub(crate) fn panicked(db: &Database, case: &Case, panic: &(dyn Any + Send)) -> Diagnostic {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    let message = format!("the compiler panicked: {}", text.unwrap_or_else(|| "no reason given".to_owned()));
    let range = case.test.find(db).map(|item| item_range(db, item)).unwrap_or_default();
    Diagnostic::new(&codes::INTERNAL_ERROR, case.test.file, range, message)
}

fn failed(case: &Case, found: Vec<Diagnostic>) -> CaseReport {
    CaseReport {
        case: case.clone(),
        verdict: Verdict::Failed(found),
        output: Vec::new(),
        time: Duration::ZERO,
        uses_seed: false,
        order: None,
        unjudged: Vec::new(),
        remarks: Vec::new(),
        findings: Vec::new(),
        machine: 0,
        failures: Vec::new(),
        picture: None,
        drawn: None,
        steps: false,
        kernels: Vec::new(),
    }
}

/// Runs a case in one order of events after the other until it fails.
fn run_case(run: Run<'_>) -> CaseReport {
    let mut orders = run.options.orders.clone();
    loop {
        let order = orders.next().unwrap_or_default();
        let (report, had_orders) = run_in_order(run, order);
        let passed = matches!(report.verdict, Verdict::Passed);
        if !had_orders || !passed || orders.is_empty() {
            return CaseReport { order: (had_orders && !passed && order > 0).then_some(order), ..report };
        }
    }
}

/// Runs a case in one order of events. Also reports whether one of its launches has several orders.
fn run_in_order(run: Run<'_>, order: u64) -> (CaseReport, bool) {
    let Run { db, case, machine, options, stop } = run;
    let Some(item) = case.test.find(db) else { return (failed(case, vec![gone(case)]), false) };
    let until = WorkLimit { stop, limit: options.timeout }.from_now();
    let mut captured = Captured::default();
    let ran = until.run(db, |db| {
        let reporting = if options.report { Reporting::Summed(Vec::new()) } else { Reporting::Off };
        let launcher = Launcher::new(db, machine, until).in_order(order).with_tuned(options.tuned);
        let mut launcher = launcher.reporting(reporting).at(options.levels);
        let ran = evaluated(db, run, &mut launcher, &mut captured);
        let findings = launcher.take_findings();
        (ran, findings, launcher.into_reports())
    });
    let mut report = failed(case, Vec::new());
    let (verdict, had_orders) = match ran {
        Ok((Ran { verdict, uses_seed, had_orders, suspect, picture, faulted, old }, findings, kernels)) => {
            report.findings = findings;
            report.steps = verdict.is_err() && (faulted || suspect.is_some());
            (report.uses_seed, report.picture, report.kernels) = (uses_seed, picture, kernels);
            let found = |error: Failed| match error {
                Failed::Unsound => reached_errors(db, item).clone(),
                Failed::Gone => vec![gone(case)],
                Failed::At(error) => with_old(explained(run, order, &error, suspect.as_ref()), &old, faulted),
            };
            (verdict.unwrap_or_else(|error| Verdict::Failed(found(error))), had_orders)
        }
        Err(Ended) => (Verdict::Failed(vec![ended_at(db, item)]), order > 0),
    };
    let Captured { lines: output, unjudged, remarks } = captured;
    (CaseReport { verdict, output, unjudged, remarks, ..report }, had_orders)
}

/// Adds to a failure the first atomic load that found an older value, because nothing orders it after a write. This may explain
/// the failure unless the failure is a fault.
fn with_old(mut found: Vec<Diagnostic>, old: &[Old], faulted: bool) -> Vec<Diagnostic> {
    if let ([only], Some(old), false) = (found.as_mut_slice(), old.first(), faulted) {
        for ((file, range), message) in [(old.load, old.load_text()), (old.write, old.write_text())] {
            only.secondary.push(Label { file, range, message });
        }
        only.help.push(
            "an acquire that finds what a release left orders them: `order: \"release\"` at the store of a flag, `order: \"acquire\"` \
             at its load"
                .to_owned(),
        );
    }
    found
}

/// Returns the error of a test that is no longer in its file.
fn gone(case: &Case) -> Diagnostic {
    let message = format!("the test `{}` is gone", case.name);
    Diagnostic::new(&codes::HOST_ERROR, case.test.file, TextRange::empty(0.into()), message)
}

/// Returns the diagnostics of a failure, with the time limit that ended it, or with the launch that wrote wrong elements.
fn explained(run: Run<'_>, order: u64, error: &EvalError, suspect: Option<&Suspect>) -> Vec<Diagnostic> {
    let Run { db, case, machine, options, stop } = run;
    let mut found = error.diagnostics(db);
    let [only] = found.as_mut_slice() else { return found };
    if let Some(limit) = options.timeout.filter(|_| error.error.code == &codes::TIME_LIMIT) {
        only.notes.push(format!("the test has run for its limit of {} s", limit.as_secs_f64()));
    }
    // A trial of a search only asks whether the case fails.
    let Some(suspect) = suspect.filter(|_| !matches!(case.property, Some(Property::Trial(_)))) else {
        return found;
    };
    let again = |db: &Database, launcher: &mut Launcher<'_>| {
        evaluated(db, run, launcher, &mut Captured::default());
    };
    let settings = Settings { order, stop, timeout: options.timeout, tuned: options.tuned };
    let explain = AssertUnwindSafe(|| blame(db, machine, settings, suspect, only, again));
    // A bug in the explanation must not hide the failure.
    if catch_unwind(explain).is_err() {
        only.notes.push("the compiler panicked while it explained the failure".to_owned());
    }
    found
}

/// The result of running a case.
pub(crate) struct Ran {
    pub(crate) verdict: Result<Verdict, Failed>,
    uses_seed: bool,
    had_orders: bool,
    /// The launch that wrote the compared tensor, if a comparison failed.
    pub(crate) suspect: Option<Suspect>,
    picture: Option<Picture>,
    /// Whether a launch has a fault that the simulator or the checks found.
    faulted: bool,
    /// The atomic loads of the last launch that found the value before a write, because nothing orders them after that write.
    old: Vec<Old>,
}

/// The reason why a case failed. The places of an error are resolved later, so that this does not count towards the time limit.
pub(crate) enum Failed {
    /// The test has errors, or uses an item that has errors.
    Unsound,
    Gone,
    At(EvalError),
}

/// Runs the body of a case once, with a handle of the database that ends with the time limit.
pub(crate) fn evaluated(
    db: &Database,
    run: Run<'_>,
    launcher: &mut Launcher<'_>,
    captured: &mut Captured,
) -> Ran {
    let Run { case, options, .. } = run;
    let Some(item) = case.test.find(db).and_then(|item| Sound::of(db, item)) else {
        return Ran {
            verdict: Err(Failed::Unsound),
            uses_seed: false,
            had_orders: false,
            suspect: None,
            picture: None,
            faulted: false,
            old: Vec::new(),
        };
    };
    let seed = case_seed(options.seed, &case.name);
    let unchecked = !launcher.runs();
    let given = Options { seed, unchecked, ..Options::default() };
    let mut session = Session::new(db, launcher, captured, given);
    let value = match (case.index, case.property.as_ref().and_then(Property::text)) {
        (None, None) => Ok(None),
        (None, Some(text)) => {
            session.assignment_of(item, text).map(|made| Some(made.value())).map_err(Failed::At)
        }
        (Some(index), _) => session
            .cases(item)
            .map_err(Failed::At)
            .and_then(|values| values.and_then(|v| v.into_iter().nth(index)).map(Some).ok_or(Failed::Gone)),
    };
    let verdict = value.and_then(|value| match session.run(item, value) {
        Ok(_) if unchecked => Ok(Verdict::Skipped(COMPILED.to_owned())),
        Ok(_) => Ok(Verdict::Passed),
        Err(_) if session.is_refused() => Ok(Verdict::Skipped(trial::REFUSED.to_owned())),
        Err(error) => Err(Failed::At(error)),
    });
    let (uses_seed, suspect) = (session.unseeded_draws() > 0, session.suspect().cloned());
    let picture = session.picture().cloned();
    let (had_orders, faulted, old) = (launcher.had_orders(), launcher.has_fault(), launcher.old().to_vec());
    Ran { verdict, uses_seed, had_orders, suspect, picture, faulted, old }
}

/// Returns the seed of one case. Cases draw different numbers, and the same numbers on every machine.
pub(crate) fn case_seed(seed: u64, name: &str) -> u64 {
    fnv(name.bytes().chain(seed.to_le_bytes()))
}
