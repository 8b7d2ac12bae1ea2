//! `cargo xtask fuzz`: random and mutated texts through lexer, parser, formatter and checker, for as long as one likes.
//!
//! The work is the suite `tests/fuzz.rs`, which a test run does for a bounded number of inputs; this chore hands it the
//! time, the seed and the threads, and tells which inputs were at work if the whole process dies. It knows no compiler.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{root, say};

const USAGE: &str = "usage: cargo xtask fuzz --seconds N [--seed S] [--jobs J] [--limit SECONDS] [--release]\n\
                     or:    cargo xtask fuzz --seed S --case K";

/// What the flags ask for: variables of the suite, and whether it is built with optimization.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    variables: Vec<(&'static str, String)>,
    release: bool,
}

impl Request {
    fn read(args: &[String]) -> Result<Request, String> {
        let mut request = Request::default();
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let variable = match flag.as_str() {
                "--release" => {
                    request.release = true;
                    continue;
                }
                "--seconds" => "HX_FUZZ_SECONDS",
                "--seed" => "HX_TEST_SEED",
                "--case" => "HX_FUZZ_CASE",
                "--jobs" => "HX_FUZZ_JOBS",
                "--limit" => "HX_FUZZ_LIMIT",
                _ => return Err(format!("there is no `{flag}`\n{USAGE}")),
            };
            let value = args.next().filter(|value| value.parse::<u64>().is_ok());
            let value = value.ok_or_else(|| format!("`{flag}` takes a number\n{USAGE}"))?;
            request.variables.push((variable, value.clone()));
        }
        let has = |name: &str| request.variables.iter().any(|(variable, _)| *variable == name);
        if !has("HX_FUZZ_SECONDS") && !has("HX_FUZZ_CASE") {
            return Err(USAGE.to_owned());
        }
        Ok(request)
    }
}

/// Runs the suite and passes on what it says.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let request = Request::read(args)?;
    let trace = root().join("target/fuzz");
    let _ = std::fs::remove_dir_all(&trace);
    std::fs::create_dir_all(&trace).map_err(|error| format!("cannot make `{}`: {error}", trace.display()))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["test", "--quiet", "-p", "hx-tests", "--test", "suites"]);
    if request.release {
        command.arg("--release");
    }
    command.args(["--", "--exact", "fuzz::no_text_breaks_the_front_end", "--nocapture"]);
    command.env("HX_FUZZ_TRACE", &trace).envs(request.variables);
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        say("nothing was found");
        return Ok(());
    }
    let at_work = at_work(&trace);
    let died = if at_work.is_empty() {
        String::new()
    } else {
        format!("; if the process died, it was at one of these: {}", at_work.join(", "))
    };
    let kept = trace.display();
    Err(format!(
        "something was found, or the suite does not build; failing inputs are kept in `{kept}`{died}"
    ))
}

/// The inputs that threads were at work on when the process ended.
fn at_work(trace: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(trace).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut inputs: Vec<String> = names.filter(|name| name.starts_with("thread-")).collect();
    inputs.sort();
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Request, String> {
        Request::read(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_become_variables() {
        let request = read(&["--seconds", "10", "--seed", "3", "--release"]).expect("good flags");
        let variables = vec![("HX_FUZZ_SECONDS", "10".to_owned()), ("HX_TEST_SEED", "3".to_owned())];
        assert_eq!(request, Request { variables, release: true });
        assert!(read(&["--seed", "3", "--case", "9"]).is_ok());
        for wrong in [&["--seconds"][..], &["--seconds", "soon"], &["--seed", "3"], &["--fast"], &[]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
