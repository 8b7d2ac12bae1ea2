//! Programs that have no layouts: the message of each, that all demands it names are necessary, and that its suggested fixes
//! work.
//!
//! A program is a file of `tests/unsatisfiable/` with its message beside it. Read the message to somebody who does not know the
//! solver: it must say what conflicts, where, why, and what to do.

use std::ops::Range;
use std::sync::Arc;

use expect_test::expect_file;
use hx_base::testing::MemorySystem;
use hx_base::{Diagnostic, Fix, SourceFile};
use hx_compile::{check_file, conflict, default_instance, routed_program};
use hx_hir::file_items;
use hx_synth::restricted;
use hx_target::Target;
use hx_workspace::Database;

use crate::support::root;

fn target() -> Target {
    Target::usual()
}

/// Every program, with the number of conflicting demands (0 if something is too large) and of suggested fixes.
const PROGRAMS: &[(&str, usize, usize)] = &[
    ("async_pin", 2, 3),
    ("broadcast_pin", 1, 1),
    ("negative_pin", 1, 2),
    ("no_gemm_dtype", 1, 0),
    ("odd_slice_async", 1, 1),
    ("odd_stride_async", 1, 0),
    ("overlapping", 1, 2),
    ("packed_operands", 2, 1),
    ("packed_rows", 2, 0),
    ("packed_slice", 1, 1),
    ("packed_transposed", 2, 1),
    ("packed_type", 2, 0),
    ("pin_and_async", 2, 3),
    ("rearrange_threads", 1, 2),
    ("steps_of_k", 1, 1),
    ("three_pins", 3, 1),
    ("tile_too_large", 0, 1),
    ("too_many_registers", 0, 1),
    ("too_much_shared", 0, 1),
    ("transposed_async", 2, 2),
    ("two_pins", 3, 3),
    ("warps_do_not_divide", 2, 2),
];

fn open(text: &str) -> (Database, SourceFile) {
    let mut db = Database::new(Arc::new(MemorySystem::new([("kernel.hx", text)])));
    let file = db.open("kernel.hx").expect("the file is there").files[0];
    (db, file)
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let (db, file) = open(text);
    check_file(&db, file, target()).iter().filter(|found| found.is_error()).cloned().collect()
}

fn applied(text: &str, fix: &Fix) -> String {
    let mut text = text.to_owned();
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    for edit in edits {
        text.replace_range(Range::<usize>::from(edit.range), &edit.text);
    }
    text
}

fn check(name: &str, claims: usize, fixes: usize) {
    let folder = root().join("tests/unsatisfiable");
    let text = std::fs::read_to_string(folder.join(format!("{name}.hx"))).expect("the program is there");
    let (db, file) = open(&text);
    let found: Vec<&Diagnostic> =
        check_file(&db, file, target()).iter().filter(|found| found.is_error()).collect();
    let drawn: String =
        found.iter().map(|found| hx_report::render(&db, found, hx_report::Config::default())).collect();
    expect_file![folder.join(format!("{name}.txt"))].assert_eq(&drawn);
    assert_eq!(found.len(), 1, "{name}: one conflict is one error\n{drawn}");

    let kernel = file_items(&db, file).kernels().next().expect("the file has a kernel");
    let instance = default_instance(&db, kernel, target()).expect("its parameters have defaults");
    let program = &routed_program(&db, instance).as_ref().expect("it has a tile program").program;
    let known = conflict(&db, instance).as_ref().expect("it has no layouts");
    assert_eq!(known.claims.len(), claims, "{name}: {:?}", known.claims);
    let solves = |claims: &[_]| hx_synth::solve(&restricted(program, claims), &|| false).is_ok();
    if claims > 0 {
        assert!(!solves(&known.claims), "{name}: the demands do not conflict");
    }
    for at in 0..known.claims.len() {
        let fewer = [&known.claims[..at], &known.claims[at + 1..]].concat();
        assert!(solves(&fewer), "{name}: {:?} is not needed for the conflict", known.claims[at]);
    }

    let offered: Vec<&Fix> = found.iter().flat_map(|found| &found.fixes).collect();
    assert_eq!(
        offered.len(),
        fixes,
        "{name}: {:?}",
        offered.iter().map(|fix| &fix.title).collect::<Vec<_>>()
    );
    for fix in offered {
        let mended = applied(&text, fix);
        let left = errors(&mended);
        assert!(left.is_empty(), "{name}: `{}` does not mend it\n{mended}\n{left:#?}", fix.title);
    }
}

#[test]
fn each_says_what_conflicts_and_what_mends_it() {
    for &(name, claims, fixes) in PROGRAMS {
        check(name, claims, fixes);
    }
}

/// The list has every program of the folder.
#[test]
fn every_program_is_listed() {
    let files = std::fs::read_dir(root().join("tests/unsatisfiable")).expect("the folder is there");
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok()?.strip_suffix(".hx").map(str::to_owned))
        .collect();
    names.sort();
    let mut listed: Vec<&str> = PROGRAMS.iter().map(|(name, _, _)| *name).collect();
    listed.sort_unstable();
    assert_eq!(names, listed);
}
