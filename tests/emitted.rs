//! Hashes of the CUDA text of every instance that the tests and mains of `std`, `tests/kernels` and `book/examples` launch.
//!
//! A change of the compiler that should not affect code must not affect `tests/emitted`. Otherwise `UPDATE_EXPECT=1` renews the
//! hashes, and the commit says which kernels changed and why. Comments and the names of locals are not hashed.

mod normal;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::expect_file;
use hx_base::{Diagnostic, SourceFile};
use hx_driver::{
    Each, Filter, Machine, RunOutcome, TestOptions, Texts, Verdict, list_tests, run_main, run_tests,
};
use hx_host::eval::Options;
use hx_target::Arch;
use hx_workspace::{Database, OsSystem};

use crate::support;
use normal::normal;

/// Returns a line `HASH INSTANCE` for every instance that the files of some folders launch.
fn hashes(arch: Arch, folders: &[&str]) -> String {
    let mut db = Database::new(Arc::new(OsSystem));
    let root = support::root();
    let mut files: Vec<SourceFile> = Vec::new();
    for folder in folders {
        let folder = root.join(folder);
        let opened = db.open(folder.to_str().expect("a path in UTF-8")).expect("the folder is there");
        files.extend(opened.files);
    }
    let machine = Machine::TextOnly(Texts::new(arch));
    let listing = list_tests(&db, &files, &Filter::default(), Each::unlimited());
    let errors: Vec<&Diagnostic> = listing.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty() && listing.broken.is_empty(), "{errors:?} {:?}", listing.broken);
    let options = TestOptions { seed: 0, timeout: None, jobs: 2 };
    let stop = AtomicBool::new(false);
    run_tests(&db, &listing.cases, &machine, &options, &stop, |report| {
        assert!(matches!(report.verdict, Verdict::Skipped(_)), "{}: {:?}", report.case.name, report.verdict);
    });
    for file in files.into_iter().filter(|file| hx_hir::file_items(&db, *file).main().is_some()) {
        let given = Options { unchecked: true, ..Options::default() };
        let outcome = run_main(&db, file, &machine, given, &mut Vec::new(), Each::unlimited().begins());
        assert!(matches!(outcome, RunOutcome::Finished), "{}: {outcome:?}", file.path(&db));
    }
    let Machine::TextOnly(texts) = machine else { unreachable!("it was made above") };
    let root = format!("{}/", root.display());
    let mut lines = String::new();
    for (instance, text) in texts.into_sorted() {
        let hash = blake3::hash(normal(&text).as_bytes()).to_hex();
        lines += &format!("{} {}\n", &hash[..16], instance.replace(&root, ""));
    }
    lines
}

#[test]
fn texts_on_sm_80() {
    let found = hashes(Arch::Sm80, &["std", "tests/kernels", "book/examples"]);
    expect_file!["emitted/sm_80.txt"].assert_eq(&found);
}

#[test]
fn texts_on_sm_90a() {
    let found = hashes(Arch::Sm90a, &["std", "tests/kernels", "tests/kernels_sm_89", "book/examples"]);
    expect_file!["emitted/sm_90a.txt"].assert_eq(&found);
}
