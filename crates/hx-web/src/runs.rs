//! Runs of tests and `main` on the simulator. A request runs one case, so that a page can show each result as it arrives, and can
//! stop a run by ending its worker.

use std::sync::atomic::AtomicBool;

use hx_driver::{
    CaseReport, Filter, Launches, RunOutcome, TestOptions, Verdict, WorkLimit, case_place, list_tests,
    run_main, run_tests,
};
use hx_host::eval::Options;
use hx_launch::Machine;
use hx_target::Target;
use hx_workspace::Database;
use serde_json::{Value, json};

use crate::answers::Places;

fn simulator(target: Target) -> Machine {
    Machine::Simulator { target, instead_of: None, compiler: None }
}

/// Lists the cases of all tests, each with the offset of its test, and the tests that have errors.
pub(crate) fn tests(db: &Database, places: &Places<'_>) -> Value {
    let listing = list_tests(db, &[places.file], &Filter::default(), WorkLimit::unlimited());
    let cases = listing.cases.iter().map(|case| {
        let place = case_place(db, case).filter(|(file, _)| *file == places.file);
        json!({ "name": case.name, "at": place.map(|(_, at)| places.unit(at)) })
    });
    json!({ "cases": cases.collect::<Value>(), "broken": listing.broken })
}

/// Runs the test case with this name.
///
/// # Errors
/// If there is no such case, or its test has errors.
pub(crate) fn test(db: &Database, places: &Places<'_>, target: Target, name: &str) -> Result<Value, String> {
    let filter = Filter { names: vec![name.to_owned()], exact: true, ..Filter::default() };
    let listing = list_tests(db, &[places.file], &filter, WorkLimit::unlimited());
    let mut reported = None;
    let (machine, options) = (simulator(target), TestOptions::default());
    run_tests(db, &listing.cases, &machine, &options, &AtomicBool::new(false), |report| {
        reported = Some(case(places, &report));
    });
    reported.ok_or_else(|| format!("there is no test `{name}`, or it has errors"))
}

fn case(places: &Places<'_>, report: &CaseReport) -> Value {
    let (verdict, found, reason) = match &report.verdict {
        Verdict::Passed => ("passed", &[][..], None),
        Verdict::Failed(found) => ("failed", found.as_slice(), None),
        Verdict::Skipped(reason) => ("skipped", &[][..], Some(reason)),
    };
    json!({
        "name": report.case.name,
        "verdict": verdict,
        "reason": reason,
        "milliseconds": report.time.as_secs_f64() * 1000.0,
        "output": report.output,
        "found": found.iter().map(|found| places.diagnostic(found)).collect::<Value>(),
        "picture": report.picture.as_ref().map(|picture| {
            json!({ "lines": picture.lines, "scale": picture.scale })
        }),
        "cases": report.drawn.as_ref().map(|drawn| drawn.cases),
        "failing": report.drawn.as_ref().and_then(|drawn| drawn.failing.as_deref()),
        "unjudged": report.unjudged,
    })
}

/// Runs `main`. Returns the printed lines, and the errors that prevented or ended the run.
pub(crate) fn main(db: &Database, places: &Places<'_>, target: Target) -> Value {
    let (machine, mut lines) = (simulator(target), Vec::<String>::new());
    let (launches, options) = (Launches::default(), Options::default());
    let until = WorkLimit::unlimited().from_now();
    let found = match run_main(db, places.file, &machine, launches, options, &mut lines, until) {
        RunOutcome::Finished => Vec::new(),
        RunOutcome::Refused(found) | RunOutcome::Failed(found) => found,
    };
    json!({ "output": lines, "found": found.iter().map(|found| places.diagnostic(found)).collect::<Value>() })
}
