//! Every target assembles what it has the features for.
//!
//! A normal run takes two kernels for each target. `cargo xtask targets` takes every instance that the tests of `std`,
//! `tests/kernels` and their folders for newer targets launch: each assembles without spills outside of a known list, and the launches
//! that a target refuses are listed with the reason in `tests/targets`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect_file;
use hx_compile::{cuda_source, default_instance};
use hx_hir::file_items;
use hx_target::Target;
use hx_workspace::{Database, OsSystem};

use crate::instances::{Survey, survey};
use crate::ledger::{Asked, Extent, outcomes};
use crate::support::root;

/// The variable that names a target, or `all`, and makes the long test run.
const CHOSEN: &str = "HX_TARGETS";

/// A kernel with reductions and one with products and asynchronous copies.
const KERNELS: [(&str, &str); 2] =
    [("std/softmax.hx", "softmax"), ("std/matmul_pipelined.hx", "matmul_pipelined")];

#[test]
fn two_kernels_assemble_for_each_target() {
    let mut db = Database::new(std::sync::Arc::new(OsSystem));
    let mut texts: Vec<(String, Target, String)> = Vec::new();
    for (file, name) in KERNELS {
        let path = root().join(file);
        let opened = db.open(path.to_str().expect("a path in UTF-8")).expect("the file is there");
        let kernel = file_items(&db, opened.files[0]).kernels().find(|kernel| kernel.name(&db) == name);
        let kernel = kernel.unwrap_or_else(|| panic!("`{file}` has no kernel `{name}`"));
        for &target in Target::all() {
            let instance = default_instance(&db, kernel, target).expect("every parameter has a default");
            let source = cuda_source(&db, instance)
                .as_ref()
                .unwrap_or_else(|stop| panic!("{name} for {target}: {stop:?}"));
            texts.push((name.to_owned(), target, source.text.clone()));
        }
    }
    let asked =
        texts.iter().map(|(_, target, text)| Asked { text, target: *target, extent: Extent::Resources });
    let asked: Vec<Asked<'_>> = asked.collect();
    let Some(outcomes) = outcomes("targets::two_kernels_assemble_for_each_target", &asked) else { return };
    for ((name, target, _), outcome) in texts.iter().zip(outcomes) {
        let report = outcome.unwrap_or_else(|found| panic!("{name} for {target}: {found:?}"));
        assert_eq!((report.stack, report.spilled), (0, 0), "{name} for {target}");
    }
}

#[test]
fn every_instance_assembles() {
    let Ok(chosen) = std::env::var(CHOSEN) else { return };
    let is_chosen = |target: &&Target| chosen == "all" || target.name() == chosen;
    let all: Vec<Target> = Target::all().iter().filter(is_chosen).copied().collect();
    assert!(!all.is_empty(), "no target is `{chosen}`");
    for target in all {
        let Survey { launched, refused } = survey(target);
        let asked =
            launched.iter().map(|found| Asked { text: &found.text, target, extent: Extent::Resources });
        let asked: Vec<Asked<'_>> = asked.collect();
        let Some(outcomes) = outcomes("targets::every_instance_assembles", &asked) else { return };
        let mut page = format!("{} instances assemble for {target}.\n", launched.len());
        let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut spilling = Vec::new();
        for (found, outcome) in launched.iter().zip(outcomes) {
            match outcome {
                Ok(report) if report.spilled == 0 => {}
                Ok(report) => spilling.push(format!("{} ({} B)", found.name, report.spilled)),
                Err(complaints) => {
                    wrong.insert(&found.name, complaints);
                }
            }
        }
        assert!(wrong.is_empty(), "{target}: {wrong:#?}");
        for (head, lines) in [("Spill", spilling), ("Refused", refused)] {
            let _ = writeln!(page, "\n{head}: {}.", lines.len());
            for line in lines {
                let _ = writeln!(page, "- {line}");
            }
        }
        expect_file![root().join(format!("tests/targets/{target}.txt"))].assert_eq(&page);
    }
}
