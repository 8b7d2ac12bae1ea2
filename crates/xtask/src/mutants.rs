//! `cargo xtask mutants`: makes mutants of kernels with pipelines. `hx check` must report each as an error, or it must be
//! harmless.
//!
//! The suite `tests/mutants.rs` does the work; a normal test run tries a few mutants. This chore tries more, and prints the table.

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
