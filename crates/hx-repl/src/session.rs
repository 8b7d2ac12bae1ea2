//! A session: the cells that were accepted, the values that they left, and the machine.
//!
//! An accepted cell is a file of the database that never changes; the next one sees its names through a chain of scopes. A
//! cell that is refused or fails leaves no trace but its message.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hx_base::{Diagnostic, Scope, SourceFile, codes};
use hx_driver::Setup;
use hx_hir::{Item, file_items};
use hx_host::Value;
use hx_host::device::LaunchReport;
use hx_host::eval::{Environment, EvalError, Options, Session as Evaluation, Surroundings};
use hx_workspace::Database;

use crate::device::{LateDevice, Launched};
use crate::machines::Machines;
use crate::screen::Screen;
use crate::show;
use crate::work::{self, Inside, NoResult, Said};

/// What a session is started with.
#[derive(Debug)]
pub struct Config {
    pub setup: Setup,
    /// How long one entry may take.
    pub timeout: Option<Duration>,
    /// What random functions start from where a call names no seed.
    pub seed: u64,
    /// Becomes true at Ctrl-C; whoever reads entries sets it back.
    pub interrupt: &'static AtomicBool,
    /// Writes a report about the last panic, and tells where it is.
    pub report_bug: fn() -> Vec<String>,
}

/// What became of an entry. A worse one is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    Good,
    /// The environment lacks what was required.
    Environment,
    /// The entry is bad.
    Failed,
    /// It was stopped by Ctrl-C.
    Interrupted,
    /// The session is over.
    Quit,
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    pub(crate) db: Database,
    /// What the next cell sees.
    pub(crate) scope: Option<Scope>,
    pub(crate) environment: Environment,
    pub(crate) machines: Machines,
    pub(crate) config: Config,
    /// Entries that were accepted so far, for their names.
    accepted: usize,
    /// The machine that was told last.
    announced: Option<String>,
}

/// What evaluating a cell came to.
enum Ran {
    /// The text is wrong.
    Refused(Vec<Diagnostic>),
    /// It ended early.
    Failed {
        found: Vec<Diagnostic>,
    },
    Done(Box<Evaluated>),
}

struct Evaluated {
    warnings: Vec<Diagnostic>,
    /// Nothing for a cell without statements.
    value: Option<Value>,
    environment: Environment,
    launches: Vec<Launched>,
}

/// Everything that an evaluation needs besides the database; it moves to the thread of the evaluation.
struct Job {
    file: SourceFile,
    environment: Environment,
    machines: Machines,
    options: Options,
    deadline: Option<Instant>,
    announced: Option<String>,
}

impl Session {
    /// A session over a database, which may hold files already.
    pub fn new(db: Database, config: Config) -> Session {
        let machines = Machines::open(config.setup.clone());
        let environment = Environment::default();
        Session { db, scope: None, environment, machines, config, accepted: 0, announced: None }
    }

    /// Takes one entry: a cell, a `:command`, or `?name`.
    pub fn enter(&mut self, text: &str, screen: &mut Screen<'_>) -> Outcome {
        self.cell(text, screen)
    }

    fn cell(&mut self, text: &str, screen: &mut Screen<'_>) -> Outcome {
        let path = format!("cell {}", self.accepted + 1);
        let file = SourceFile::cell(&self.db, path, text.trim_end(), self.scope);
        if file_items(&self.db, file).items.is_empty() && hx_base::parse(&self.db, file).is_ok() {
            return Outcome::Good;
        }
        let checkpoint = self.environment.checkpoint();
        let job = Job {
            file,
            environment: self.environment.clone(),
            machines: self.machines.clone(),
            options: Options { args: Vec::new(), seed: self.config.seed, unchecked: false },
            deadline: self.config.timeout.map(|limit| Instant::now() + limit),
            announced: self.announced.clone(),
        };
        let ran = self.work(screen, move |db, inside| evaluate(db, inside, job));
        match ran {
            Ok(Ran::Done(done)) => {
                self.accepted += 1;
                self.scope = Some(Scope::after(&self.db, self.scope, file));
                self.environment = done.environment;
                screen.diagnostics(&self.db, &done.warnings);
                if let Some(value) = done.value.filter(|value| !matches!(value, Value::Unit)) {
                    screen.result(&show::value(&value));
                }
                Outcome::Good
            }
            Ok(Ran::Refused(found)) => {
                screen.diagnostics(&self.db, &found);
                outcome_of(&found)
            }
            Ok(Ran::Failed { found }) => {
                self.environment = checkpoint.restore();
                // Whoever pressed Ctrl-C knows where it stopped and why.
                let interrupted = self.config.interrupt.load(Ordering::Relaxed);
                if interrupted {
                    screen.remark("interrupted");
                } else {
                    screen.diagnostics(&self.db, &found);
                }
                self.revive(screen);
                if interrupted { Outcome::Interrupted } else { outcome_of(&found) }
            }
            Err(outcome) => {
                self.environment = checkpoint.restore();
                self.revive(screen);
                outcome
            }
        }
    }

    /// Runs work that may be given up; why there is no result is told.
    pub(crate) fn work<T: Send + 'static>(
        &mut self,
        screen: &mut Screen<'_>,
        work: impl FnOnce(&Database, &Inside) -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        let interrupt = self.config.interrupt;
        let announced = &mut self.announced;
        let mut heard = |said| match said {
            Said::Printed(line) => screen.result(&line),
            Said::Remark(text) => {
                screen.remark(&text);
                *announced = Some(text);
            }
        };
        match work::run(&self.db, interrupt, &mut heard, work) {
            Ok(result) => Ok(result),
            Err(NoResult::Interrupted) => {
                screen.remark("interrupted");
                Err(Outcome::Interrupted)
            }
            Err(NoResult::Panicked(reason)) => {
                let mut notes = vec![reason];
                notes.extend((self.config.report_bug)());
                let help = ["this is a bug of hx; every binding is still there".to_owned()];
                screen.report(&codes::INTERNAL_ERROR, "the compiler panicked", &notes, &help);
                Err(Outcome::Failed)
            }
        }
    }

    /// After something went wrong: a worker that died with it is started again.
    fn revive(&mut self, screen: &mut Screen<'_>) {
        if let Some(Ok(machine)) = self.machines.known()
            && machine.lost_its_worker()
        {
            screen.remark("the worker process is started again; every binding is still there");
            self.machines.revive();
        }
    }
}

/// Nothing but the machine is at fault, or the entry is.
fn outcome_of(found: &[Diagnostic]) -> Outcome {
    let mut errors = found.iter().filter(|d| d.is_error()).peekable();
    let environmental = |d: &Diagnostic| d.code == &codes::MISSING_NVRTC || d.code == &codes::NO_GPU;
    if errors.peek().is_some() && errors.all(environmental) { Outcome::Environment } else { Outcome::Failed }
}

/// Checks a cell and runs its statements.
fn evaluate(db: &Database, inside: &Inside, job: Job) -> Ran {
    let arch = match job.machines.known() {
        Some(Ok(machine)) => machine.arch(),
        _ => job.machines.setup().target,
    };
    let syntax = hx_base::syntax_diagnostics(db, job.file);
    if syntax.iter().any(Diagnostic::is_error) {
        // What a broken text seems to mean only hides what is wrong with it.
        return Ran::Refused(syntax.clone());
    }
    let items = file_items(db, job.file);
    let found = match items.kernels().next() {
        Some(_) => hx_driver::check(db, job.file, arch, false),
        None => hx_driver::front_diagnostics(db, job.file),
    };
    if found.iter().any(Diagnostic::is_error) {
        return Ran::Refused(found);
    }
    let mut environment = job.environment;
    let Some(cell) = items.cell() else {
        let done = Evaluated { warnings: found, value: None, environment, launches: Vec::new() };
        return Ran::Done(Box::new(done));
    };
    let machine = OnceCell::new();
    let mut device = LateDevice::new(db, &job.machines, &machine, job.deadline, &inside.stop);
    let mut live = Live { inside, deadline: job.deadline, announced: job.announced, machines: &job.machines };
    let mut evaluation = Evaluation::new(db, &mut device, &mut live, job.options);
    match evaluation.run_cell(Item::Cell(cell), &mut environment) {
        Ok(value) => {
            let launches = device.launches;
            let done = Evaluated { warnings: found, value: Some(value), environment, launches };
            Ran::Done(Box::new(done))
        }
        Err(error) => failed(db, &error),
    }
}

fn failed(db: &Database, error: &EvalError) -> Ran {
    Ran::Failed { found: error.diagnostics(db) }
}

/// What a program prints, as it prints it.
struct Live<'a> {
    inside: &'a Inside,
    deadline: Option<Instant>,
    announced: Option<String>,
    machines: &'a Machines,
}

impl Surroundings for Live<'_> {
    fn print(&mut self, line: &str) {
        self.inside.say(Said::Printed(line.to_owned()));
    }

    fn launched(&mut self, _: &str, _: &LaunchReport) {
        if let Some(Ok(machine)) = self.machines.known() {
            let text = machine.describe();
            if self.announced.as_ref() != Some(&text) {
                self.inside.say(Said::Remark(text.clone()));
                self.announced = Some(text);
            }
        }
    }

    fn unjudged(&mut self, reason: &str) {
        self.inside.say(Said::Remark(format!("an assertion was skipped: {reason}")));
    }

    fn stopped(&self) -> bool {
        self.inside.stopped() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}
