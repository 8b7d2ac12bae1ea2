//! `cargo xtask book`: writes the generated parts of the book.
//!
//! The suite `tests/manual.rs` checks the book against the compiler: pages about codes, outputs of commands. With a variable set
//! it rewrites them instead. This chore only sets the variable, so that the suite alone knows the form of the pages.

use std::ffi::OsString;
use std::process::Command;

use crate::{root, say};

/// Writes the pages, or with `--check` fails if a page is stale.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask book [--check]".to_owned()),
    };
    cargo(&["build", "--quiet", "-p", "hx"], false)?;
    cargo(&["test", "--quiet", "-p", "hx-tests", "--test", "suites", "manual::"], !check)
        .map_err(|error| format!("{error}; the book or README.md is not what the compiler says"))?;
    say(if check { "the book is fresh" } else { "the book is written" });
    Ok(())
}

fn cargo(args: &[&str], update: bool) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(args);
    if update {
        command.env("UPDATE_EXPECT", "1");
    }
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed", args.join(" "))) }
}
