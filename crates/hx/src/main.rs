//! The command line: flags, streams, exit codes. Every verb is implemented by functions of the crates below.
//!
//! Results go to stdout, diagnostics and progress to stderr; JSON diagnostics count as results. Exit codes: 0 success; 1 the
//! checked files or tests have errors; 2 usage; 3 the environment lacks something required, or a result could not be written; 4
//! no test matched; 101 a compiler bug, with a report file; 130 Ctrl-C.
//!
//! Invariant: flags, exit codes and Ctrl-C exist in this crate only, and only the process `hx worker` loads CUDA.

#![allow(clippy::disallowed_methods, reason = "commands read and write files")]

mod cli;
mod commands;
mod crash;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::cli::{Cli, Command, ReplArgs};
use crate::output::Output;

/// The compiler makes and drops many small expressions. With the allocator of the C library, `hx check` takes a tenth longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Stack of the main thread's work, in bytes. The compiler's passes recurse into nested expressions.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // `--help` and `--version` arrive here as well, and are results.
        Err(told) => return told_by_parser(&told),
    };
    if let Some(Command::Worker) = cli.command {
        return hx_runtime::serve(std::io::stdin(), std::io::stdout());
    }
    crash::install();
    interrupt::install();
    let output = Output::new(cli.color, cli.message_format);
    let run = move || crash::guard(&output, || dispatch(cli, &output));
    match std::thread::Builder::new().name("hx".to_owned()).stack_size(STACK).spawn(run) {
        Ok(thread) => thread.join().unwrap_or_else(|_| Exit::Bug.into()),
        Err(_) => Exit::Environment.into(),
    }
}

/// Prints the message of the flags' parser: an error to stderr, help to stdout.
fn told_by_parser(told: &clap::Error) -> ExitCode {
    let output = Output::new(cli::Color::Auto, cli::MessageFormat::Human);
    output.written(told.print());
    match told.exit_code() {
        0 if Output::has_lost_results() => Exit::Environment.into(),
        code => ExitCode::from(u8::try_from(code).unwrap_or(2)),
    }
}

/// The exit code of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    Good,
    /// The checked files or tests have errors.
    Bad,
    Usage,
    /// The environment lacks something required, such as a GPU or the CUDA compiler, or a result could not be written.
    Environment,
    NoTest,
    /// The compiler panicked, which is a bug.
    Bug,
    /// Ctrl-C ended the command.
    Interrupted,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::Good => 0,
            Exit::Bad => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::NoTest => 4,
            Exit::Bug => 101,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Runs the verb. After Ctrl-C the exit code is `Interrupted` whatever the verb returns, because its result may be incomplete.
fn dispatch(cli: Cli, output: &Output) -> Exit {
    let exit = execute(cli, output);
    match exit {
        _ if interrupt::requested() => Exit::Interrupted,
        Exit::Good if Output::has_lost_results() => Exit::Environment,
        exit => exit,
    }
}

fn execute(cli: Cli, output: &Output) -> Exit {
    match cli.command {
        None if commands::repl::is_at_terminal() => commands::repl::run(&ReplArgs::default(), output),
        None => {
            output.result(&Cli::command().render_help().to_string());
            Exit::Good
        }
        Some(Command::New(args)) => commands::new::new(&args, output),
        Some(Command::Init) => commands::new::init(output),
        Some(Command::Cache(args)) => commands::cache::run(&args, output),
        Some(Command::Clean) => commands::cache::clean(output),
        Some(Command::Completions(args)) => commands::completions::run(&args, output),
        Some(Command::Check(args)) => commands::check::run(args, output),
        Some(Command::Run(args)) => commands::run::run(args, output),
        Some(Command::Build(args)) => commands::build::run(args, output),
        Some(Command::Bench(args)) => commands::bench::run(args, output),
        Some(Command::Calibrate(args)) => commands::calibrate::run(&args, output),
        Some(Command::Tune(args)) => commands::tune::run(args, output),
        Some(Command::Test(args)) => commands::test::run(args, output),
        Some(Command::Fmt(args)) => commands::fmt::run(&args, output),
        Some(Command::Layout(args)) => commands::layout::run(&args, output),
        Some(Command::Repl(args)) => commands::repl::run(&args, output),
        Some(Command::Notebook(args)) => commands::notebook::run(&args, output),
        Some(Command::Explain(args)) => commands::explain::run(&args, output),
        Some(Command::Lsp(_)) => commands::lsp::run(output),
        Some(Command::Step(args)) => commands::step::run(args, output),
        Some(Command::DebugAdapter) => commands::step::adapter(output),
        Some(Command::Setup(args)) => commands::setup::run(&args, output),
        Some(Command::Doctor(args)) => commands::doctor::run(args, output),
        Some(Command::Worker) => Exit::Usage,
    }
}
