//! Tests of which items are sound, and which errors prevent it.

use expect_test::{Expect, expect};
use hx_base::SourceFile;

use crate::testing::{TestDb, draw};
use crate::{Item, Sound, file_items, item_named, reached_errors};

/// Checks for each item of the last file whether it is sound, and which errors it reaches.
fn check(files: &[(&str, &str)], expect: Expect) {
    let mut db = TestDb::default();
    let added: Vec<SourceFile> = files.iter().map(|(path, text)| db.add(path, text)).collect();
    let last = *added.last().expect("there is a file");
    let mut out = String::new();
    for &item in &file_items(&db, last).items {
        let found = reached_errors(&db, item);
        assert_eq!(found.is_empty(), Sound::of(&db, item).is_some());
        let errors: Vec<String> =
            found.iter().map(|d| format!("{} in {}", d.code.id, d.primary.file.path(&db))).collect();
        let errors = if errors.is_empty() { "sound".to_owned() } else { errors.join(", ") };
        out += &format!("{} {}: {errors}\n", item.kind().word(), item.name(&db));
    }
    expect.assert_eq(&out);
}

fn check_one(text: &str, expect: Expect) {
    check(&[("a.hx", text)], expect);
}

#[test]
fn an_error_reaches_whatever_uses_its_item() {
    check_one(
        r#"const N = nothing;
fn f(x: f32) -> f32 { x + M }
const M = 2.0;
fn g(x: f32) -> f32 { f(x) + bad }
kernel a(x: f32[N]) grid [1] threads 32 { }
kernel b(x: mut f32[m]) grid [1] threads 32 { fill(x, f(1.0)); }
kernel c(x: mut f32[m]) grid [1] threads 32 { fill(x, g(1.0)); }
kernel d(x: mut f32[m]) grid [nothing] threads 32 { }
test "a" { a(zeros(f32, 4)); }
test "b" { let x = zeros(f32, 4); b(x); print(M); }
test "c" { let x = zeros(f32, 4); if false { c(x); } }
test "d" for n in [N] { print(n); }
main { let x = zeros(f32, 4); b(x, 1); }
"#,
        expect![[r#"
            const N: HX0101 in a.hx
            fn f: sound
            const M: sound
            fn g: HX0101 in a.hx
            kernel a: HX0101 in a.hx
            kernel b: sound
            kernel c: HX0101 in a.hx
            kernel d: HX0101 in a.hx
            test a: HX0101 in a.hx
            test b: sound
            test c: HX0101 in a.hx
            test d: HX0101 in a.hx
            main main: HX0201 in a.hx
        "#]],
    );
}

#[test]
fn types_that_do_not_fit_are_errors_of_their_item() {
    check_one(
        "fn f(x: f32) -> i32 { x }
kernel a(x: f32[m]) grid [1] threads 32 { tile(x, [32])[0..16, 0] += 1.0; }
kernel b(x: f32[m]) grid [1] threads 32 { let v: i32 = 1.5; }
kernel c(x: f32[m]) grid [1] threads 32 { let v = f(1.0); }
kernel d(x: f32[m]) grid [1] threads 32 { let v = 1.0; }
",
        expect![[r#"
            fn f: HX0203 in a.hx
            kernel a: HX0207 in a.hx
            kernel b: HX0203 in a.hx
            kernel c: HX0203 in a.hx
            kernel d: sound
        "#]],
    );
}

/// A syntax error at the end of an item may be found at the beginning of the next item, and belongs to the former.
#[test]
fn syntax_errors_belong_to_the_item_that_they_are_in() {
    check_one(
        "const A = 1
const B = 2;
fn f(x: f32) -> f32 { x + 1.0 }
kernel k(x: mut f32[m]) grid [1] threads 32 { fill(x f(1.0)); }
kernel l(x: mut f32[m]) grid [1] threads 32 { fill(x, f(1.0)); }
",
        expect![[r#"
            const A: HX0001 in a.hx
            const B: sound
            fn f: sound
            kernel k: HX0001 in a.hx
            kernel l: sound
        "#]],
    );
    check_one(
        "const A = 1 const B = 2; const C = 3;",
        expect![[r#"
            const A: HX0001 in a.hx
            const B: sound
            const C: sound
        "#]],
    );
}

/// Text between items may be the rest of any of them: here a kernel that ends too early. Its error breaks all items.
#[test]
fn text_that_is_in_no_item_breaks_every_item_of_its_file() {
    let text = "const A = 1;
kernel k(x: mut f32[m]) grid [1] threads 32 { if m > 3 { fill(x, 0.0); } } fill(x, 1.0); }
";
    check_one(
        text,
        expect![[r#"
        const A: HX0001 in a.hx
        kernel k: HX0001 in a.hx
    "#]],
    );
    check(
        &[("b.hx", text), ("a.hx", "use b::A;\nconst B = A;\nconst C = 1;\n")],
        expect![[r#"
        use b::A: sound
        const B: HX0001 in b.hx
        const C: sound
    "#]],
    );
}

#[test]
fn errors_are_followed_into_other_files() {
    let other = "fn good(x: f32) -> f32 { x }
fn bad(x: f32) -> f32 { x + y }
kernel k(x: mut f32[m]) grid [1] threads 32 { fill(x, bad(1.0)); }
";
    let text = "use b::bad; use b::k;
kernel l(x: mut f32[m]) grid [1] threads 32 { fill(x, bad(1.0)); }
kernel n(x: mut f32[m]) grid [1] threads 32 { fill(x, b::good(1.0)); }
main { let x = zeros(f32, 4); k(x); }
";
    let mut db = TestDb::default();
    db.add("b.hx", other);
    let file = db.add("a.hx", text);
    check(
        &[("b.hx", other), ("a.hx", text)],
        expect![[r#"
        use b::bad: sound
        use b::k: sound
        kernel l: HX0101 in b.hx
        kernel n: sound
        main main: HX0101 in b.hx
    "#]],
    );
    expect![[r#"
        error[HX0101]: `bad` cannot be used, because of an error in `b.hx`
          kernel l(x: mut f32[m]) grid [1] threads 32 { fill(x, bad(1.0)); }
                                                                ^^^
          b.hx: fn bad(x: f32) -> f32 { x + y }
                                            - nothing in scope is called `y`
        error[HX0101]: `k` cannot be used, because of an error in `b.hx`
          main { let x = zeros(f32, 4); k(x); }
                                        ^
          b.hx: fn bad(x: f32) -> f32 { x + y }
                                            - nothing in scope is called `y`
    "#]]
    .assert_eq(&draw(&db, crate::file_diagnostics(&db, file)));
}

/// If an import leads nowhere, the imported name must not silently mean a built-in function.
#[test]
fn an_import_that_leads_nowhere_breaks_what_names_it() {
    check_one(
        "use nowhere::sum;
use nowhere::other;
kernel k(x: f32[m]) grid [1] threads 32 { let v = sum(load(tile(x, [32])[.., 0]), axis: 0); }
kernel l(x: mut f32[m]) grid [1] threads 32 { fill(x, 0.0); }
",
        expect![[r#"
            use nowhere::sum: HX0103 in a.hx
            use nowhere::other: HX0103 in a.hx
            kernel k: HX0103 in a.hx
            kernel l: sound
        "#]],
    );
}

#[test]
fn what_is_defined_twice_is_not_used() {
    check_one(
        "const A = 1;
const A = 2;
const B = A;
const C = 3;
",
        expect![[r#"
            const A: HX0102 in a.hx
            const A: HX0102 in a.hx
            const B: HX0102 in a.hx
            const C: sound
        "#]],
    );
}

#[test]
fn recursion_ends() {
    check_one(
        "fn f(x: i32) -> i32 { g(x) }
fn g(x: i32) -> i32 { f(x) }
kernel k(x: mut i32[m]) grid [1] threads 32 { fill(x, f(1)); }
",
        expect![[r#"
            fn f: HX0108 in a.hx, HX0108 in a.hx
            fn g: HX0108 in a.hx, HX0108 in a.hx
            kernel k: HX0108 in a.hx, HX0108 in a.hx
        "#]],
    );
}

#[test]
fn errors_go_round_in_circles() {
    check_one(
        "fn f(x: i32) -> i32 { g(x) }
fn g(x: i32) -> i32 { h(x) + WRONG }
fn h(x: i32) -> i32 { f(x) }
fn outside(x: i32) -> i32 { f(x) }
kernel k(x: mut i32[m]) grid [1] threads 32 { k(x); }
",
        expect![[r#"
            fn f: HX0108 in a.hx, HX0108 in a.hx, HX0101 in a.hx, HX0108 in a.hx
            fn g: HX0108 in a.hx, HX0108 in a.hx, HX0101 in a.hx, HX0108 in a.hx
            fn h: HX0108 in a.hx, HX0108 in a.hx, HX0101 in a.hx, HX0108 in a.hx
            fn outside: HX0108 in a.hx, HX0108 in a.hx, HX0101 in a.hx, HX0108 in a.hx
            kernel k: HX0104 in a.hx
        "#]],
    );
}

const TEXT: &str = "fn f(x: f32) -> f32 { x + 1.0 }
kernel k(x: mut f32[m]) grid [1] threads 32 { fill(x, f(1.0)); }
kernel l(x: mut f32[m]) grid [1] threads 32 { fill(x, 0.0); }
";

/// Checks which queries run when `k` is requested again after an edit.
fn check_edit(from: &str, to: &str, sound: bool, expect: Expect) {
    let (mut db, file) = TestDb::with_file(TEXT);
    let is_sound = |db: &TestDb| {
        let kernel: Item<'_> = item_named(db, file, "k".into()).expect("the kernel");
        Sound::of(db, kernel).is_some()
    };
    assert!(is_sound(&db));
    db.log.take();
    assert!(file.update_text(&mut db, TEXT.replacen(from, to, 1)));
    assert_eq!(is_sound(&db), sound);
    expect.assert_eq(&db.log.take_counts());
}

#[test]
fn an_edit_elsewhere_leaves_the_answer() {
    check_edit(
        "fill(x, 0.0)",
        "fill(x, zero)",
        true,
        expect![[r#"
            file_items × 1
            has_syntax_errors × 1
            item_diagnostics × 1
            lowered_kernel × 1
            parse × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    check_edit(
        "fn f",
        "// a remark\nfn f",
        true,
        expect![[r#"
            body_of × 1
            file_items × 1
            fn_ptx × 1
            fn_signature × 1
            has_no_body × 1
            has_syntax_errors × 1
            item_diagnostics × 1
            lowered_fn × 1
            parse × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    check_edit(
        "x + 1.0",
        "x + 2.0",
        true,
        expect![[r#"
            body_names × 1
            body_of × 1
            file_items × 1
            fn_ptx × 1
            fn_signature × 1
            has_no_body × 1
            has_syntax_errors × 1
            infer_body × 1
            item_diagnostics × 1
            lowered_fn × 1
            parse × 1
            syntax_diagnostics × 1
            uses × 1
            whole_file × 1
        "#]],
    );
    check_edit(
        "x + 1.0",
        "x + y",
        false,
        expect![[r#"
            body_names × 1
            body_of × 1
            constants_of × 1
            file_items × 1
            fn_ptx × 1
            fn_signature × 1
            has_errors × 1
            has_no_body × 1
            has_syntax_errors × 1
            import_named × 1
            infer_body × 1
            is_sound × 2
            item_diagnostics × 1
            item_named × 1
            item_names × 1
            lowered_fn × 1
            own_errors × 1
            parse × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
}
