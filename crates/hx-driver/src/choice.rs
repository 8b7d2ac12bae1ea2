//! The choice between the members of a kernel's family, for a shape or for a call in a test, without a GPU.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, SourceFile, TextRange, TextSize};
use hx_hir::{
    ExprId, Item, ItemKey, ItemKind, Kernel, Name, Path, PathTarget, Sound, family_of, file_items,
    item_range, resolve_path,
};
use hx_host::device::{Device, LaunchArg, LaunchError, LaunchReport, LaunchRequest, NoDevice, Step, Times};
use hx_host::eval::{BodyPart, Options, Session, Surroundings, range_of};
use hx_host::{HostResult, Value};
use hx_inspect::Overrides;
use hx_launch::{Choice, Considered, Launcher, Machine, Tuned};
use hx_target::Target;
use hx_workspace::Database;
use web_time::Instant;

use crate::tune::{FixedInputs, TuneError, inputs, launch_of};

/// The time that the evaluation up to a call may take.
const TO_CALL: Duration = Duration::from_millis(500);
/// The time that the estimates of the members may take.
const ESTIMATES: Duration = Duration::from_secs(5);
/// The number of members that a text about a call lists.
const SHOWN: usize = 6;
/// The largest number of launches of one call that a text describes.
const MOST: usize = 8;

/// A machine that estimates for a target.
fn machine(target: Target) -> Machine {
    Machine::Simulator { target, instead_of: None, compiler: None }
}

/// The choice between the members of a kernel's family for one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchChoice {
    /// The members by the cost model.
    pub by_model: Choice,
    /// The results of tuning for the launch, a line for each device that has one. On its device a result wins over the cost model.
    pub results: Vec<String>,
}

impl LaunchChoice {
    fn of(launcher: &Launcher<'_>, request: &LaunchRequest) -> Result<Option<LaunchChoice>, LaunchError> {
        let Some(choice) = launcher.choice(request)? else { return Ok(None) };
        let (by_model, results) = (Choice::clone(&choice), launcher.results(request)?);
        Ok(Some(LaunchChoice { by_model, results }))
    }

    /// Says in a line each what the launch of `head` runs by the cost model, and by the results of tuning.
    pub fn remarks(&self, head: &str) -> Vec<String> {
        [self.by_model.remark(head)].into_iter().chain(self.results.iter().cloned()).collect()
    }
}

/// Returns the choice between the members of a kernel's family for a shape: all dimensions, and compile-time arguments. `None` if the
/// kernel has no family, or the shape states a parameter that decides between the members.
///
/// # Errors
/// If the shape does not fit the kernel, or a member or a tuned result has errors.
pub fn choice_for<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    target: Target,
    shape: &Overrides,
    tuned: Option<&Tuned>,
    until: Until<'_>,
) -> Result<Option<LaunchChoice>, TuneError> {
    let given = FixedInputs::new(db, kernel, shape).map_err(TuneError::Usage)?;
    let inputs = inputs(db, kernel, target, given.args.clone(), &given, true)?;
    let request = launch_of(db, kernel, &given.args, &inputs);
    let machine = machine(target);
    let launcher = Launcher::new(db, &machine, until).with_tuned(tuned);
    Ok(LaunchChoice::of(&launcher, &request)?)
}

/// The choices that a call in a test, a bench or `main` makes.
#[derive(Clone, PartialEq, Debug)]
pub struct CallChoice {
    /// The range of the kernel's name.
    pub range: TextRange,
    /// The kernel's name.
    head: String,
    /// The tensors of each launch, as `bf16[64, 128], bf16[72, 128]`, and its choice: of the first launch in each case of the test.
    launches: Vec<(String, LaunchChoice)>,
}

impl CallChoice {
    /// Describes the choices in Markdown: the member that the first launch runs, beside the next ones, and the members of further launches.
    pub fn text(&self, target: Target) -> String {
        let mut out = String::new();
        for (at, (tensors, choice)) in self.launches.iter().enumerate() {
            let remarks = choice.remarks(&self.head).join("  \n");
            out += &format!("{}{tensors}: {remarks}\n", if at == 1 { "\n" } else { "" });
            if at == 0 {
                out += &table(&choice.by_model, target);
            }
        }
        out
    }
}

/// Lists the fastest members in Markdown, and counts the others.
fn table(choice: &Choice, target: Target) -> String {
    let mut out = "\n| member | µs | |\n|---|--:|--:|\n".to_owned();
    let best = choice.first().and_then(Considered::micros).unwrap_or(1.0);
    for member in choice.fitting().take(SHOWN) {
        let micros = member.micros().unwrap_or(f64::INFINITY);
        out += &format!("| `{}` | {micros:.1} | {:.2} |\n", member.name, micros / best);
    }
    let (fit, all) = (choice.fitting().count(), choice.members.len());
    let counts =
        [(fit.saturating_sub(SHOWN), ["more fits", "more fit"]), (all - fit, ["does not fit", "do not fit"])];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{count} {}", what[usize::from(*count > 1)]));
    let caveat = target.caveat().map(|caveat| format!("the estimates are {caveat}"));
    let notes: Vec<String> = counts.chain(caveat).collect();
    if !notes.is_empty() {
        out += &format!("\n{}\n", notes.join(", "));
    }
    out
}

/// Returns the choices of the call whose kernel's name is at an offset. `None` if there is no such call, the kernel has no family, the
/// call pins it, or the arguments of the call are not known without a run. A tuned file with errors is left out, and said to be.
pub fn choice_at(
    db: &Database,
    file: SourceFile,
    at: TextSize,
    target: Target,
    until: Until<'_>,
) -> Option<CallChoice> {
    let range = word_at(file.text(db), at)?;
    let head = file.text(db)[range].to_owned();
    let named = resolve_path(db, file, &Path { segments: vec![Name::new(&head)] })?;
    let PathTarget::Item(Item::Kernel(kernel)) = named else { return None };
    if family_of(db, kernel).members.is_empty() {
        return None;
    }
    let is_around = |item: &&Item<'_>| item_range(db, **item).contains_inclusive(at);
    let item = file_items(db, file).items.iter().find(is_around)?.key(db);
    let within = |limit: Duration| Until { deadline: Some(Instant::now() + limit), ..until };
    let requests = within(TO_CALL).run(db, |db| {
        let item = item.find(db).and_then(|item| Sound::of(db, item))?;
        let mut watch = Watch { db, file, range, requests: Vec::new(), has_reached: Rc::default() };
        evaluate(db, item, &mut watch);
        Some(watch.requests)
    });
    let requests = requests.ok()??;
    let (tuned, mut unread) = results_for(db, file);
    let estimated = within(ESTIMATES).run(db, |db| {
        let machine = machine(target);
        let launcher = Launcher::new(db, &machine, within(ESTIMATES)).with_tuned(Some(&tuned));
        let choice = |request| LaunchChoice::of(&launcher, request).ok()?;
        requests.iter().map(|request| Some((tensors(request), choice(request)?))).collect::<Option<Vec<_>>>()
    });
    let mut launches = estimated.ok()??;
    launches.first_mut()?.1.results.append(&mut unread);
    Some(CallChoice { range, head, launches })
}

/// Returns the tuned results for the launches of a file: those of its tuned file, then those that come with the standard library. Also
/// returns a line if the tuned file cannot be taken.
fn results_for(db: &Database, file: SourceFile) -> (Tuned, Vec<String>) {
    let path = db.tuned_path(file.path(db));
    let (own, unread) = match db.tuned(&path) {
        Ok(Some(found)) if found.diagnostics.iter().any(Diagnostic::is_error) => {
            (None, vec![format!("{} has errors: `hx check --tuned` says which", found.file.path(db))])
        }
        Ok(found) => (found, Vec::new()),
        Err(error) => (None, vec![error.to_string()]),
    };
    (Tuned::new(own.into_iter().chain([db.results_of_std()]).collect()), unread)
}

/// Evaluates a test, a bench or `main` up to the call, once for each case, without running kernels. An error before the call means that the
/// launch depends on results.
fn evaluate<'db>(db: &'db Database, item: Sound<Item<'db>>, watch: &mut Watch<'_>) {
    let options = || Options { unchecked: true, hollow: true, ..Options::default() };
    let mut device = Skipping { has_reached: Rc::clone(&watch.has_reached) };
    let cases = match Session::new(db, &mut device, watch, options()).cases(item) {
        Ok(None) => vec![None],
        Ok(Some(values)) => values.into_iter().take(MOST).map(Some).collect(),
        Err(_) => return,
    };
    for case in cases {
        device.has_reached.set(false);
        let mut session = Session::new(db, &mut device, watch, options());
        match item.get().kind() {
            ItemKind::Test | ItemKind::Main => drop(session.run(item, case)),
            ItemKind::Bench => drop(session.bench(item, case)),
            _ => return,
        }
    }
}

/// Formats the tensors of a launch.
fn tensors(request: &LaunchRequest) -> String {
    let shown =
        |arg: &LaunchArg| matches!(arg.value, Value::Tensor(_)).then(|| format!("`{}`", arg.value.brief()));
    request.args.iter().filter_map(shown).collect::<Vec<_>>().join(", ")
}

/// Returns the range of the name at an offset.
fn word_at(text: &str, at: TextSize) -> Option<TextRange> {
    let at = usize::from(at);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let start =
        at - text.get(..at)?.chars().rev().take_while(|c| is_part(*c)).map(char::len_utf8).sum::<usize>();
    let end = at + text.get(at..)?.chars().take_while(|c| is_part(*c)).map(char::len_utf8).sum::<usize>();
    (start < end).then(|| TextRange::new(size(start), size(end)))
}

fn size(offset: usize) -> TextSize {
    TextSize::try_from(offset).unwrap_or_default()
}

/// Collects the launches of the call whose kernel's name has a range, the first one of each evaluation.
struct Watch<'db> {
    db: &'db Database,
    file: SourceFile,
    range: TextRange,
    requests: Vec<LaunchRequest>,
    /// Whether this evaluation has reached the call.
    has_reached: Rc<Cell<bool>>,
}

impl Surroundings for Watch<'_> {
    fn print(&mut self, _: &str) {}

    fn launching(&mut self, item: &ItemKey, call: ExprId, request: &LaunchRequest) {
        let starts = || range_of(self.db, item, BodyPart::Expr(call)).start() == self.range.start();
        if item.file == self.file && !self.has_reached.get() && starts() {
            self.requests.push(request.clone());
            self.has_reached.set(true);
        }
    }
}

/// A device that runs nothing. It refuses the launch of the watched call, which ends the evaluation.
struct Skipping {
    has_reached: Rc<Cell<bool>>,
}

impl Device for Skipping {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        if self.has_reached.get() {
            return NoDevice.launch(request);
        }
        Ok(LaunchReport::default())
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, _: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        Ok(Vec::new())
    }
}
