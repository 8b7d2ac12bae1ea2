//! What an edit does not run again.

use expect_test::{Expect, expect};

use crate::test_db::TestDb;
use crate::{file_diagnostics, file_items, infer_body};

const BEFORE: &str = "
const TILE = 64;
kernel first(a: f16[m], c: mut f16[m]) grid [cdiv(m, TILE)] threads 32 {
    let i = block_idx;
    copy(load(tile(a, [TILE])[.., i]), tile(c, [TILE])[.., i]);
}
kernel second(a: f16[m]) grid [1] threads 32 {
    let r = register_tensor(f16, [TILE]);
    fill(r, 0.0);
}
";

/// Infers everything, makes the edit, infers everything again and shows what ran.
fn check_edit(from: &str, to: &str, expect: Expect) {
    assert!(BEFORE.contains(from));
    let (mut db, file) = TestDb::with_file(BEFORE);
    let infer_all = |db: &TestDb| {
        for item in &file_items(db, file).items {
            infer_body(db, *item);
        }
    };
    infer_all(&db);
    db.log().take();
    file.update_text(&mut db, BEFORE.replacen(from, to, 1));
    infer_all(&db);
    expect.assert_eq(&db.log().take_counts());
}

#[test]
fn whitespace_infers_nothing() {
    check_edit(
        "let i =",
        "let   i /* block */ =",
        expect![[r#"
        body_of × 1
        file_items × 1
        kernel_signature × 1
        lowered_kernel × 1
        parse × 1
    "#]],
    );
}

#[test]
fn a_comment_between_items_takes_nothing_apart() {
    check_edit(
        "kernel second",
        "// a remark\nkernel second",
        expect![[r#"
        body_of × 1
        file_items × 1
        kernel_signature × 1
        lowered_kernel × 1
        parse × 1
    "#]],
    );
}

#[test]
fn an_edited_body_is_inferred_alone() {
    check_edit(
        "fill(r, 0.0)",
        "fill(r, 1.0)",
        expect![[r#"
        body_names × 1
        body_of × 1
        file_items × 1
        infer_body × 1
        kernel_signature × 1
        lowered_kernel × 1
        parse × 1
        signature_types × 1
    "#]],
    );
}

#[test]
fn an_item_above_infers_only_itself() {
    check_edit(
        "const TILE",
        "const OTHER = 3;\nconst TILE",
        expect![[r#"
            body_names × 1
            body_of × 1
            constants_of × 1
            file_items × 1
            find_item × 1
            imports × 1
            infer_body × 1
            item_named × 10
            lowered_const × 1
            parse × 1
            signature_names × 1
            standing × 1
        "#]],
    );
}

#[test]
fn a_constant_reaches_those_that_use_it() {
    check_edit(
        "= 64",
        "= 32",
        expect![[r#"
            body_names × 1
            body_of × 1
            constant_type × 1
            file_items × 1
            infer_body × 3
            lowered_const × 1
            parse × 1
            signature_types × 1
        "#]],
    );
}

#[test]
fn whitespace_moves_diagnostics() {
    let (mut db, file) = TestDb::with_file("const A = B;\n");
    let place = |db: &TestDb| file_diagnostics(db, file)[0].primary.range.start();
    assert_eq!(u32::from(place(&db)), 10);
    file.update_text(&mut db, "const A =   B;\n");
    assert_eq!(u32::from(place(&db)), 12);
}

#[test]
fn a_constant_runs_again_alone() {
    let items: String = (1..100).map(|i| format!("const A{i} = A{} + A{};\n", i - 1, i - 1)).collect();
    let text = format!("const A0 = 0;\n{items}const OTHER = 1;\n");
    let (mut db, file) = TestDb::with_file(&text);
    file_diagnostics(&db, file);
    db.log().take();
    file.update_text(&mut db, text.replace("OTHER = 1", "OTHER = 2"));
    file_diagnostics(&db, file);
    expect![[r#"
        body_names × 1
        body_of × 1
        file_diagnostics × 1
        file_items × 1
        infer_body × 1
        item_diagnostics × 1
        lowered_const × 1
        parse × 1
        whole_file × 1
    "#]]
    .assert_eq(&db.log().take_counts());
}
