//! Tests: finding them and their cases, running them in parallel, and a report in the order of the text.
//!
//! Finding needs no machine, so that editors can list tests. Every case has a stable name, `path::title[case]`.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hx_base::{Diagnostic, SourceFile, TextSize, codes};
use hx_hir::{Db as HirDb, Item, ItemKey, ItemKind, Sound, file_items, item_range, reached_errors};
use hx_host::Value;
use hx_host::device::NoDevice;
use hx_host::eval::{Options, Session, Surroundings};
use hx_workspace::Database;

use crate::launch::Launcher;
use crate::machine::Machine;
use crate::run::{foreign_errors, front_diagnostics};

/// Stack of a thread that runs cases: expressions nest, and the compiler's passes follow them.
const STACK: usize = 64 << 20;

/// Which cases are meant.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Parts of names, or whole names with `exact`, one of which must fit; none means every case.
    pub names: Vec<String>,
    pub exact: bool,
    /// Parts of names (whole names with `exact`) that are left out.
    pub skip: Vec<String>,
}

impl Filter {
    fn wants(&self, name: &str) -> bool {
        let fits =
            |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern.as_str()) };
        (self.names.is_empty() || self.names.iter().any(fits)) && !self.skip.iter().any(fits)
    }
}

/// One test, or one case of a parameterized test.
#[derive(Clone, Debug)]
pub struct Case {
    /// `path::title[case]`.
    pub name: String,
    /// The test.
    pub test: ItemKey,
    /// Which of its cases; nothing for a test that has none.
    pub index: Option<usize>,
}

/// The tests of some files.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// In the order of the files and of the text.
    pub cases: Vec<Case>,
    /// What is wrong with the files and with what they use of others, and case lists without a value.
    pub diagnostics: Vec<Diagnostic>,
    /// Tests that do not run because of errors in them or in what they use.
    pub broken: Vec<String>,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// What the random functions start from, mixed with each case's name.
    pub seed: u64,
    /// For each case.
    pub timeout: Option<Duration>,
    /// Cases at the same time.
    pub jobs: usize,
}

/// What became of a case.
#[derive(Clone, Debug)]
pub enum Verdict {
    Passed,
    Failed(Vec<Diagnostic>),
    /// With the reason.
    Skipped(String),
}

/// One line of the report.
#[derive(Clone, Debug)]
pub struct CaseReport {
    pub case: Case,
    pub verdict: Verdict,
    /// What it printed.
    pub output: Vec<String>,
    pub time: Duration,
    /// Whether it made random numbers from the seed of the run.
    pub uses_seed: bool,
    /// Why assertions could not be judged, one reason for each.
    pub unjudged: Vec<String>,
}

/// Finds the tests of files. Cases are evaluated, kernels are not.
pub fn list_tests(db: &Database, files: &[SourceFile], filter: &Filter) -> Listing {
    list(db, files, filter, ItemKind::Test)
}

/// Finds the items of a kind that have cases, with their cases.
pub(crate) fn list(db: &Database, files: &[SourceFile], filter: &Filter, kind: ItemKind) -> Listing {
    let mut listing = Listing { diagnostics: foreign_errors(db, files), ..Listing::default() };
    for &file in files {
        for &item in file_items(db, file).items.iter().filter(|item| item.kind() == kind) {
            let path = file.path(db);
            let plain = title(db, path, item);
            let Some(sound) = Sound::of(db, item) else {
                // The list of cases may be what is broken, so the test stands for all of them.
                if filter.wants(&plain) {
                    listing.broken.push(plain);
                }
                continue;
            };
            match cases(db, sound) {
                Ok(None) => listing.cases.push(Case { name: plain, test: item.key(db), index: None }),
                Ok(Some(values)) => {
                    for (index, value) in values.iter().enumerate() {
                        let name = format!("{plain}[{}]", hx_base::printable(&case_text(value)));
                        listing.cases.push(Case { name, test: item.key(db), index: Some(index) });
                    }
                }
                Err(diagnostics) => {
                    listing.diagnostics.extend(diagnostics);
                    listing.broken.push(plain);
                }
            }
        }
        listing.diagnostics.extend(front_diagnostics(db, file));
    }
    number_repetitions(&mut listing.cases);
    listing.cases.retain(|case| filter.wants(&case.name));
    listing
}

/// Where a case's `test` stands.
pub fn case_place(db: &Database, case: &Case) -> Option<(SourceFile, TextSize)> {
    let range = item_range(db, case.test.find(db)?);
    let text = case.test.file.text(db).get(std::ops::Range::<usize>::from(range))?;
    // Comments, attributes and blank lines stand before it and belong to it.
    let mut before = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with("//") && !code.starts_with("#[") {
            before += line.len() - code.len();
            break;
        }
        before += line.len();
    }
    let at = u32::try_from(before.min(text.len())).ok()?;
    Some((case.test.file, range.start() + TextSize::from(at)))
}

/// `path::title`, with a number where several tests of a file have one title.
fn title(db: &dyn HirDb, path: &str, item: Item<'_>) -> String {
    let key = item.key(db);
    let number = if key.nth > 0 { format!("#{}", key.nth + 1) } else { String::new() };
    // A name is shown, listed and typed; what a terminal would act on is escaped in all three.
    hx_base::printable(&format!("{path}::{}{number}", key.name)).into_owned()
}

/// `64, 64, 16` of the case `(64, 64, 16)`.
fn case_text(value: &Value) -> String {
    let text = value.brief();
    match value {
        Value::Tuple(v) if v.len() > 1 => text[1..text.len() - 1].to_owned(),
        _ => text,
    }
}

/// Tells apart cases with one name, so that `--exact` can.
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

fn cases<'db>(db: &'db Database, item: Sound<Item<'db>>) -> Result<Option<Vec<Value>>, Vec<Diagnostic>> {
    let mut surroundings = Vec::<String>::new();
    let mut device = NoDevice;
    let mut session = Session::new(db, &mut device, &mut surroundings, Options::default());
    session.cases(item).map_err(|error| error.diagnostics(db))
}

/// What a case prints, until its time is over.
pub(crate) struct Captured<'a> {
    pub lines: Vec<String>,
    pub deadline: Option<Instant>,
    pub stop: &'a AtomicBool,
    pub unjudged: Vec<String>,
}

impl<'a> Captured<'a> {
    pub(crate) fn new(deadline: Option<Instant>, stop: &'a AtomicBool) -> Captured<'a> {
        Captured { lines: Vec::new(), deadline, stop, unjudged: Vec::new() }
    }
}

impl Surroundings for Captured<'_> {
    fn print(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn unjudged(&mut self, reason: &str) {
        self.unjudged.push(reason.to_owned());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// Runs cases and hands their reports to `each`, in the order of the cases whatever the order of their ends. Once `stop` is
/// true no case begins, and those that it cut short have no report.
pub fn run_tests(
    db: &Database,
    cases: &[Case],
    machine: &Machine,
    options: &TestOptions,
    stop: &AtomicBool,
    mut each: impl FnMut(CaseReport),
) {
    let next = AtomicUsize::new(0);
    let jobs = options.jobs.clamp(1, cases.len().max(1));
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (db, send, next) = (db.clone(), send.clone(), &next);
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { return };
                    let report = run_guarded(&db, case, machine, options, stop);
                    if stop.load(Ordering::Relaxed) && was_stopped(&report) {
                        return;
                    }
                    if send.send((at, report)).is_err() {
                        return;
                    }
                }
            };
            // Where not even one thread can be made, nothing would be reported; the caller counts what is missing.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
        drop(send);
        let mut waiting: BTreeMap<usize, CaseReport> = BTreeMap::new();
        let mut told = 0;
        for (at, report) in receive {
            waiting.insert(at, report);
            while let Some(report) = waiting.remove(&told) {
                each(report);
                told += 1;
            }
        }
        // After a stop some are missing in between.
        waiting.into_values().for_each(each);
    });
}

/// Whether the case ended because it was told to, and not of itself.
fn was_stopped(report: &CaseReport) -> bool {
    matches!(&report.verdict, Verdict::Failed(found) if found.iter().any(|d| d.code == &codes::TIME_LIMIT))
}

/// A panic of the compiler is a failure of the case and of nothing else.
fn run_guarded(
    db: &Database,
    case: &Case,
    machine: &Machine,
    options: &TestOptions,
    stop: &AtomicBool,
) -> CaseReport {
    let start = Instant::now();
    let run = AssertUnwindSafe(|| run_case(db, case, machine, options, stop));
    let mut report =
        catch_unwind(run).unwrap_or_else(|panic| failed(case, vec![panicked(db, case, &*panic)]));
    report.time = start.elapsed();
    report
}

/// A panic of the compiler as a finding of the case.
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
        unjudged: Vec::new(),
    }
}

fn run_case(
    db: &Database,
    case: &Case,
    machine: &Machine,
    options: &TestOptions,
    stop: &AtomicBool,
) -> CaseReport {
    let gone = || {
        let range = hx_base::TextRange::empty(0.into());
        Diagnostic::new(
            &codes::HOST_ERROR,
            case.test.file,
            range,
            format!("the test `{}` is gone", case.name),
        )
    };
    let Some(item) = case.test.find(db) else { return failed(case, vec![gone()]) };
    let Some(item) = Sound::of(db, item) else { return failed(case, reached_errors(db, item).clone()) };
    let deadline = options.timeout.map(|limit| Instant::now() + limit);
    let mut captured = Captured::new(deadline, stop);
    let mut launcher = Launcher::new(db, machine, deadline, stop);
    let seed = case_seed(options.seed, &case.name);
    let unchecked = matches!(machine, Machine::CompileOnly(_));
    let given = Options { seed, unchecked, ..Options::default() };
    let mut session = Session::new(db, &mut launcher, &mut captured, given);
    let value = match (case.index, session.cases(item)) {
        (None, _) => Ok(None),
        (Some(index), Ok(values)) => match values.and_then(|v| v.into_iter().nth(index)) {
            Some(value) => Ok(Some(value)),
            None => Err(vec![gone()]),
        },
        (Some(_), Err(error)) => Err(error.diagnostics(db)),
    };
    let verdict = match value {
        Err(found) => Verdict::Failed(found),
        Ok(value) => match session.run(item, value) {
            Ok(_) if unchecked => Verdict::Skipped("compiled, not run".to_owned()),
            Ok(_) => Verdict::Passed,
            Err(error) => Verdict::Failed(error.diagnostics(db)),
        },
    };
    let uses_seed = session.unseeded_draws() > 0;
    CaseReport {
        case: case.clone(),
        verdict,
        output: captured.lines,
        time: Duration::ZERO,
        uses_seed,
        unjudged: captured.unjudged,
    }
}

/// The seed of one case: different cases draw different numbers, and the same everywhere (FNV-1a over the name).
pub(crate) fn case_seed(seed: u64, name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    name.bytes().chain(seed.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, mix)
}
