//! `hx completions`: prints the script that completes the verbs and flags in a shell.

use clap::CommandFactory as _;

use crate::Exit;
use crate::cli::{Cli, CompletionsArgs};
use crate::output::Output;

/// Prints a shell script that completes the verbs and flags of hx.
pub(crate) fn run(args: &CompletionsArgs, output: &Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hx", &mut script);
    output.result(&String::from_utf8_lossy(&script));
    Exit::Good
}
