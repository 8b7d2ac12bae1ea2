//! `cargo xtask machine-code`: compiles every text whose machine code the test suite checks, and compares the reports with the
//! ledger.
//!
//! The test suite compiles only texts that are not in the ledger `tests/compiled/ledger.txt` (`tests/ledger.rs`). This chore runs
//! the same tests without the ledger, so it finds wrong lines, and lines whose text no test has any more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{root, say};

const LEDGER: &str = "tests/compiled/ledger.txt";

/// The tests that read the ledger. If a test is missing here, its lines are reported as lines of no text.
const TESTS: [&str; 8] = [
    "compiled::machine_code_on_sm_90a",
    "compiled::written::goldens_compile",
    "compiled::written::probes_of_calibration_compile",
    "registers::the_estimate_is_within_half_of_ptxas",
    "road::compiled_by_nvrtc",
    "standard_library::kernels_compile",
    "standard_library::machine_code_is_wide_and_does_not_spill",
    "targets::two_kernels_assemble_for_each_target",
];

/// Compiles all texts. With `UPDATE_EXPECT=1` the ledger is renewed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(arg) = args.first() {
        return Err(format!("`{arg}` is not understood, there are no arguments"));
    }
    let written = root().join("target/machine-code.txt");
    let _ = fs::remove_file(&written);
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        cargo.current_dir(root());
        cargo
    };
    let cannot = |error: std::io::Error| format!("cannot run cargo: {error}");
    // Build the command first, because the tests compile in its worker processes.
    if !cargo().args(["build", "--quiet", "-p", "hx"]).status().map_err(cannot)?.success() {
        return Err("the command does not build".to_owned());
    }
    let mut tests = cargo();
    tests.args(["test", "--quiet", "-p", "hx-tests", "--test", "suites", "--", "--exact"]).args(TESTS);
    tests.env("HX_MACHINE_CODE", &written).env("HX_REQUIRE_NVRTC", "1");
    if !tests.status().map_err(cannot)?.success() {
        return Err(
            "the machine code of some text is not as it should be, or the suite does not build".to_owned()
        );
    }
    let read = |path: PathBuf| {
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let (found, ledger) = (read(written)?, read(root().join(LEDGER))?);
    let differences = differences(&ledger, &found);
    if differences.is_empty() {
        say(&format!("{} texts have the machine code of the ledger", lines(&found).len()));
        return Ok(());
    }
    differences.iter().for_each(|difference| say(difference));
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        let renewed: String =
            lines(&found).iter().map(|(hash, report)| format!("{hash} {report}\n")).collect();
        fs::write(root().join(LEDGER), renewed).map_err(|error| format!("cannot write {LEDGER}: {error}"))?;
        say(&format!("{LEDGER} is renewed"));
        return Ok(());
    }
    Err(format!("{LEDGER} differs in {} lines; `UPDATE_EXPECT=1` renews it", differences.len()))
}

/// Returns the report of each hash. If several tests have one text, the last line counts.
fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(' ')).collect()
}

/// Returns a line for each hash whose report is missing in the ledger, differs, or belongs to no text of the tests.
fn differences(ledger: &str, found: &str) -> Vec<String> {
    let (ledger, found) = (lines(ledger), lines(found));
    let new = found.iter().filter_map(|(hash, report)| match ledger.get(hash) {
        None => Some(format!("new: {hash} {report}")),
        Some(known) if known != report => Some(format!("wrong: {hash} {known}, found {report}")),
        Some(_) => None,
    });
    let gone = ledger.iter().filter(|(hash, _)| !found.contains_key(*hash));
    new.chain(gone.map(|(hash, report)| format!("of no text: {hash} {report}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ() {
        let ledger = "a 8 0 0\nb 9 0 0\nc 10 0 0\n";
        let found = "d 11 0 0 LDG.E.128\nc 10 0 0\nb 9 0 16\nc 10 0 0\n";
        assert_eq!(
            differences(ledger, found),
            ["wrong: b 9 0 0, found 9 0 16", "new: d 11 0 0 LDG.E.128", "of no text: a 8 0 0"]
        );
        assert!(differences(ledger, ledger).is_empty());
    }
}
