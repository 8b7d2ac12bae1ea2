//! Launches end to end on the simulator: each test takes a file in memory and compares the verdicts and their diagnostics.

mod benches;
mod choice;
mod code;
mod docs;
mod family;
mod launches;
mod listing;
mod orders;
mod prints;
mod properties;
mod reports;
mod strides;
mod tuned;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::Expect;
use hx_base::testing::MemorySystem;
use hx_base::{Diagnostic, SourceFile};
use hx_host::eval::Options;
use hx_launch::Machine;
use hx_target::Target;
use hx_workspace::Database;

use crate::{Filter, Launches, RunOutcome, TestOptions, Verdict, list_tests, run_main, run_tests};

fn simulator() -> Machine {
    Machine::Simulator { target: Target::usual(), instead_of: None, compiler: None }
}

fn open(text: &str) -> (Database, SourceFile) {
    let mut db = Database::new(Arc::new(MemorySystem::new([("t.hx", text)])));
    let file = db.open("t.hx").expect("the file is there").files[0];
    (db, file)
}

fn show(db: &Database, found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let at = |file: SourceFile, range: hx_base::TextRange| {
            file.text(db).get(std::ops::Range::<usize>::from(range)).unwrap_or_default().to_owned()
        };
        out += &format!("{} `{}`: {}\n", d.code.id, at(d.primary.file, d.primary.range), d.message);
        d.secondary.iter().for_each(|l| out += &format!("  at `{}`: {}\n", at(l.file, l.range), l.message));
        d.notes.iter().for_each(|n| out += &format!("  note: {n}\n"));
        d.help.iter().for_each(|h| out += &format!("  help: {h}\n"));
    }
    out
}

/// Runs the tests of a file, and returns what they print, what is remarked about their launches, and their verdicts.
fn told(db: &Database, file: SourceFile, options: &TestOptions<'_>) -> String {
    let listing = list_tests(db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let mut out = show(db, &listing.diagnostics);
    run_tests(db, &listing.cases, &simulator(), options, &AtomicBool::new(false), |report| {
        report.output.iter().for_each(|line| out += &format!("| {line}\n"));
        report.remarks.iter().for_each(|line| out += &format!("{line}\n"));
        match report.verdict {
            Verdict::Passed => out += "passed\n",
            Verdict::Skipped(reason) => out += &format!("skipped ({reason})\n"),
            Verdict::Failed(found) => out += &show(db, &found),
        }
    });
    out
}

/// Runs the tests of a file and compares the report.
fn check(text: &str, want: Expect) {
    let (db, file) = open(text);
    let listing = list_tests(&db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let mut out = show(&db, &listing.diagnostics);
    listing.broken.iter().for_each(|name| out += &format!("{name}: broken\n"));
    let options = TestOptions { jobs: 2, ..TestOptions::default() };
    run_tests(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), |report| {
        let name = &report.case.name;
        report.output.iter().for_each(|line| out += &format!("| {line}\n"));
        report.unjudged.iter().for_each(|reason| out += &format!("not judged: {reason}\n"));
        match report.verdict {
            Verdict::Passed => out += &format!("{name}: passed\n"),
            Verdict::Skipped(reason) => out += &format!("{name}: skipped ({reason})\n"),
            Verdict::Failed(found) => out += &format!("{name}: failed\n{}", show(&db, &found)),
        }
    });
    want.assert_eq(&out);
}

/// Runs the `main` of a file and compares its output.
fn check_main(text: &str, args: &[&str], want: Expect) {
    let (db, file) = open(text);
    let options = Options { args: args.iter().map(|a| (*a).to_owned()).collect(), ..Options::default() };
    let mut lines: Vec<String> = Vec::new();
    let outcome = run_main(
        &db,
        file,
        &simulator(),
        Launches::default(),
        options,
        &mut lines,
        crate::WorkLimit::unlimited().from_now(),
    );
    let mut out: String = lines.iter().map(|l| format!("{l}\n")).collect();
    match outcome {
        RunOutcome::Finished => out += "finished\n",
        RunOutcome::Refused(found) => out += &format!("refused\n{}", show(&db, &found)),
        RunOutcome::Failed(found) => out += &format!("failed\n{}", show(&db, &found)),
    }
    want.assert_eq(&out);
}
