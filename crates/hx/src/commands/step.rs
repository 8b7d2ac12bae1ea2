//! `hx step` and `hx debug-adapter`: step through one block of a launch, in a terminal or in an editor.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::atomic::Ordering;

use hx_base::{Diagnostic, codes};
use hx_debug::{Console, LaunchArguments, Lines, OpenError, run_terminal, serve};
use hx_driver::{Case, Filter, StepCase, StepError, StepRequest, Stepper, WorkLimit, list_tests, step};
use hx_inspect::DeviceChoice;
use hx_launch::Machine;

use super::test::paths_and_names;
use super::{Loaded, load, machine, setup};
use crate::cli::{StepArgs, TargetArgs};
use crate::output::Output;
use crate::{Exit, interrupt};

/// The bytes that a record may take unless a flag says otherwise.
const BUDGET: usize = 256 << 20;
/// Columns of a screen whose width is unknown.
const WIDTH: usize = 100;

pub(crate) fn run(args: StepArgs, output: &Output) -> Exit {
    stepped(&args, output).unwrap_or_else(|exit| exit)
}

fn stepped(args: &StepArgs, output: &Output) -> Result<Exit, Exit> {
    let (paths, names) = paths_and_names(&args.what);
    let mut loaded = load(&paths, output)?;
    loaded.choose(args.candidate);
    let machine = simulator(&loaded, &args.target, output)?;
    let filter = Filter { names, exact: args.exact, skip: Vec::new() };
    let cases = chosen(&loaded, &filter, output)?;
    let case = match (cases.as_slice(), loaded.files.as_slice()) {
        ([case], _) => StepCase::Test(case),
        ([], &[file]) if filter.names.is_empty() => StepCase::Main(file),
        ([], _) => {
            output.remark("no test matches");
            return Err(Exit::NoTest);
        }
        (several, _) => {
            output.usage(&several_cases(several));
            return Err(Exit::Usage);
        }
    };
    let request = StepRequest {
        case,
        kernel: args.kernel.clone(),
        launch: args.launch.map(|launch| launch as usize - 1),
        block: args.block.map(|block| block.0),
        order: args.order.order.unwrap_or(0),
        seed: args.seed.or(loaded.manifest.as_ref().and_then(|m| m.seed)).unwrap_or(0),
        args: args.args.clone(),
        budget: args.record.map_or(BUDGET, |bytes| bytes as usize),
    };
    let mut session = Ok(());
    // Until the session begins, Ctrl-C ends the process. In the session it ends a command of the session.
    let stop = interrupt::later_flag();
    let done = step(&loaded.db, &machine, &request, stop, &mut |stepper| {
        interrupt::prompt_flag();
        session = talk(stepper, args, output);
    });
    if let Err(error) = session {
        output.placeless_parts(&codes::IO_ERROR, &format!("the session ended: {error}"), &[], &[]);
        return Err(Exit::Environment);
    }
    match done {
        Ok(()) => Ok(loaded.exit(Exit::Good)),
        Err(StepError::Stopped) => Err(Exit::Interrupted),
        Err(StepError::Failed(found)) => {
            output.diagnostics(&loaded.db, &found);
            if let Some(kernel) = &args.kernel {
                output.remark(&format!("no launch of `{kernel}` came before this failure"));
            }
            Err(Exit::Bad)
        }
        Err(error) => {
            output.usage(&reason(&loaded, &error));
            Err(Exit::Usage)
        }
    }
}

/// Opens the simulator, with the architecture of the project or of the flags.
///
/// # Errors
/// The exit code, after the reason was reported.
fn simulator(loaded: &Loaded, target: &TargetArgs, output: &Output) -> Result<Machine, Exit> {
    let setup = setup(Some(DeviceChoice::Sim), target, loaded.manifest.as_ref(), output)?;
    machine(&setup, output)
}

/// Returns the tests that a filter chooses.
///
/// # Errors
/// `Exit::Bad` if no test matches and the files have errors, which have been reported. Without errors the list is empty.
fn chosen(loaded: &Loaded, filter: &Filter, output: &Output) -> Result<Vec<Case>, Exit> {
    let listing = list_tests(&loaded.db, &loaded.files, filter, WorkLimit::unlimited());
    if listing.cases.is_empty() && listing.diagnostics.iter().any(Diagnostic::is_error) {
        output.diagnostics(&loaded.db, &listing.diagnostics);
        return Err(Exit::Bad);
    }
    Ok(listing.cases)
}

fn several_cases(cases: &[Case]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = cases.iter().take(SHOWN).map(|case| format!("\n  {}", case.name)).collect();
    let more = if cases.len() > SHOWN { "\n  …" } else { "" };
    format!(
        "{} tests match, expected one: name it, as in `hx step '{}'`{}{more}",
        cases.len(),
        cases[0].name,
        names.concat()
    )
}

/// Returns the reason why there is nothing to step through.
fn reason(loaded: &Loaded, error: &StepError) -> String {
    match error {
        StepError::Drawn => {
            "the test draws its cases: name one by its values, as in `hx step 'gemv.hx::name[m = 65]'`"
                .to_owned()
        }
        StepError::NoLaunch(0) => "the evaluation launches no kernel".to_owned(),
        StepError::NoLaunch(launches) => {
            let launches =
                if *launches == 1 { "1 launch".to_owned() } else { format!("{launches} launches") };
            format!("the evaluation ends after {launches}, and none of them is the one that is named")
        }
        StepError::Failed(found) => {
            // An editor shows the message in a proportional font, which breaks drawings.
            found
                .iter()
                .map(|found| hx_report::short(&loaded.db, found))
                .collect::<String>()
                .trim_end()
                .to_owned()
        }
        StepError::Stopped => "it was stopped".to_owned(),
    }
}

/// Runs the commands of `-c` if there are any; otherwise prompts on a terminal, or reads a script from stdin.
///
/// # Errors
/// If stdin cannot be read or stdout cannot be written.
fn talk(stepper: &mut Stepper<'_>, args: &StepArgs, output: &Output) -> io::Result<()> {
    let mut begin = String::new();
    if let Some(thread) = args.thread.filter(|thread| !stepper.set_thread(*thread)) {
        begin = format!("error: the block has no thread {thread}\n");
    }
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let width = console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns));
    let mut console = Console::new(output.colors(), width);
    let mut out = io::stdout().lock();
    out.write_all(begin.as_bytes())?;
    if !args.commands.is_empty() {
        let mut commands = Commands(args.commands.iter());
        return run_terminal(stepper, &mut console, &mut commands, &mut out);
    }
    if is_terminal {
        let mut prompt = Prompt(hx_repl::LinePrompt::new()?);
        return run_terminal(stepper, &mut console, &mut prompt, &mut out);
    }
    run_terminal(stepper, &mut console, &mut Script(io::stdin().lock()), &mut out)
}

/// Lines from a terminal, with a history.
struct Prompt(hx_repl::LinePrompt);

impl Lines for Prompt {
    fn next(&mut self) -> io::Result<Option<String>> {
        let line = self.0.line("step> ");
        interrupt::prompt_flag().store(false, Ordering::Relaxed);
        line
    }

    fn is_script(&self) -> bool {
        false
    }
}

/// Commands from the flags `-c`.
struct Commands<'a>(std::slice::Iter<'a, String>);

impl Lines for Commands<'_> {
    fn next(&mut self) -> io::Result<Option<String>> {
        Ok(self.0.next().cloned())
    }

    fn is_script(&self) -> bool {
        true
    }
}

/// Commands from a pipe or file on stdin, one a line. Its end ends the session.
struct Script<R>(R);

impl<R: BufRead> Lines for Script<R> {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }

    fn is_script(&self) -> bool {
        true
    }
}

/// Serves an editor's debugger on stdin and stdout until the editor disconnects.
pub(crate) fn adapter(output: &Output) -> Exit {
    let mut input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let mut open = |arguments: &LaunchArguments, visit: &mut dyn FnMut(&mut Stepper<'_>)| {
        opened(arguments, output, visit)
    };
    match serve(&mut input, &mut out, &mut open) {
        Ok(()) => Exit::Good,
        Err(error) => {
            output.placeless_parts(&codes::IO_ERROR, &format!("the debug adapter ended: {error}"), &[], &[]);
            Exit::Environment
        }
    }
}

/// Opens the launch that an editor asks for, and calls `visit` with it.
///
/// # Errors
/// The reason why it cannot be opened, as the editor shows it.
fn opened(
    arguments: &LaunchArguments,
    output: &Output,
    visit: &mut dyn FnMut(&mut Stepper<'_>),
) -> Result<(), OpenError> {
    let refused = |text: String| OpenError(text);
    let path = arguments.program.clone();
    let unread = |_| refused(format!("`{path}` cannot be opened: its problems are on stderr"));
    let loaded = load(std::slice::from_ref(&path), output).map_err(unread)?;
    let machine = simulator(&loaded, &TargetArgs::default(), output)
        .map_err(|_| refused("the simulator cannot be opened: the reason is on stderr".to_owned()))?;
    let filter = Filter { names: arguments.test.iter().cloned().collect(), ..Filter::default() };
    let listing = match &arguments.test {
        Some(_) => {
            let listed = list_tests(&loaded.db, &loaded.files, &filter, WorkLimit::unlimited());
            let errors: Vec<Diagnostic> =
                listed.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            // An editor does not show stderr, so the message has the errors of the test.
            if listed.cases.is_empty() && !errors.is_empty() {
                return Err(refused(reason(&loaded, &StepError::Failed(errors))));
            }
            listed.cases
        }
        None => Vec::new(),
    };
    let launch = match arguments.launch {
        Some(0) => return Err(refused("launches are counted from 1".to_owned())),
        launch => launch.map(|launch| launch - 1),
    };
    let exact = listing.iter().find(|case| Some(&case.name) == arguments.test.as_ref()).cloned();
    let cases = exact.map_or(listing, |case| vec![case]);
    let case = match (cases.as_slice(), &arguments.test, loaded.files.as_slice()) {
        ([case], ..) => StepCase::Test(case),
        (_, None, &[file]) => StepCase::Main(file),
        ([], Some(test), _) => return Err(refused(format!("no test of `{path}` matches `{test}`"))),
        ([], None, _) => return Err(refused(format!("`{path}` is a folder: name a file, or a test"))),
        (several, ..) => return Err(refused(several_cases(several))),
    };
    let request = StepRequest {
        case,
        kernel: arguments.kernel.clone(),
        launch,
        block: arguments.block,
        order: arguments.order,
        seed: arguments.seed,
        args: arguments.args.clone(),
        budget: BUDGET,
    };
    step(&loaded.db, &machine, &request, interrupt::later_flag(), visit)
        .map_err(|error| refused(reason(&loaded, &error)))
}
