//! Fuzzing: no text makes the front end panic, hang or contradict itself. Random bytes, random tokens, and programs with inserted
//! mistakes go through lexer, parser, formatter and checker.
//!
//! Every test run tries a bounded number of inputs; `cargo xtask fuzz --seconds N` runs for any length of time. An input is a
//! function of the seed, its number and the programs of the project. So the seed and the number reproduce a failure, as long as
//! the programs are unchanged. Start at [`run::run`], then read `judge.rs`, which checks an input.

mod generate;
mod judge;
mod run;
mod shrink;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use generate::Corpus;
use run::{Outcome, Plan};

use crate::support::{root, seed};

/// Number of inputs that a test run tries.
const COUNT: u64 = 3000;

/// Time limit of one input. Inputs take milliseconds; on a machine with ten builds some took a minute.
const LIMIT: Duration = Duration::from_secs(600);

/// Returns a number that `cargo xtask fuzz` passes in a variable.
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Returns the plan of this run from the environment.
fn plan() -> Plan {
    let jobs = given("HX_FUZZ_JOBS").unwrap_or(1).clamp(1, 64) as usize;
    let limit = given("HX_FUZZ_LIMIT").map_or(LIMIT, Duration::from_secs);
    let trace = std::env::var_os("HX_FUZZ_TRACE").map(PathBuf::from);
    let plan = Plan { seed: seed(), first: 0, count: COUNT, until: None, jobs, limit, trace };
    match (given("HX_FUZZ_CASE"), given("HX_FUZZ_SECONDS")) {
        (Some(case), _) => Plan { first: case, count: 1, ..plan },
        (None, Some(seconds)) => {
            Plan { count: u64::MAX, until: Some(Instant::now() + Duration::from_secs(seconds)), ..plan }
        }
        (None, None) => plan,
    }
}

#[test]
fn no_text_breaks_the_front_end() {
    let plan = plan();
    let corpus = Corpus::read(&root());
    let outcome = run::run(&plan, corpus);
    if plan.until.is_some() || plan.count == 1 {
        run::say(&format!(
            "{} inputs from seed {}, {} failures",
            outcome.done,
            plan.seed,
            outcome.failures.len()
        ));
    }
    assert!(outcome.failures.is_empty(), "{}", report(&outcome, plan.seed));
}

fn report(outcome: &Outcome, seed: u64) -> String {
    let mut text = String::new();
    for failure in &outcome.failures {
        let _ = writeln!(text, "case {}: {}\n{}", failure.case, failure.fault.kind, failure.fault.details);
        let _ = writeln!(text, "smallest input found, as it is and escaped:\n{0}\n{0:?}", failure.text);
        let _ = writeln!(text, "again: cargo xtask fuzz --seed {seed} --case {}\n", failure.case);
    }
    text
}

/// The generator produces its kinds of input, and the same seed gives the same inputs.
#[test]
fn inputs_are_varied_and_repeatable() {
    let corpus = Corpus::read(&root());
    let inputs: Vec<String> = (0..400).map(|case| corpus.case(7, case)).collect();
    let again: Vec<String> = (0..400).map(|case| corpus.case(7, case)).collect();
    assert_eq!(inputs, again);
    let count = |good: &dyn Fn(&str) -> bool| inputs.iter().filter(|text| good(text)).count();
    let whole = count(&|text| hx_syntax::parse(text).is_ok() && text.contains("kernel"));
    assert!(whole > 10, "only {whole} of 400 inputs are programs without a syntax error");
    assert!(count(&|text| text.contains('\u{fffd}')) > 10, "there are no random bytes");
    assert!(count(&|text| text.len() > 2000) > 3, "there are no long inputs");
}

/// A failing text is shrunk while it keeps failing.
#[test]
fn failures_become_small() {
    let text = "fn f() { let a = 1; }\nkernel k() { boom(1, 2) }\nfn g() {}\n";
    let small = shrink::shrink(text, 500, |text| text.contains("boom") && text.contains('2'));
    assert_eq!(small, "boom2");
}
