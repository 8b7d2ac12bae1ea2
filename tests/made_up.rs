//! A target is data: an architecture that does not exist runs kernels on the simulator. Its lanes, its numbers and its instructions are
//! the files of `tests/made_up`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::expect;
use hx_compile::{default_instance, solved};
use hx_driver::{Filter, TestOptions, Verdict, WorkLimit, list_tests, run_tests};
use hx_hir::file_items;
use hx_launch::Machine;
use hx_target::{COSTS_TEXT, Description, Target};
use hx_tile::Choice;
use hx_workspace::{Database, OsSystem};

use crate::support::root;

fn made_up() -> Target {
    let read =
        Description::read(include_str!("made_up/target.toml"), include_str!("made_up/rows.toml"), COSTS_TEXT);
    Target::new(read.expect("the files are well formed").remove(0))
}

#[test]
fn a_target_that_does_not_exist_runs_kernels() {
    let target = made_up();
    let mut db = Database::new(Arc::new(OsSystem));
    let path = root().join("tests/made_up/kernels.hx");
    let files = db.open(path.to_str().expect("a path in UTF-8")).expect("the file is there").files;
    let found = hx_compile::check_file(&db, files[0], target);
    assert!(!found.iter().any(hx_base::Diagnostic::is_error), "{found:#?}");
    let machine = Machine::Simulator { target, instead_of: None, compiler: None };
    let listing = list_tests(&db, &files, &Filter::default(), WorkLimit::unlimited());
    let mut passed = 0;
    run_tests(&db, &listing.cases, &machine, &TestOptions::default(), &AtomicBool::new(false), |report| {
        assert!(matches!(report.verdict, Verdict::Passed), "{}: {:#?}", report.case.name, report.verdict);
        passed += 1;
    });
    assert_eq!(passed, 4);
    // The solver chose its instructions, and no other target's.
    let mut rows = Vec::new();
    for kernel in file_items(&db, files[0]).kernels() {
        let instance = default_instance(&db, kernel, target).expect("every parameter has a default");
        let solution = &solved(&db, instance).as_ref().expect("there are layouts").solution;
        rows.extend(solution.choices.values().filter_map(|choice| match choice {
            Choice::Copy(copy) => Some(copy.row.name()),
            Choice::Gemm(gemm) => Some(gemm.row.name()),
            Choice::Reduce(reduce) if !reduce.lanes.is_empty() => Some("swap.lanes"),
            _ => None,
        }));
    }
    rows.sort_unstable();
    rows.dedup();
    expect!["fetch.one, mad.m8n8k2.f32, put.one, read.two, swap.lanes, write.one"]
        .assert_eq(&rows.join(", "));
}
