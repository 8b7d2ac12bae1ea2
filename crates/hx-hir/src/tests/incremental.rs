//! Tests of the queries that an edit does not run again.

use expect_test::{Expect, expect};

use crate::testing::TestDb;
use crate::{Sound, file_diagnostics, file_items, infer_body};

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

/// Infers everything, makes the edit, infers everything again and checks which queries ran.
fn check_edit(from: &str, to: &str, expect: Expect) {
    assert!(BEFORE.contains(from));
    let (mut db, file) = TestDb::with_file(BEFORE);
    let infer_all = |db: &TestDb| {
        for item in &file_items(db, file).items {
            infer_body(db, *item);
        }
    };
    infer_all(&db);
    db.log.take();
    file.update_text(&mut db, BEFORE.replacen(from, to, 1));
    infer_all(&db);
    expect.assert_eq(&db.log.take_counts());
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
    db.log.take();
    file.update_text(&mut db, text.replace("OTHER = 1", "OTHER = 2"));
    file_diagnostics(&db, file);
    expect![[r#"
        body_names × 1
        body_of × 1
        constant_type × 1
        file_diagnostics × 1
        file_items × 1
        infer_body × 1
        item_diagnostics × 1
        lowered_const × 1
        parse × 1
        types_of_strips × 1
        whole_file × 1
    "#]]
    .assert_eq(&db.log.take_counts());
}

/// Counts the queries that find the types of a file and the soundness of its items, and the calls between queries.
fn work(text: &str) -> [usize; 2] {
    let (db, file) = TestDb::with_file(text);
    file_diagnostics(&db, file);
    for &item in &file_items(&db, file).items {
        assert!(Sound::of(&db, item).is_some());
    }
    [db.log.take().len(), db.log.take_checks()]
}

#[test]
fn twice_the_constants_are_twice_the_work() {
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let texts: [(&str, &dyn Fn(usize) -> String); 5] = [
        ("a chain", &|n| {
            format!("const A0 = 1;\n{}", lines(n, &|i| format!("const A{} = A{i} + 1;\n", i + 1)))
        }),
        ("a reversed chain", &|n| {
            format!("{}const A{n} = 1;\n", lines(n, &|i| format!("const A{i} = A{} + 1;\n", i + 1)))
        }),
        ("two constants each", &|n| {
            let line = |i: usize| format!("const A{i} = A{} + 0 * A{};\n", i + 2, i + 1);
            format!("{}const A{n} = 1;\nconst A{} = 1;\n", lines(n, &line), n + 1)
        }),
        ("all on one", &|n| format!("{}const B = 1;\n", lines(n, &|i| format!("const A{i} = B + 1;\n")))),
        ("through functions", &|n| {
            let line = |i: usize| format!("const A{i} = f{i}();\nfn f{i}() -> i64 {{ A{} + 1 }}\n", i + 1);
            format!("{}const A{n} = 1;\n", lines(n, &line))
        }),
    ];
    for (name, text) in texts {
        let (half, whole) = (work(&text(400)), work(&text(800)));
        for (half, whole) in half.into_iter().zip(whole) {
            assert!(whole * 10 <= half * 22, "{name}: {half} for 400 constants, {whole} for 800");
        }
    }
}

#[test]
fn a_call_more_leaves_functions_that_are_on_no_circle() {
    let text = "fn f(n: i32) -> i32 {\n    n\n}\nfn g(n: i32) -> i32 {\n    f(n)\n}\nfn h(n: i32) -> i32 {\n    g(n)\n}\n";
    let (mut db, file) = TestDb::with_file(text);
    file_diagnostics(&db, file);
    db.log.take();
    file.update_text(&mut db, text.replace("g(n)\n", "g(n) + f(n)\n"));
    file_diagnostics(&db, file);
    expect![[r#"
        body_names × 1
        body_of × 1
        constants_of × 1
        file_diagnostics × 1
        file_items × 1
        fn_ptx × 1
        fn_signature × 1
        has_no_body × 1
        has_syntax_errors × 1
        infer_body × 1
        item_diagnostics × 3
        lowered_fn × 1
        parse × 1
        whole_file × 1
    "#]]
    .assert_eq(&db.log.take_counts());
}
