//! Tests that the kernels for which the language was designed have no errors.

use crate::file_diagnostics;
use crate::testing::{TestDb, draw};

fn check_clean(text: &str) {
    let mut db = TestDb::default();
    db.add("std/math.hx", "const LOG2E: f32 = 1.4426950408889634;\n");
    let file = db.add("a.hx", text);
    let mut found = hx_base::syntax_diagnostics(&db, file).clone();
    found.extend(file_diagnostics(&db, file).iter().cloned());
    assert_eq!(draw(&db, &found), "");
}

#[test]
fn the_first_page() {
    check_clean(include_str!("../../../../std/matmul.hx"));
}

#[test]
fn attention() {
    check_clean(hx_test_support::program("attention"));
}

#[test]
fn moe() {
    check_clean(hx_test_support::program("moe"));
}

#[test]
fn selective_scan() {
    check_clean(hx_test_support::program("selective_scan"));
}

#[test]
fn w4a16() {
    check_clean(hx_test_support::program("w4a16"));
}
