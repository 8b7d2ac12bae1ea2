//! Kernels that are right and slow: the notes of each, and that its fixes make it faster by the estimate.
//!
//! A kernel is a file of `tests/performance/` with its notes beside it. The comment at its head says the rule that it is about. Read the
//! notes to somebody who writes kernels and does not know the compiler: they must say what is slow, where, why, and what to do.

use std::sync::Arc;

use expect_test::expect_file;
use hx_base::testing::MemorySystem;
use hx_base::{Db as _, Diagnostic, Fix, Severity, SourceFile};
use hx_compile::{check_file, default_instance, launch_cycles};
use hx_hir::file_items;
use hx_target::Target;
use hx_workspace::Database;

use crate::support::{GENERATIONS, root};

/// The extent of every dimension of the launches that are compared.
const EXTENT: i64 = 4096;

fn target() -> Target {
    Target::builtin("sm_90a")
}

fn open(text: &str) -> (Database, SourceFile) {
    let mut db = Database::new(Arc::new(MemorySystem::new([("kernel.hx", text)])));
    let file = db.open("kernel.hx").expect("the file is there").files[0];
    (db, file)
}

fn notes(db: &Database, file: SourceFile) -> Vec<&Diagnostic> {
    let found = check_file(db, file, target());
    assert!(!found.iter().any(Diagnostic::is_error), "{found:#?}");
    found.iter().filter(|found| found.severity == Severity::Performance).collect()
}

/// Returns the estimated cycles of a launch of the only kernel of a file.
fn cycles(db: &Database, file: SourceFile) -> f64 {
    let kernel = file_items(db, file).kernels().next().expect("the file has a kernel");
    let instance = default_instance(db, kernel, target()).expect("its parameters have defaults");
    let dims: Vec<(String, i64)> =
        ["m", "n", "k", "t", "h"].into_iter().map(|name| (name.to_owned(), EXTENT)).collect();
    launch_cycles(db, instance, &dims).expect("its grid follows from the dimensions")
}

fn applied(text: &str, fix: &Fix) -> String {
    let mut text = text.to_owned();
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    for edit in edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    text
}

/// The names of the programs, in order.
fn programs() -> Vec<String> {
    let files = std::fs::read_dir(root().join("tests/performance")).expect("the folder is there");
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok()?.strip_suffix(".hx").map(str::to_owned))
        .collect();
    names.sort();
    names
}

#[test]
fn each_says_what_is_slow_and_what_is_faster() {
    for name in programs() {
        let folder = root().join("tests/performance");
        let text = std::fs::read_to_string(folder.join(format!("{name}.hx"))).expect("the program is there");
        let (db, file) = open(&text);
        let found = notes(&db, file);
        let drawn: String =
            found.iter().map(|found| hx_report::render(&db, found, hx_report::Config::default())).collect();
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&drawn);
        assert!(!found.is_empty(), "{name} has no note");
        let before = cycles(&db, file);
        for note in &found {
            for fix in &note.fixes {
                let mended = applied(&text, fix);
                let (db, file) = open(&mended);
                let left = notes(&db, file).iter().filter(|left| left.code.id == note.code.id).count();
                let all = found.iter().filter(|other| other.code.id == note.code.id).count();
                assert!(left < all, "{name}: `{}` leaves the note\n{mended}", fix.title);
                // A note about registers trades cycles of the model for spills, which only a compile shows. The model does not know how
                // long the loads of a loop are waited for: a product of 4096 x 4096 x 4096 takes 0.6 of the time with a ring in tiles of
                // 128 by 128 on an H200, and 0.97 in tiles of 64 by 64.
                let after = cycles(&db, file);
                let is_counted = !["HX0503", "HX0707"].contains(&note.code.id);
                assert!(
                    !is_counted || after < before,
                    "{name}: `{}` is no faster: {before:.0} → {after:.0}\n{mended}",
                    fix.title
                );
            }
        }
    }
}

/// An attribute before the kernel accepts the notes of one code, and no others.
#[test]
fn an_accepted_note_is_not_given() {
    let powers =
        std::fs::read_to_string(root().join("tests/performance/slow_power.hx")).expect("it is there");
    let codes = |text: &str| -> Vec<&'static str> {
        let (db, file) = open(text);
        notes(&db, file).iter().map(|found| found.code.id).collect()
    };
    assert_eq!(codes(&powers), ["HX0703"]);
    let accepted = |code: &str| {
        powers.replace("kernel ", &format!("#[accept(\"{code}\", \"all bits are compared\")]\nkernel "))
    };
    assert_eq!(codes(&accepted("slow-arithmetic")), [""; 0]);
    assert_eq!(codes(&accepted("HX0703")), [""; 0]);
    assert_eq!(codes(&accepted("narrow-access")), ["HX0703"]);
    // `#[exact]` says already that the kernel needs the digits.
    assert_eq!(codes(&powers.replace("kernel ", "#[exact]\nkernel ")), [""; 0]);
    let statement = powers.replace(
        "    copy(cast(pow",
        "    #[accept(\"slow-arithmetic\", \"all bits are compared\")]\n    copy(cast(pow",
    );
    assert_eq!(codes(&statement), [""; 0]);
}

/// Each exception in the standard library has its reason in the text.
#[test]
fn the_standard_library_has_no_open_note() {
    for generation in GENERATIONS {
        let db = Database::default();
        let files = db.workspace().files(&db);
        let target = Target::builtin(generation);
        let open: Vec<String> = files
            .iter()
            .flat_map(|file| check_file(&db, *file, target))
            .filter(|found| found.severity == Severity::Performance)
            .map(|found| hx_report::short(&db, found))
            .collect();
        assert!(open.is_empty(), "{generation}:\n{}", open.concat());
    }
}
