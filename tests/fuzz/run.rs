//! Runs many inputs on several threads, and detects inputs that hang.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::generate::Corpus;
use super::judge::{Fault, Judge};
use super::shrink::shrink;

/// Stack of a thread: as much as `hx` itself uses, because the compiler's passes recurse into nested expressions.
const STACK: usize = 256 << 20;

/// The inputs to try, and how.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    /// Number of the first input.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) until: Option<Instant>,
    /// Number of threads.
    pub(super) jobs: usize,
    /// Time limit of one input.
    pub(super) limit: Duration,
    /// A folder in which each thread records its current input, in case the whole process dies. Failing inputs are saved there as
    /// well, because later changes of the project's programs change the input of a number.
    pub(super) trace: Option<PathBuf>,
}

/// A kind of failure, with its smallest input.
pub(super) struct Failure {
    pub(super) case: u64,
    pub(super) text: String,
    pub(super) fault: Fault,
}

pub(super) struct Outcome {
    pub(super) done: u64,
    pub(super) failures: Vec<Failure>,
}

/// The state that the threads share.
struct Shared {
    plan: Plan,
    corpus: Corpus,
    next: AtomicU64,
    done: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    /// The current input of each thread, and the time when it started.
    current: Vec<Mutex<Option<(u64, Instant)>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line to stderr directly, because the test harness captures normal output.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "fuzz: {text}");
}

pub(super) fn run(plan: &Plan, corpus: Corpus) -> Outcome {
    let shared = Arc::new(Shared {
        plan: plan.clone(),
        corpus,
        next: AtomicU64::new(plan.first),
        done: AtomicU64::new(0),
        failures: Mutex::default(),
        current: (0..plan.jobs).map(|_| Mutex::default()).collect(),
    });
    let start = |job: usize| {
        let shared = Arc::clone(&shared);
        let builder = thread::Builder::new().name(format!("fuzz {job}")).stack_size(STACK);
        builder.spawn(move || shared.work(job)).expect("threads can be started")
    };
    let threads: Vec<JoinHandle<()>> = (0..plan.jobs).map(start).collect();
    watch(&shared, &threads);
    let failures = std::mem::take(&mut *locked(&shared.failures));
    Outcome { done: shared.done.load(Ordering::Relaxed), failures }
}

/// Waits for the threads. A thread that hangs is abandoned, because a thread cannot be stopped from outside.
fn watch(shared: &Shared, threads: &[JoinHandle<()>]) {
    let mut hung = vec![false; threads.len()];
    let mut told = Instant::now();
    loop {
        let all_done = threads.iter().zip(&hung).all(|(thread, hung)| *hung || thread.is_finished());
        if all_done {
            return;
        }
        thread::sleep(Duration::from_millis(20));
        for (job, hung) in hung.iter_mut().enumerate().filter(|(_, hung)| !**hung) {
            let current = *locked(&shared.current[job]);
            let Some((case, since)) = current else { continue };
            if since.elapsed() > shared.plan.limit {
                *hung = true;
                shared.report_hang(case);
            }
        }
        if shared.plan.until.is_some() && told.elapsed() > Duration::from_secs(30) {
            told = Instant::now();
            let failures = locked(&shared.failures).len();
            say(&format!("{} inputs, {failures} failures", shared.done.load(Ordering::Relaxed)));
        }
    }
}

impl Shared {
    fn work(&self, job: usize) {
        let plan = &self.plan;
        let mut judge = Judge::new();
        let end = plan.first.saturating_add(plan.count);
        while plan.until.is_none_or(|until| Instant::now() < until) {
            let case = self.next.fetch_add(1, Ordering::Relaxed);
            if case >= end {
                break;
            }
            let text = self.corpus.case(plan.seed, case);
            if let Some(folder) = &plan.trace {
                let noted = format!("// case {case}\n{text}");
                let _ = std::fs::write(folder.join(format!("thread-{job}.hx")), noted);
            }
            *locked(&self.current[job]) = Some((case, Instant::now()));
            let fault = judge.judge(&text);
            *locked(&self.current[job]) = None;
            self.done.fetch_add(1, Ordering::Relaxed);
            if let Some(fault) = fault {
                self.report(case, text, fault);
            }
        }
        if let Some(folder) = &plan.trace {
            let _ = std::fs::remove_file(folder.join(format!("thread-{job}.hx")));
        }
    }

    /// Records the first failure of each kind, with a shrunk input.
    fn report(&self, case: u64, text: String, fault: Fault) {
        if locked(&self.failures).iter().any(|known| known.fault.kind == fault.kind) {
            return;
        }
        let fails = |text: &str| Judge::new().judge(text).is_some_and(|found| found.kind == fault.kind);
        let (text, fault) = if fails(&text) {
            (shrink(&text, 1500, fails), fault)
        } else {
            let kind = format!("{}, only after other inputs", fault.kind);
            (text, Fault { kind, ..fault })
        };
        let mut failures = locked(&self.failures);
        if !failures.iter().any(|known| known.fault.kind == fault.kind) {
            self.keep(Failure { case, text, fault }, &mut failures);
        }
    }

    /// Shrinks a text that hangs. Each try that hangs leaves an abandoned thread behind, so the number of tries is small.
    fn report_hang(&self, case: u64) {
        let text = self.corpus.case(self.plan.seed, case);
        let limit = self.plan.limit;
        let hangs = |text: &str| {
            let text = text.to_owned();
            let (sender, receiver) = mpsc::channel();
            let judge = move || {
                Judge::new().judge(&text);
                let _ = sender.send(());
            };
            let started = thread::Builder::new().stack_size(STACK).spawn(judge);
            started.is_ok() && receiver.recv_timeout(limit / 2) == Err(mpsc::RecvTimeoutError::Timeout)
        };
        let text = shrink(&text, 12, hangs);
        let details = format!("it takes longer than {} s", limit.as_secs());
        let fault = Fault::new(format!("case {case} does not end"), details);
        self.keep(Failure { case, text, fault }, &mut locked(&self.failures));
    }

    fn keep(&self, failure: Failure, failures: &mut Vec<Failure>) {
        say(&format!("case {}: {}", failure.case, failure.fault.kind));
        if let Some(folder) = &self.plan.trace {
            let _ = std::fs::write(folder.join(format!("case-{}.hx", failure.case)), &failure.text);
        }
        failures.push(failure);
    }
}
