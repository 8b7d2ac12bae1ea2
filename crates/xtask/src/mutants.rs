//! `cargo xtask mutants`: mutants of kernels with pipelines, each an error of `hx check` or shown to be harmless.
//!
//! The suite `tests/mutants.rs` does the work; a normal test run judges a few of them. This chore judges more and prints the table.

use crate::say;
use crate::suite::Suite;

const SUITE: Suite = Suite {
    test: "mutants::mutants_are_errors_or_harmless",
    flags: &[("--every", "HX_MUTANTS_EVERY"), ("--of", "HX_MUTANTS_OF")],
    texts: &["--of"],
    needs: &["--every", "--of"],
    usage: "usage: cargo xtask mutants --every N [--of KERNEL] [--release]\n\
            or:    cargo xtask mutants --of KERNEL",
};

/// Runs the suite and forwards its output.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !SUITE.run(SUITE.read(args)?)?.success() {
        return Err("some mutant is missed, or the suite does not build".to_owned());
    }
    say("all mutants are errors or harmless");
    Ok(())
}
