//! `cargo xtask programs`: random programs, run on the simulator or written for `hx test` on a GPU.
//!
//! The suite `tests/random_programs.rs` does the work; a normal test run gives it a bounded number of programs. This chore passes
//! it the seed, the number and the folder. It knows no compiler.

use crate::say;
use crate::suite::Suite;

const SUITE: Suite = Suite {
    test: "random_programs::random_programs_agree",
    flags: &[
        ("--count", "HX_RANDOM_PROGRAMS"),
        ("--seed", "HX_RANDOM_SEED"),
        ("--first", "HX_RANDOM_FIRST"),
        ("--case", "HX_RANDOM_CASE"),
        ("--jobs", "HX_RANDOM_JOBS"),
        ("--limit", "HX_RANDOM_LIMIT"),
        ("--family", "HX_RANDOM_FAMILY"),
        ("--out", OUT),
    ],
    texts: &["--family", "--out"],
    needs: &["--count", "--case"],
    usage: "usage: cargo xtask programs --count N [--seed S] [--first K] [--out FOLDER] [--family NAME] [--jobs J] [--limit SECONDS] [--release]\n\
            or:    cargo xtask programs --seed S --case K",
};

const OUT: &str = "HX_RANDOM_OUT";

/// Runs the suite and forwards its output.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut request = SUITE.read(args)?;
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    for (_, folder) in request.variables.iter_mut().filter(|(name, _)| *name == OUT) {
        // The suite runs in the folder of its package, so make the path absolute.
        *folder = here.join(&*folder).display().to_string();
    }
    if !SUITE.run(request)?.success() {
        return Err("some program failed, or the suite does not build".to_owned());
    }
    say("all programs agree, or were written");
    Ok(())
}
