//! `cargo xtask programs`: random tile programs, run on the simulator or written for `hx test` on a GPU.
//!
//! The work is the suite `tests/random_programs.rs`, which a test run does for a bounded number of programs; this chore hands it
//! the seed, the number and the folder. It knows no compiler.

use std::ffi::OsString;
use std::process::Command;

use crate::{root, say};

const USAGE: &str = "usage: cargo xtask programs --count N [--seed S] [--first K] [--out FOLDER] [--jobs J] [--limit SECONDS] [--release]\n\
                     or:    cargo xtask programs --seed S --case K";

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
                "--count" => "HX_RANDOM_PROGRAMS",
                "--seed" => "HX_RANDOM_SEED",
                "--first" => "HX_RANDOM_FIRST",
                "--case" => "HX_RANDOM_CASE",
                "--jobs" => "HX_RANDOM_JOBS",
                "--limit" => "HX_RANDOM_LIMIT",
                "--out" => "HX_RANDOM_OUT",
                _ => return Err(format!("there is no `{flag}`\n{USAGE}")),
            };
            let number = |value: &&String| variable == "HX_RANDOM_OUT" || value.parse::<u64>().is_ok();
            let value = args.next().filter(number);
            let value = value.ok_or_else(|| format!("`{flag}` takes a value\n{USAGE}"))?;
            request.variables.push((variable, value.clone()));
        }
        let has = |name: &str| request.variables.iter().any(|(variable, _)| *variable == name);
        if !has("HX_RANDOM_PROGRAMS") && !has("HX_RANDOM_CASE") {
            return Err(USAGE.to_owned());
        }
        Ok(request)
    }
}

/// Runs the suite and passes on what it says.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut request = Request::read(args)?;
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    for (_, folder) in request.variables.iter_mut().filter(|(name, _)| *name == "HX_RANDOM_OUT") {
        // The suite runs in the folder of its package.
        *folder = here.join(&*folder).display().to_string();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["test", "--quiet", "-p", "hx-tests", "--test", "suites"]);
    if request.release {
        command.arg("--release");
    }
    command.args(["--", "--exact", "random_programs::random_programs_agree", "--nocapture"]);
    command.envs(request.variables);
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("some program failed, or the suite does not build".to_owned());
    }
    say("all programs agree, or were written");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Request, String> {
        Request::read(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_become_variables() {
        let request = read(&["--count", "10", "--seed", "3", "--release"]).expect("good flags");
        let variables = vec![("HX_RANDOM_PROGRAMS", "10".to_owned()), ("HX_RANDOM_SEED", "3".to_owned())];
        assert_eq!(request, Request { variables, release: true });
        assert!(read(&["--seed", "3", "--case", "9"]).is_ok());
        assert!(read(&["--count", "3", "--out", "here"]).is_ok());
        for wrong in [&["--count"][..], &["--count", "many"], &["--seed", "3"], &["--fast"], &[]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
