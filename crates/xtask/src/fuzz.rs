//! `cargo xtask fuzz`: feeds random and mutated texts to lexer, parser, formatter and checker, for any length of time.
//!
//! The suite `tests/fuzz.rs` does the work; a normal test run gives it a bounded number of inputs. This chore passes it the time,
//! the seed and the threads, and if the whole process dies reports the inputs that were being tried. It knows no compiler.

use std::path::Path;

use crate::suite::Suite;
use crate::{root, say};

const SUITE: Suite = Suite {
    test: "fuzz::no_text_breaks_the_front_end",
    flags: &[
        ("--seconds", "HX_FUZZ_SECONDS"),
        ("--seed", "HX_TEST_SEED"),
        ("--case", "HX_FUZZ_CASE"),
        ("--jobs", "HX_FUZZ_JOBS"),
        ("--limit", "HX_FUZZ_LIMIT"),
    ],
    texts: &[],
    needs: &["--seconds", "--case"],
    usage: "usage: cargo xtask fuzz --seconds N [--seed S] [--jobs J] [--limit SECONDS] [--release]\n\
            or:    cargo xtask fuzz --seed S --case K",
};

/// Runs the suite and forwards its output.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut request = SUITE.read(args)?;
    let trace = root().join("target/fuzz");
    let _ = std::fs::remove_dir_all(&trace);
    std::fs::create_dir_all(&trace).map_err(|error| format!("cannot make `{}`: {error}", trace.display()))?;
    request.variables.push(("HX_FUZZ_TRACE", trace.display().to_string()));
    if SUITE.run(request)?.success() {
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

/// Returns the names of the files with inputs that threads were trying when the process ended.
fn at_work(trace: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(trace).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut inputs: Vec<String> = names.filter(|name| name.starts_with("thread-")).collect();
    inputs.sort();
    inputs
}
