//! `cargo xtask targets`: assembles every instance of the library and of the kernels of the tests, for one target or for all.
//!
//! The suite `tests/targets.rs` does the work; a normal test run assembles two kernels for each target.

use crate::say;
use crate::suite::Suite;

const SUITE: Suite = Suite {
    test: "targets::every_instance_assembles",
    flags: &[("--of", "HX_TARGETS")],
    texts: &["--of"],
    needs: &["--of"],
    usage: "usage: cargo xtask targets --of TARGET|all [--release]\n\
            `UPDATE_EXPECT=1` writes tests/targets/TARGET.txt",
};

/// Runs the suite and forwards its output.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !SUITE.run(SUITE.read(args)?)?.success() {
        return Err(
            "some instance does not assemble, a list is stale, or the suite does not build".to_owned()
        );
    }
    say("every instance assembles whose features the target has");
    Ok(())
}
