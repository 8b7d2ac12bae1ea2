//! The instances that tests and mains launch, each with its CUDA text. Two suites read them: the hashes of `tests/emitted`, and
//! the machine code of `compiled`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, OnceLock};

use hx_base::{Diagnostic, SourceFile};
use hx_driver::{Each, Filter, Launches, RunOutcome, TestOptions, Verdict, list_tests, run_main, run_tests};
use hx_host::eval::Options;
use hx_launch::{Machine, Texts};
use hx_target::Target;
use hx_workspace::{Database, OsSystem};

use crate::support;

/// An instance and its CUDA text.
pub(crate) struct Launched {
    /// The instance with the path of its file from the root, as in `std/norm.hx::rmsnorm<BN = 8192, T = f16> n % 8`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Returns every instance that the tests and mains of `std`, `tests/kernels` and `book/examples` launch on an architecture,
/// ordered by name. They are collected once for all tests of this process.
pub(crate) fn launched(target: Target) -> &'static [Launched] {
    static FOUND: LazyLock<Vec<OnceLock<Vec<Launched>>>> =
        LazyLock::new(|| Target::all().iter().map(|_| OnceLock::new()).collect());
    let at = Target::all().iter().position(|known| *known == target).expect("it is a built-in target");
    FOUND[at].get_or_init(|| collect(target))
}

fn collect(target: Target) -> Vec<Launched> {
    let newer =
        support::NEWER.into_iter().filter(|(feature, _)| target.has(*feature)).map(|(_, folder)| folder);
    let mut db = Database::new(Arc::new(OsSystem));
    let root = support::root();
    let mut files: Vec<SourceFile> = Vec::new();
    for folder in ["std", "tests/kernels", "book/examples"].into_iter().chain(newer) {
        let folder = root.join(folder);
        let opened = db.open(folder.to_str().expect("a path in UTF-8")).expect("the folder is there");
        files.extend(opened.files);
    }
    // Of the library, the files whose kernels compile for the architecture.
    let compile = support::std_files(target);
    let library = root.join("std");
    files.retain(|file| {
        let path = file.path(&db);
        !std::path::Path::new(path).starts_with(&library) || compile.iter().any(|name| path.ends_with(name))
    });
    let machine = Machine::TextOnly(Texts::new(target));
    let listing = list_tests(&db, &files, &Filter::default(), Each::unlimited());
    let errors: Vec<&Diagnostic> = listing.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty() && listing.broken.is_empty(), "{errors:?} {:?}", listing.broken);
    let options = TestOptions { jobs: 2, ..TestOptions::default() };
    let stop = AtomicBool::new(false);
    run_tests(&db, &listing.cases, &machine, &options, &stop, |report| {
        assert!(matches!(report.verdict, Verdict::Skipped(_)), "{}: {:?}", report.case.name, report.verdict);
    });
    for file in files.into_iter().filter(|file| hx_hir::file_items(&db, *file).main().is_some()) {
        let given = Options { unchecked: true, ..Options::default() };
        let outcome = run_main(
            &db,
            file,
            &machine,
            Launches::default(),
            given,
            &mut Vec::new(),
            Each::unlimited().begins(),
        );
        assert!(matches!(outcome, RunOutcome::Finished), "{}: {outcome:?}", file.path(&db));
    }
    let Machine::TextOnly(texts) = machine else { unreachable!("it was made above") };
    let root = format!("{}/", root.display());
    let launched = texts.into_sorted().into_iter();
    launched.map(|(name, text)| Launched { name: name.replace(&root, ""), text }).collect()
}
