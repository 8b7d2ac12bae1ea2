//! The instances that tests and mains launch, each with its CUDA text. Two suites read them: the hashes of `tests/emitted`, and
//! the machine code of `tests/compiled`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, OnceLock};

use hx_base::{Diagnostic, SourceFile};
use hx_driver::{
    Filter, Launches, RunOutcome, TestOptions, Verdict, WorkLimit, list_tests, run_main, run_tests,
};
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

/// The launches of all tests on a target.
pub(crate) struct Survey {
    pub(crate) launched: Vec<Launched>,
    /// The tests that a target refuses, with the reason.
    pub(crate) refused: Vec<String>,
}

/// Launches every test and main of `std`, of `book/examples` and of all folders of kernels on a target.
pub(crate) fn survey(target: Target) -> Survey {
    let newer = support::NEWER.map(|(_, folder)| folder);
    let folders = ["std", "tests/kernels", "book/examples"].into_iter().chain(newer);
    launch(target, folders, |_| true)
}

fn collect(target: Target) -> Vec<Launched> {
    let newer =
        support::NEWER.into_iter().filter(|(feature, _)| target.has(*feature)).map(|(_, folder)| folder);
    let folders = ["std", "tests/kernels", "book/examples"].into_iter().chain(newer);
    // Launch only those files of `std` whose kernels compile for the target.
    let (compile, library) = (support::std_files(target), support::root().join("std"));
    let is_meant = |path: &str| {
        !std::path::Path::new(path).starts_with(&library) || compile.iter().any(|name| path.ends_with(name))
    };
    let Survey { launched, refused } = launch(target, folders, is_meant);
    assert!(refused.is_empty(), "{refused:#?}");
    launched
}

fn launch(
    target: Target,
    folders: impl Iterator<Item = &'static str>,
    is_meant: impl Fn(&str) -> bool,
) -> Survey {
    let mut db = Database::new(Arc::new(OsSystem));
    let root = support::root();
    let mut files: Vec<SourceFile> = Vec::new();
    for folder in folders {
        let folder = root.join(folder);
        let opened = db.open(folder.to_str().expect("a path in UTF-8")).expect("the folder is there");
        files.extend(opened.files);
    }
    files.retain(|file| is_meant(file.path(&db)));
    let prefix = format!("{}/", root.display());
    let machine = Machine::TextOnly(Texts::new(target));
    let listing = list_tests(&db, &files, &Filter::default(), WorkLimit::unlimited());
    let errors: Vec<&Diagnostic> = listing.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty() && listing.broken.is_empty(), "{errors:?} {:?}", listing.broken);
    let options = TestOptions { jobs: support::cores(), ..TestOptions::default() };
    let stop = AtomicBool::new(false);
    let mut refused = Vec::new();
    run_tests(&db, &listing.cases, &machine, &options, &stop, |report| {
        let Verdict::Failed(found) = &report.verdict else { return };
        let reasons = found.iter().map(|found| format!("{} {}", found.code.id, found.message));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        refused.push(format!("{}: {reasons}", report.case.name.replace(&prefix, "")));
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
            WorkLimit::unlimited().from_now(),
        );
        if !matches!(outcome, RunOutcome::Finished) {
            refused.push(format!("{}: {outcome:?}", file.path(&db).replace(&prefix, "")));
        }
    }
    refused.sort();
    let Machine::TextOnly(texts) = machine else { unreachable!("it was made above") };
    let launched = texts.into_sorted().into_iter();
    let launched = launched.map(|(name, text)| Launched { name: name.replace(&prefix, ""), text }).collect();
    Survey { launched, refused }
}
