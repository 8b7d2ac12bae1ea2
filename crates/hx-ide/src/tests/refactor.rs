//! Refactorings: each test compares the text after one, and checks that it has no errors.

use expect_test::{Expect, expect};
use hx_base::{TextRange, TextSize};
use hx_target::Target;

use super::{MATMUL, apply, shown, with_text};
use crate::{Action, ActionConfig, ActionKind};

const TEXT: &str = "\
/// Scales the rows of `a`.
kernel scaled(a: f16[m, n], s: f32, c: mut f16[m, n]) grid [cdiv(m, 64)] threads 128 {
    let [bm] = block_idx;
    let rows = tile(a, [64, 16]);
    let first = bm * 2;
    let t = cast(load(rows[.., .., bm, 0]), f32);
    let u = t * 2.0 + 1.0;
    copy(cast(u, f16), tile(c, [64, 16])[.., .., first - bm, 0]);
}
";

/// Returns the actions at a selection, which `$0` begins and ends, or at the cursor `$0`; and the text without the marks.
fn at(marked: &str) -> (String, Vec<Action>) {
    let start = marked.find("$0").expect("there is a mark");
    let text = marked.replace("$0", "");
    let end = marked[start + 2..].find("$0").map_or(start, |length| start + length);
    let size = |at: usize| TextSize::try_from(at).expect("the text is short");
    let (db, file) = with_text(&text);
    let range = TextRange::new(size(start), size(end));
    let found = crate::actions(&db, file, range, &shown(), ActionConfig::ALL).expect("nothing is written");
    (text, found)
}

/// Returns the errors of a text, through every stage.
fn errors(text: &str) -> Vec<String> {
    let (db, file) = with_text(text);
    let found = hx_compile::check_file(&db, file, Target::usual());
    found.iter().filter(|found| found.is_error()).map(|found| found.message.clone()).collect()
}

/// Applies the action whose title begins as given, and compares the lines that are new.
fn check(marked: &str, title: &str, expected: Expect) {
    let (text, found) = at(marked);
    let titles: Vec<&str> = found.iter().map(|action| action.title.as_str()).collect();
    let action = found.iter().find(|action| action.title.starts_with(title));
    let action = action.unwrap_or_else(|| panic!("{title} is not among {titles:?}"));
    let after = apply(&text, &action.edits);
    assert_eq!(errors(&after), Vec::<String>::new(), "{after}");
    let old: Vec<&str> = text.lines().collect();
    let new: String =
        after.lines().filter(|line| !old.contains(line)).map(|line| format!("{}\n", line.trim())).collect();
    expected.assert_eq(&new);
}

fn marked(place: &str) -> String {
    let plain = place.replace("$0", "");
    assert!(TEXT.contains(&plain), "{plain}");
    TEXT.replacen(&plain, place, 1)
}

/// Returns the titles of the actions that extract or inline at a place.
fn titles(marked: &str) -> String {
    let kinds = [ActionKind::Extract, ActionKind::Inline];
    let found = at(marked).1.into_iter().filter(|action| kinds.contains(&action.kind));
    found.map(|action| action.title + "\n").collect()
}

#[test]
fn an_expression_gets_a_name() {
    check(
        &marked("copy($0cast(u, f16)$0, "),
        "extract into a local",
        expect![[r#"
            let value = cast(u, f16);
            copy(value, tile(c, [64, 16])[.., .., first - bm, 0]);
    "#]],
    );
    check(
        &marked("let u = $0t * 2.0$0 + 1.0;"),
        "extract into a local",
        expect![[r#"
            let value = t * 2.0;
            let u = value + 1.0;
    "#]],
    );
}

#[test]
fn an_expression_becomes_a_function() {
    check(
        &marked("let u = $0t * 2.0 + 1.0$0;"),
        "extract into a function",
        expect![[r#"
            fn extracted(t: register f32[64, 16]) -> f32[64, 16] {
            t * 2.0 + 1.0

            let u = extracted(t);
        "#]],
    );
    // No parameter can be declared with the type of `rows`, a view, or of `bm`, an index.
    expect![[r#"
        extract into a local `value`
    "#]]
    .assert_eq(&titles(&marked("let t = cast($0load(rows[.., .., bm, 0])$0, f32);")));
}

#[test]
fn a_part_that_is_no_expression_has_no_name() {
    // The text is `(t * 2.0) + 1.0`.
    expect![[""]].assert_eq(&titles(&marked("let u = t * $02.0 + 1.0$0;")));
}

#[test]
fn a_local_is_replaced_by_its_value() {
    check(
        &marked("let fi$0rst = bm * 2;"),
        "inline",
        expect![[r#"
            copy(cast(u, f16), tile(c, [64, 16])[.., .., (bm * 2) - bm, 0]);
    "#]],
    );
    check(
        &marked("let t = cast(load(ro$0ws[.., .., bm, 0]), f32);"),
        "inline",
        expect![[r#"
            let t = cast(load(tile(a, [64, 16])[.., .., bm, 0]), f32);
    "#]],
    );
}

#[test]
fn a_value_that_is_computed_once_is_not_inlined() {
    // A tile in registers is loaded once, and may be written.
    expect![[""]].assert_eq(&titles(&marked("let $0t = cast(load(rows[.., .., bm, 0]), f32);")));
    expect![[""]].assert_eq(&titles(&marked("let $0u = t * 2.0 + 1.0;")));
}

/// A local that hides a constant of the value would be captured.
#[test]
fn a_value_whose_names_are_hidden_is_not_inlined() {
    let text = |hidden: &str| {
        format!(
            "const W = 4;
kernel k(c: mut f32[m]) grid [1] threads 32 {{
    let $0a = W * 2;
    let {hidden} = 3;
    let t = register_tensor(f32, [32]);
    fill(t, 1.0);
    copy(t, tile(c, [32])[.., a + {hidden}]);
}}
"
        )
    };
    expect![["inline `a`\n"]].assert_eq(&titles(&text("V")));
    expect![[""]].assert_eq(&titles(&text("W")));
}

#[test]
fn an_extent_becomes_a_parameter() {
    check(
        &marked("tile(c, [$064, 16])"),
        "make the extent",
        expect![[r#"
            kernel scaled<TILE = 64>(a: f16[m, n], s: f32, c: mut f16[m, n]) grid [cdiv(m, TILE)] threads 128 {
            let rows = tile(a, [TILE, 16]);
            copy(cast(u, f16), tile(c, [TILE, 16])[.., .., first - bm, 0]);
        "#]],
    );
    check(
        &TEXT.replace("scaled(", "scaled<X = 8>(").replacen(", 16]", ", $016]", 1),
        "make the extent",
        expect![[r#"
            kernel scaled<X = 8, TILE = 16>(a: f16[m, n], s: f32, c: mut f16[m, n]) grid [cdiv(m, 64)] threads 128 {
            let rows = tile(a, [64, TILE]);
            copy(cast(u, f16), tile(c, [64, TILE])[.., .., first - bm, 0]);
        "#]],
    );
}

#[test]
fn a_test_is_added_for_a_kernel() {
    check(
        &marked("kernel sca$0led"),
        "add a test",
        expect![[r#"

            test "scaled" for (m, n) in [(256, 256)] {
            let a = randn(f16, [m, n], seed: 1);
            let s = 1.0;
            let c = empty(f16, [m, n]);
            scaled(a, s, c);
            // The reference is missing: replace `empty(…)` by an expression of the host.
            assert_close(c, empty(f16, [m, n]), ulp: 0);
        "#]],
    );
    check(
        &MATMUL.replacen("kernel mat", "kernel $0mat", 1),
        "add a test",
        expect![[r#"
            test "matmul" for (m, k, n) in [(256, 256, 256)] {
            // The reference is missing: replace `empty(…)` by an expression of the host.
            assert_close(c, empty(f16, [m, n]), ulp: 0);
        "#]],
    );
}

/// Applies every refactoring at every `let` and every shape of kernels of the standard library, and checks the texts.
#[test]
fn whatever_is_offered_is_without_errors() {
    let (norm, transpose) =
        (include_str!("../../../../std/norm.hx"), include_str!("../../../../std/transpose.hx"));
    let mut count = 0;
    for text in [MATMUL, norm, transpose] {
        let after_all = |what: &'static str| text.match_indices(what).map(move |(at, _)| at + what.len());
        for place in after_all("let ").chain(after_all("[")).chain(after_all("kernel ")) {
            let (_, found) = at(&format!("{}$0{}", &text[..place], &text[place..]));
            let own =
                |action: &&Action| !action.title.starts_with("use ") && !action.title.starts_with("pin ");
            for action in found.iter().filter(own) {
                let after = apply(text, &action.edits);
                assert_eq!(errors(&after), Vec::<String>::new(), "{}\n{after}", action.title);
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count}");
}
