//! A session: the accepted cells, the values of their bindings, and the machine.
//!
//! An accepted cell is a file of the database that never changes; the next cell sees its names through a chain of scopes. A
//! refused or failed cell has no effect on the session except its message.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, Scope, SourceFile, codes};
use hx_hir::{Item, Name, Path, PathTarget, Sound, file_items, reached_errors, resolve_path};
use hx_host::Value;
use hx_host::device::LaunchReport;
use hx_host::eval::{Environment, EvalError, Options, Session as Evaluation, Surroundings};
use hx_host::show::Look;
use hx_inspect::Setup;
use hx_workspace::Database;

use crate::device::{LateDevice, Launched};
use crate::machines::Machines;
use crate::screen::Screen;
use crate::show;
use crate::style::Precision;
use crate::work::{self, Inside, NoResult, Said};

/// The configuration of a session.
#[derive(Debug)]
pub struct Config {
    pub setup: Setup,
    /// The time limit of one entry; `None` is no limit.
    pub timeout: Option<Duration>,
    /// The seed of random functions, for calls that name none.
    pub seed: u64,
    /// Set by Ctrl-C. The reader of entries resets it.
    pub interrupt: &'static AtomicBool,
    /// Writes a report about the last panic, and returns lines that name its place.
    pub report_bug: fn() -> Vec<String>,
}

/// The result of an entry, ordered from good to bad.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    Good,
    /// The environment lacks something that the entry needs.
    Environment,
    /// The entry has an error.
    Failed,
    /// Ctrl-C stopped the entry.
    Interrupted,
    /// The session ends.
    Quit,
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    pub(crate) db: Database,
    /// The names that the next cell sees; `None` if it sees only built-in names.
    pub(crate) scope: Option<Scope>,
    pub(crate) environment: Environment,
    pub(crate) machines: Machines,
    pub(crate) config: Config,
    pub(crate) precision: Precision,
    /// Number of accepted cells; it numbers the next cell.
    pub(crate) cells: usize,
    /// The number of the next cell, if the caller numbers cells.
    numbered: Option<usize>,
    /// The accepted texts in order, for `:save`.
    pub(crate) texts: Vec<SourceFile>,
    /// The accepted cells whose value became `_`.
    pub(crate) left_values: BTreeSet<SourceFile>,
    /// Loaded files, for `:reload`.
    pub(crate) loaded: Vec<String>,
    /// The machine that was announced last.
    pub(crate) announced: Option<String>,
    /// The entry that is being typed, as a cell, and the scope that the cell sees. If the scope is still the session's, the cell
    /// is reused.
    typing: Option<(Option<Scope>, SourceFile)>,
    /// Abandoned work, which may still hold a handle of the database.
    left_behind: Vec<Weak<()>>,
}

/// The result of evaluating a cell on its thread.
enum Ran {
    /// The text has errors, so nothing ran.
    Refused(Vec<Diagnostic>),
    /// The cell ended early. The places of the error are resolved after the time limit has stopped counting.
    Failed(EvalError),
    Done(Box<Evaluated>),
}

struct Evaluated {
    warnings: Vec<Diagnostic>,
    /// `None` for a cell without statements.
    value: Option<Value>,
    environment: Environment,
    times: Times,
}

/// The times of the parts of an evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub check: Duration,
    pub run: Duration,
    pub launches: Vec<Launched>,
}

/// The inputs of an evaluation besides the database. They move to the evaluation's thread.
struct Job {
    file: SourceFile,
    environment: Environment,
    machines: Machines,
    options: Options,
    deadline: Option<Instant>,
    announced: Option<String>,
    /// The width and digits of printed tensors.
    look: Look,
}

impl Session {
    /// Makes a session over a database, which may already hold files.
    pub fn new(db: Database, config: Config) -> Session {
        let machines = Machines::open(config.setup.clone());
        let environment = Environment::default();
        let (texts, loaded) = (Vec::new(), Vec::new());
        Session {
            db,
            scope: None,
            environment,
            machines,
            config,
            precision: Precision::default(),
            cells: 0,
            numbered: None,
            texts,
            left_values: BTreeSet::new(),
            loaded,
            announced: None,
            typing: None,
            left_behind: Vec::new(),
        }
    }

    /// Gives cells this number until the next call. Without a call, the number of accepted cells decides.
    pub fn number(&mut self, number: usize) {
        self.numbered = Some(number);
    }

    /// Returns the path of the next cell, which places of errors show.
    pub(crate) fn next_path(&self) -> String {
        format!("cell {}", self.numbered.unwrap_or(self.cells + 1))
    }

    /// Returns the value of an expression as text, without any lasting effect.
    ///
    /// # Errors
    /// If it has no value. The screen shows why.
    pub fn expression(&mut self, text: &str, screen: &mut Screen<'_>) -> Result<String, Outcome> {
        let value = self.value_of(text, screen)?;
        let style = screen.style();
        Ok(show::value(&value, style, self.precision.look(style)))
    }

    /// Shows that the compiler panicked outside of an evaluation, and the report about it.
    pub fn panicked(&mut self, reason: String, screen: &mut Screen<'_>) {
        let mut notes = vec![reason];
        notes.extend((self.config.report_bug)());
        let help = ["this is a bug of hx; every binding is still there".to_owned()];
        screen.report(&codes::INTERNAL_ERROR, "the compiler panicked", &notes, &help);
    }

    /// Evaluates a cell, and accepts it if it has no errors. Returns its times.
    ///
    /// # Errors
    /// The outcome, if the cell is refused or fails; the screen shows why.
    pub(crate) fn cell(&mut self, text: &str, screen: &mut Screen<'_>) -> Result<Times, Outcome> {
        let file = SourceFile::cell(&self.db, self.next_path(), text.trim_end(), self.scope);
        if file_items(&self.db, file).items.is_empty() && hx_base::parse(&self.db, file).is_ok() {
            return Ok(Times::default());
        }
        self.db.load_used_by_cell(file);
        let before = self.scope;
        let done = self.evaluate(file, screen)?;
        self.accept(file);
        self.environment = done.environment;
        screen.diagnostics(&self.db, &done.warnings);
        if let Some(value) = done.value.filter(|value| !matches!(value, Value::Unit)) {
            self.left_values.insert(file);
            screen.value(&value, self.precision.look(screen.style()));
        }
        self.carry_along(file, before, screen);
        Ok(done.times)
    }

    /// Returns the value of an expression, without any lasting effect.
    ///
    /// # Errors
    /// The outcome, if it has no value; the screen shows why.
    pub(crate) fn value_of(&mut self, text: &str, screen: &mut Screen<'_>) -> Result<Value, Outcome> {
        let file = SourceFile::cell(&self.db, "entry", text.trim(), self.scope);
        let checkpoint = self.environment.checkpoint();
        let done = self.evaluate(file, screen)?;
        let value = done.value.clone();
        self.environment = checkpoint.restore();
        value.ok_or_else(|| {
            screen.usage("an expression is needed here");
            Outcome::Failed
        })
    }

    pub(crate) fn accept(&mut self, file: SourceFile) {
        self.cells += 1;
        self.scope = Some(Scope::after(&self.db, self.scope, file));
        self.texts.push(file);
    }

    /// Runs a cell on its own thread.
    ///
    /// # Errors
    /// The outcome, if it is refused or fails; the screen shows why, and the state is as before.
    fn evaluate(&mut self, file: SourceFile, screen: &mut Screen<'_>) -> Result<Box<Evaluated>, Outcome> {
        let checkpoint = self.environment.checkpoint();
        let job = Job {
            file,
            environment: self.environment.clone(),
            machines: self.machines.clone(),
            options: self.options(),
            deadline: self.deadline(),
            announced: self.announced.clone(),
            look: self.precision.look(screen.style()),
        };
        let outcome = match self.work(screen, job.deadline, move |db, inside| evaluate(db, inside, job)) {
            Ok(Ran::Done(done)) => return Ok(done),
            Ok(Ran::Refused(found)) => {
                screen.diagnostics(&self.db, &found);
                return Err(outcome_of(&found));
            }
            // After Ctrl-C the user knows why the cell stopped: do not report its errors.
            Ok(Ran::Failed(_)) if self.config.interrupt.load(Ordering::Relaxed) => {
                screen.interrupted();
                Outcome::Interrupted
            }
            Ok(Ran::Failed(error)) => {
                let found = error.diagnostics(&self.db);
                screen.diagnostics(&self.db, &found);
                outcome_of(&found)
            }
            Err(outcome) => outcome,
        };
        self.environment = checkpoint.restore();
        self.revive(screen);
        Err(outcome)
    }

    /// Returns the options of an evaluation that begins now.
    pub(crate) fn options(&self) -> Options {
        Options { seed: self.config.seed, ..Options::default() }
    }

    /// Returns the deadline of an evaluation that begins now. `None` without a time limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.config.timeout.map(|limit| Instant::now() + limit)
    }

    /// Returns the setup with the target of the open machine, so that the shown code is the code that runs.
    pub(crate) fn setup(&self) -> Setup {
        let mut setup = self.machines.setup().clone();
        if let Some(Ok(machine)) = self.machines.known() {
            setup.target = machine.target();
        }
        setup
    }

    /// Returns the meaning of a path such as `std::matmul` in the next cell; `None` if it has none.
    pub(crate) fn lookup(&self, path: &str) -> Option<PathTarget<'_>> {
        let segments = path.split("::").map(|word| Name::new(word.trim())).collect();
        resolve_path(&self.db, self.scratch(), &Path { segments })
    }

    /// Returns an empty cell that sees all names of the session, as a scope for queries.
    pub(crate) fn scratch(&self) -> SourceFile {
        SourceFile::cell(&self.db, "entry", "", self.scope)
    }

    /// Returns a cell with the text that is being typed; it sees all names of the session.
    pub(crate) fn typed(&mut self, text: &str) -> SourceFile {
        self.left_behind.retain(|work| work.strong_count() > 0);
        let known = self.typing.filter(|(scope, _)| *scope == self.scope).map(|(_, file)| file);
        // Replace the text only if no abandoned work has a handle of the database: otherwise the write, and the typing user,
        // would wait.
        let file = match known.filter(|_| self.left_behind.is_empty()) {
            Some(file) => {
                if file.text(&self.db) != text {
                    file.update_text(&mut self.db, text);
                }
                file
            }
            None => SourceFile::cell(&self.db, "entry", text, self.scope),
        };
        self.typing = Some((self.scope, file));
        file
    }

    /// Reports whether abandoned work still runs.
    #[cfg(test)]
    pub(crate) fn is_anything_left(&self) -> bool {
        self.left_behind.iter().any(|work| work.strong_count() > 0)
    }

    /// Returns the files of the session (cells and loaded files), newest first.
    pub(crate) fn files(&self) -> Vec<SourceFile> {
        Scope::files(&self.db, self.scope).collect()
    }

    /// Runs work that Ctrl-C or its deadline can end. If it has no result, reports why and returns the outcome.
    pub(crate) fn work<T: Send + 'static>(
        &mut self,
        screen: &mut Screen<'_>,
        deadline: Option<Instant>,
        work: impl FnOnce(&Database, &Inside) -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        let interrupt = self.config.interrupt;
        let (db, announced) = (&self.db, &mut self.announced);
        let mut heard = |said| match said {
            Said::Printed(line) => screen.printed(&line),
            Said::Remark(text) => screen.remark(&text),
            Said::Found(found) => screen.diagnostics(db, &found),
            Said::Machine(text) => {
                screen.remark(&text);
                *announced = Some(text);
            }
        };
        let running = Arc::new(());
        self.left_behind.push(Arc::downgrade(&running));
        match work::run(db, interrupt, deadline, running, &mut heard, work) {
            Ok(result) => Ok(result),
            Err(NoResult::Interrupted) => {
                screen.interrupted();
                Err(Outcome::Interrupted)
            }
            Err(NoResult::OutOfTime) => {
                let help = ["`:set timeout SECONDS` changes the limit".to_owned()];
                screen.report(&codes::TIME_LIMIT, "the entry did not end within the time limit", &[], &help);
                Err(Outcome::Failed)
            }
            Err(NoResult::Panicked(reason)) => {
                self.panicked(reason, screen);
                Err(Outcome::Failed)
            }
        }
    }

    /// Restarts the worker process if it died during work that failed.
    pub(crate) fn revive(&mut self, screen: &mut Screen<'_>) {
        if let Some(Ok(machine)) = self.machines.known()
            && machine.lost_its_worker()
        {
            screen.remark("the worker process is started again; every binding is still there");
            self.machines.revive();
        }
    }
}

/// Returns `Environment` if there are errors and the machine causes all of them, otherwise `Failed`.
pub(crate) fn outcome_of(found: &[Diagnostic]) -> Outcome {
    let mut errors = found.iter().filter(|d| d.is_error()).peekable();
    if errors.peek().is_some() && errors.all(|d| hx_launch::is_environmental(d.code)) {
        Outcome::Environment
    } else {
        Outcome::Failed
    }
}

/// Checks a cell and runs its statements.
fn evaluate(db: &Database, inside: &Inside, job: Job) -> Ran {
    let start = Instant::now();
    let found = match check(db, job.file, &job.machines) {
        Ok(found) => found,
        Err(found) => return Ran::Refused(found),
    };
    let mut environment = job.environment;
    let mut times = Times { check: start.elapsed(), ..Times::default() };
    let Some(cell) = file_items(db, job.file).cell() else {
        return Ran::Done(Box::new(Evaluated { warnings: found, value: None, environment, times }));
    };
    let Some(sound) = Sound::of(db, Item::Cell(cell)) else {
        return Ran::Refused(reached_errors(db, Item::Cell(cell)).clone());
    };
    let machine = OnceCell::new();
    let start = Instant::now();
    let until = Until { stop: &inside.stop, deadline: job.deadline };
    let mut device = LateDevice::new(db, &job.machines, &machine, until);
    let mut live = Live { inside, announced: job.announced, machines: &job.machines, look: job.look };
    let mut evaluation = Evaluation::new(db, &mut device, &mut live, job.options);
    match evaluation.run_cell(sound, &mut environment) {
        Ok(value) => {
            times.run = start.elapsed();
            times.launches = device.launches;
            Ran::Done(Box::new(Evaluated { warnings: found, value: Some(value), environment, times }))
        }
        Err(error) => Ran::Failed(error),
    }
}

/// Returns the warnings of a cell.
///
/// # Errors
/// All diagnostics of the cell, if one is an error, which keeps it from being accepted; only those of the syntax, if one of
/// these is an error.
pub(crate) fn check(
    db: &Database,
    file: SourceFile,
    machines: &Machines,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let syntax = hx_base::syntax_diagnostics(db, file);
    if syntax.iter().any(Diagnostic::is_error) {
        // Report only syntax errors: errors of names and types in such a text would mislead.
        return Err(syntax.clone());
    }
    let target = match machines.known() {
        Some(Ok(machine)) => machine.target(),
        _ => machines.setup().target,
    };
    let found = match file_items(db, file).kernels().next() {
        Some(_) => hx_inspect::check(db, file, target, false),
        None => hx_inspect::front_diagnostics(db, file),
    };
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(found) }
}

/// Forwards the prints of a program while it runs.
pub(crate) struct Live<'a> {
    pub inside: &'a Inside,
    pub announced: Option<String>,
    pub machines: &'a Machines,
    pub look: Look,
}

impl Surroundings for Live<'_> {
    fn look(&self) -> Look {
        self.look
    }

    fn print(&mut self, line: &str) {
        self.inside.say(Said::Printed(line.to_owned()));
    }

    fn launched(&mut self, _: &str, _: &LaunchReport) {
        if let Some(Ok(machine)) = self.machines.known() {
            let text = machine.describe();
            if self.announced.as_ref() != Some(&text) {
                self.inside.say(Said::Machine(text.clone()));
                self.announced = Some(text);
            }
        }
    }

    fn unjudged(&mut self, reason: &str) {
        self.inside.say(Said::Remark(format!("an assertion was skipped: {reason}")));
    }
}
