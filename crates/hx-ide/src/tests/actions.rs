//! Fixes and assists: each test applies an action, and checks that its title is true afterwards.

use expect_test::{Expect, expect};
use hx_base::{SourceFile, TextRange, TextSize};
use hx_target::Target;
use hx_workspace::Database;

use super::{MATMUL, apply, shown, with_cursor, with_text};
use crate::{Action, ActionConfig, LastGood};

fn at(db: &Database, file: SourceFile, range: TextRange) -> Vec<Action> {
    crate::actions(db, file, range, &shown(), ActionConfig::ALL).expect("nothing is written")
}

fn titles(text: &str) -> (Database, SourceFile, Vec<Action>, String) {
    let (db, file, offset) = with_cursor(text);
    let found = at(&db, file, TextRange::empty(offset));
    let titles: Vec<&str> = found.iter().map(|action| action.title.as_str()).collect();
    let titles = titles.join("\n");
    (db, file, found, titles)
}

/// Returns the CUDA text of the kernels of a file.
fn cuda(text: &str) -> Vec<String> {
    let (db, file) = with_text(text);
    let texts = crate::cuda_texts(&db, file, &shown()).expect("nothing is written");
    texts.into_iter().map(|text| text.text).collect()
}

#[test]
fn fixes_mend_what_they_say() {
    let text = "kernel k(a: f16[m, n], c: mut f16[m, n]) grid [1] threads 128 {\n    cp$0oy(a, c);\n}\n";
    let (_, _, _, found) = titles(&text.replace("copy", "cpoy").replace("cp$0oy", "c$0poy"));
    expect!["replace it by `copy`"].assert_eq(&found);
}

#[test]
fn a_pinned_layout_is_the_one_that_was_inferred() {
    let norm = include_str!("../../../../std/norm.hx");
    let transpose = include_str!("../../../../std/transpose.hx");
    let mut pinned = 0;
    for text in [MATMUL, norm, transpose] {
        let before = cuda(text);
        let (db, file) = with_text(text);
        for (start, _) in text.match_indices("let ") {
            let start = TextSize::try_from(start).expect("the text is short");
            for action in at(&db, file, TextRange::empty(start)) {
                if !action.title.starts_with("pin this layout") {
                    continue;
                }
                let after = apply(text, &action.edits);
                assert_ne!(after, text);
                assert_eq!(cuda(&after), before, "{}", action.title);
                pinned += 1;
            }
        }
    }
    assert!(pinned >= 4, "{pinned}");
}

#[test]
fn a_pin_says_for_which_arguments_it_holds() {
    let (db, file, found, names) = titles(&MATMUL.replace("let rc = register", "let r$0c = register"));
    expect!["pin this layout of `rc`, for BK = 16, BM = 64, BN = 64"].assert_eq(&names);
    let after = apply(file.text(&db), &found[0].edits);
    let line = after.lines().find(|line| line.contains("let rc =")).unwrap_or_default();
    expect!["    let rc = register_tensor(f32, [BM, BN], layout: ((4, 8, 4), (2, 2, 8)) : ((128, 1, 16), (64, 8, 512)));"].assert_eq(line);
}

#[test]
fn nothing_is_offered_for_what_is_pinned_or_cannot_be() {
    let text = "\
kernel k(x: f32[m], y: mut f32[m]) grid [1] threads 64 {
    let r = register_tensor(f32, [256], layout: (64, 4) : (4, 1));
    copy(tile(x, [256])[.., 0], r);
    let s$0 = r * 2.0;
    copy(s, tile(y, [256])[.., 0]);
}
";
    let (_, _, _, found) = titles(text);
    expect![[""]].assert_eq(&found);
    let (_, _, _, found) = titles(&text.replace("s$0", "s").replace("let r =", "let r$0 ="));
    expect![[""]].assert_eq(&found);
}

/// Applies every action at a place, and checks that the hint there then has the width that the title promises.
fn check_widths(text: &str, marked: &str, expected: Expect) {
    let (db, file, found, names) = titles(&text.replacen(marked, &format!("$0{marked}"), 1));
    expected.assert_eq(&names);
    let line = text[..text.find(marked).unwrap_or_default()].lines().count();
    for action in found.iter().filter(|action| action.title.starts_with("use ")) {
        let after = apply(file.text(&db), &action.edits);
        let (db, file) = with_text(&after);
        let found = hx_compile::check_file(&db, file, Target::usual());
        assert!(!found.iter().any(hx_base::Diagnostic::is_error), "{found:?}\n{after}");
        let width = action.title.split_whitespace().nth(1).unwrap_or_default();
        let hints = super::hints(&db, file, &LastGood::default());
        let hint = hints.lines().find(|hint| hint.starts_with(&format!("{line}:"))).unwrap_or_default();
        assert!(hint.contains(&format!("· {width} B")), "{}: {hint}\n{after}", action.title);
    }
}

#[test]
fn accesses_of_another_width() {
    // A product that reads computed values leaves the loads as they are.
    check_widths(
        &MATMUL.replace("gemm(rc, ra, rb)", "gemm(rc, abs(ra), abs(rb))"),
        "copy(ga[.., .., ki], ra)",
        expect![[r#"
            use 16 B accesses: pin `ra`, for BK = 16, BM = 64, BN = 64 (estimated cycles 30028 → 28900)
            use 2 B accesses: pin `ra`, for BK = 16, BM = 64, BN = 64 (estimated cycles 30028 → 76708)"#]],
    );
}

#[test]
fn values_that_change_hands_are_said_to() {
    let text = "\
kernel k(x: f16[m, n], w: f16[p, n], y: mut f32[m, n]) grid [1] threads 128 {
    let a = register_tensor(f16, [64, 64], layout: ((8, 16), (8, 4)) : ((512, 1), (64, 16)));
    copy(tile(x, [64, 64])[.., .., 0, 0], a);
    let b = load(tile(w, [64, 64])[.., .., 0, 0]);
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    $0gemm(acc, a, b);
    copy(acc, tile(y, [64, 64])[.., .., 0, 0]);
}
";
    let (db, file, found, names) = titles(text);
    expect![["insert `rearrange(a, auto)`"]].assert_eq(&names);
    assert!(found[0].preferred);
    let after = apply(file.text(&db), &found[0].edits);
    let (db, file) = with_text(&after);
    let found = hx_compile::check_file(&db, file, Target::usual());
    assert!(!found.iter().any(|found| found.code.id == "HX0305"), "{found:#?}");
}
