//! `cargo xtask test`: the whole test suite, in one command and with one last line.
//!
//! Runs the checks that need no build (`codegen --check`, `tidy`), then `cargo test`, then the tests of the Python package, and adds up
//! the counts of the test programs. A test that lacks something prints `skipped: NAME: REASON (VARIABLE)` and returns. The harness counts
//! it as passed, so this chore counts skips itself, and says for each group what brings it. Arguments select tests: `cargo xtask test -p
//! hx-runtime`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use crate::counts::Counts;
use crate::{codegen, complain, python, root, say, tidy};

/// Runs everything, and fails if anything failed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut problems = Vec::new();
    if let Err(problem) = codegen::run(&["--check".to_owned()]) {
        complain(&format!("codegen: {problem}"));
        problems.push("generated files are stale");
    }
    if let Err(problem) = tidy::run(&[]) {
        complain(&format!("tidy: {problem}"));
        problems.push("tidy found broken rules");
    }
    let (mut counts, succeeded) = cargo_test(args)?;
    if !succeeded && counts.failed == 0 {
        problems.push("a test program did not build or did not end in order");
    }
    if args.is_empty() {
        match python::counts() {
            Ok(found) => counts.add(found),
            Err(problem) => {
                complain(&format!("python: {problem}"));
                problems.push("the Python package could not be tested");
            }
        }
    }
    if counts.failed > 0 && succeeded {
        problems.push("a test of the Python package failed");
    }
    for problem in &problems {
        complain(problem);
    }
    let summary = counts.summary();
    if problems.is_empty() && succeeded {
        say(&summary);
        return Ok(());
    }
    // `main` prints the first line of the error, then the rest, so that the counts are always the last line.
    Err(format!("the test suite is not green\n{summary}"))
}

/// Runs `cargo test` and forwards its output. Returns the counts, and whether it succeeded.
fn cargo_test(args: &[String]) -> Result<(Counts, bool), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["test", "--no-fail-fast"]);
    if args.is_empty() {
        command.arg("--workspace");
    } else {
        command.args(args);
    }
    let cannot = |error: std::io::Error| format!("cannot run cargo: {error}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(cannot)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("cannot read what cargo says".to_owned());
    };
    let errors = thread::spawn(move || pass_on(stderr, complain));
    let mut counts = pass_on(stdout, say);
    let status = child.wait().map_err(cannot)?;
    counts.add(errors.join().unwrap_or_default());
    Ok((counts, status.success()))
}

/// Prints every line of a stream, and returns the sum of the counts in them.
fn pass_on(pipe: impl Read, print: fn(&str)) -> Counts {
    let mut counts = Counts::default();
    for line in BufReader::new(pipe).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line);
        print(&line);
        counts.add(counts_in(&line));
    }
    counts
}

/// Returns the counts in a line such as `test result: ok. 3 passed; 0 failed; ...` or `skipped: NAME: REASON (VARIABLE)`.
fn counts_in(line: &str) -> Counts {
    if let Some(skipped) = line.strip_prefix("skipped: ") {
        return Counts::skip(skipped.split_once(": ").map_or(skipped, |(_, reason)| reason), 1);
    }
    let Some(result) = line.strip_prefix("test result: ") else { return Counts::default() };
    let count = |what: &str| {
        let part = result.split(['.', ';']).find_map(|part| part.trim().strip_suffix(what));
        part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    Counts { passed: count("passed"), failed: count("failed"), ..Counts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_harness_reports() {
        let output = "\
running 3 tests
test a ... ok
skipped: b: the CUDA driver is not available: it was not found (HX_REQUIRE_GPU)
test b ... ok
test c ... FAILED
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.82s
running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 26 filtered out; finished in 0.09s
";
        let mut counts = Counts::default();
        output.lines().for_each(|line| counts.add(counts_in(line)));
        assert_eq!((counts.passed, counts.failed), (3, 1));
        let need = "skipped tests, and what brings them:\n    1  a machine with an NVIDIA GPU";
        assert_eq!(counts.summary(), format!("{need}\n2 passed, 1 failed, 1 skipped"));
    }
}
