//! Chores of the workspace, run as `cargo xtask NAME`.
//!
//! Each chore is one module with a `run(&[String]) -> Result<(), String>`, and one line in [`COMMANDS`].
//!
//! Invariant: no crate uses this one, and nothing of it is in the program `hx`.

#![allow(clippy::disallowed_methods, reason = "chores read and write files")]

use std::{path::PathBuf, process::ExitCode};

mod book;
mod codegen;
mod counts;
mod cuda;
mod fuzz;
mod machine_code;
mod mutants;
mod programs;
mod python;
mod site;
mod solving;
mod suite;
mod targets;
mod test;
mod tidy;
mod typing;
mod wheel;

/// A chore: its name, a line of description, and the function that gets the arguments after the name.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "book",
        about: "write the parts of the book that come from the compiler (`--check`: only compare)",
        run: book::run,
    },
    Command {
        name: "codegen",
        about: "write the syntax kinds and the typed AST from grammar/hx.ungram (`--check`: only compare)",
        run: codegen::run,
    },
    Command {
        name: "cuda",
        about: "put the CUDA compiler library and the disassemblers into the user's data folder",
        run: cuda::run,
    },
    Command {
        name: "fuzz",
        about: "put random and broken texts through the front end (`--seconds N`, `--seed S`)",
        run: fuzz::run,
    },
    Command {
        name: "machine-code",
        about: "compile every text again whose machine code the ledger knows (`UPDATE_EXPECT=1` renews it)",
        run: machine_code::run,
    },
    Command {
        name: "mutants",
        about: "judge mutants of the synchronization of real kernels (`--every N`, `--of KERNEL`)",
        run: mutants::run,
    },
    Command {
        name: "programs",
        about: "run random tile programs, or write them for a GPU (`--count N`, `--seed S`, `--out DIR`)",
        run: programs::run,
    },
    Command {
        name: "python",
        about: "build the Python wheel, install it into a fresh environment, and test it there",
        run: python::run,
    },
    Command {
        name: "site",
        about: "build the book with the playground (`--test`: drive it in a browser)",
        run: site::run,
    },
    Command {
        name: "solving",
        about: "measure how long the solver takes for std and for crowded buffers (`--rounds N`, `--programs DIR`)",
        run: solving::run,
    },
    Command {
        name: "targets",
        about: "assemble every instance of std and of tests/kernels for a target (`--of TARGET|all`)",
        run: targets::run,
    },
    Command {
        name: "test",
        about: "run the whole test suite, or what the arguments choose, as `cargo test` takes them",
        run: test::run,
    },
    Command {
        name: "tidy",
        about: "check the direction of dependency and other rules of the workspace",
        run: tidy::run,
    },
    Command {
        name: "typing",
        about: "type into a file and measure the language server (`--edits N`, `--rate N`, `--random N`)",
        run: typing::run,
    },
    Command {
        name: "wheel",
        about: "build the Python wheel with the command `hx` in it (`--profile NAME`, `--out DIR`)",
        run: wheel::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match args.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("help", &[][..]),
    };
    if matches!(name, "help" | "--help" | "-h") {
        say(&help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        complain(&format!("there is no chore `{name}`\n\n{}", help()));
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            complain(&format!("xtask {name}: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask NAME [ARGS]\n");
    for command in COMMANDS {
        text.push_str(&format!("\n  {:<14}{}", command.name, command.about));
    }
    text
}

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map(PathBuf::from).unwrap_or(here)
}

#[allow(clippy::print_stdout, reason = "a chore answers on standard output")]
pub(crate) fn say(message: &str) {
    println!("{message}");
}

#[allow(clippy::print_stderr, reason = "a chore complains on standard error")]
pub(crate) fn complain(message: &str) {
    eprintln!("{message}");
}
