//! Runs a suite of `tests/` for longer than a normal test run. Flags of the chore become environment variables of the suite.

use std::ffi::OsString;
use std::process::{Command, ExitStatus};

use crate::root;

/// A suite, with the flags of its chore.
pub(crate) struct Suite {
    /// The name of the test that does the work.
    pub(crate) test: &'static str,
    /// Pairs of a flag and the environment variable that gets its value.
    pub(crate) flags: &'static [(&'static str, &'static str)],
    /// Flags whose values are texts instead of numbers.
    pub(crate) texts: &'static [&'static str],
    /// Flags of which at least one is required.
    pub(crate) needs: &'static [&'static str],
    pub(crate) usage: &'static str,
}

/// The parsed flags: variables for the suite, and whether to build it with optimization.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) release: bool,
}

impl Suite {
    /// Parses the arguments of the chore.
    pub(crate) fn read(&self, args: &[String]) -> Result<Request, String> {
        let usage = self.usage;
        let mut request = Request::default();
        let mut given = Vec::new();
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            if flag == "--release" {
                request.release = true;
                continue;
            }
            let Some((name, variable)) = self.flags.iter().find(|(name, _)| name == flag) else {
                return Err(format!("there is no `{flag}`\n{usage}"));
            };
            let is_text = self.texts.contains(name);
            let value = args.next().filter(|value| is_text || value.parse::<u64>().is_ok());
            let what = if is_text { "value" } else { "number" };
            let value = value.ok_or_else(|| format!("`{flag}` takes a {what}\n{usage}"))?;
            given.push(*name);
            request.variables.push((variable, value.clone()));
        }
        if self.needs.iter().any(|flag| given.contains(flag)) { Ok(request) } else { Err(usage.to_owned()) }
    }

    /// Builds and runs the suite, and forwards its output.
    pub(crate) fn run(&self, request: Request) -> Result<ExitStatus, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.current_dir(root()).args(["test", "--quiet", "-p", "hx-tests", "--test", "suites"]);
        if request.release {
            command.arg("--release");
        }
        command.args(["--", "--exact", self.test, "--nocapture"]);
        command.envs(request.variables);
        command.status().map_err(|error| format!("cannot run cargo: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite = Suite {
        test: "none",
        flags: &[("--count", "HX_COUNT"), ("--seed", "HX_SEED"), ("--case", "HX_CASE"), ("--out", "HX_OUT")],
        texts: &["--out"],
        needs: &["--count", "--case"],
        usage: "usage: none",
    };

    fn read(args: &[&str]) -> Result<Request, String> {
        SUITE.read(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_become_variables() {
        let request = read(&["--count", "10", "--seed", "3", "--release"]).expect("good flags");
        let variables = vec![("HX_COUNT", "10".to_owned()), ("HX_SEED", "3".to_owned())];
        assert_eq!(request, Request { variables, release: true });
        assert!(read(&["--seed", "3", "--case", "9"]).is_ok());
        assert!(read(&["--count", "3", "--out", "here"]).is_ok());
        for wrong in [&["--count"][..], &["--count", "many"], &["--seed", "3"], &["--fast"], &[]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
