//! Outlines, folds, selections, formatting, fixes, trees.

use expect_test::{Expect, expect};
use hx_base::{TextRange, TextSize};

use super::{MATMUL, place, with_cursor, with_text};

#[test]
fn an_outline() {
    let (db, file) = with_text(MATMUL);
    let symbols = crate::document_symbols(&db, file).expect("nothing is written");
    let line = |s: &crate::Symbol| {
        let children: Vec<&str> = s.children.iter().map(|c| c.name.as_str()).collect();
        format!("{:?} {} [{}] {}\n", s.kind, s.name, children.join(" "), place(&db, file, s.range.start()))
    };
    expect![[r#"
        Kernel matmul [BM BN BK a b c] 2:1
        Test matmul agrees with the reference [] 28:1
        Bench matmul 4096 [] 36:1
    "#]]
    .assert_eq(&symbols.iter().map(line).collect::<String>());
    let found = crate::workspace_symbols(&db, "matm", 3).expect("nothing is written");
    let line = |s: &crate::FoundSymbol| format!("{} {}\n", s.name, s.place.file.path(&db));
    expect![[r#"
        matmul /k.hx
        matmul std/matmul.hx
        matmul 4096 /k.hx
    "#]]
    .assert_eq(&found.iter().map(line).collect::<String>());
}

#[test]
fn folds_and_selections() {
    let text = "use a::b;\nuse c::d;\n\n// one\n// two\nfn f(\n    x: f32,\n) -> f32 {\n    $0x\n}\n";
    let (db, file, at) = with_cursor(text);
    let folds = crate::folds(&db, file).expect("nothing is written");
    let line = |fold: &crate::Fold| {
        format!(
            "{:?} {}..{}\n",
            fold.kind,
            place(&db, file, fold.range.start()),
            place(&db, file, fold.range.end())
        )
    };
    expect![[r#"
        Imports 1:1..2:10
        Comment 4:1..5:7
        Code 6:6..8:1
        Code 8:11..10:1
    "#]]
    .assert_eq(&folds.iter().map(line).collect::<String>());
    let ranges = crate::selection(&db, file, at).expect("nothing is written");
    let texts: Vec<String> = ranges.iter().map(|range| format!("{:?}", &file.text(&db)[*range])).collect();
    expect![[r#"
        "x"
        "\n    x\n"
        "{\n    x\n}"
        "fn f(\n    x: f32,\n) -> f32 {\n    x\n}"
        "// one\n// two\nfn f(\n    x: f32,\n) -> f32 {\n    x\n}"
        "use a::b;\nuse c::d;\n\n// one\n// two\nfn f(\n    x: f32,\n) -> f32 {\n    x\n}\n""#]]
    .assert_eq(&texts.join("\n"));
}

fn apply(text: &str, changes: &[crate::TextChange]) -> String {
    let mut new = text.to_owned();
    for change in changes.iter().rev() {
        new.replace_range(std::ops::Range::<usize>::from(change.range), &change.text);
    }
    new
}

#[test]
fn formatting_changes_lines() {
    let text = "const  A = 1;\nconst B = 2;\nconst  C = 3;\n";
    let (db, file) = with_text(text);
    let all = crate::format(&db, file, None).expect("nothing is written").expect("it parses");
    assert_eq!(apply(text, &all), "const A = 1;\nconst B = 2;\nconst C = 3;\n");
    assert_eq!(all.len(), 2);
    let first = TextRange::up_to(TextSize::new(3));
    let some = crate::format(&db, file, Some(first)).expect("nothing is written").expect("it parses");
    assert_eq!(apply(text, &some), "const A = 1;\nconst B = 2;\nconst  C = 3;\n");
    let (db, file) = with_text("const = ;");
    assert!(crate::format(&db, file, None).expect("nothing is written").is_err());
}

#[test]
fn formatting_while_typing() {
    let text = "const  A = 1;\nfn f(x: f32) -> f32 {\nlet y  = x;$0\n    y\n}\n";
    let (db, file, at) = with_cursor(text);
    let changes = crate::format_on_type(&db, file, at, ';').expect("nothing is written");
    let new = apply(file.text(&db), &changes);
    assert_eq!(new, "const  A = 1;\nfn f(x: f32) -> f32 {\n    let y = x;\n    y\n}\n");
}

#[test]
fn a_tree() {
    let (db, file) = with_text("const A = 1;\n");
    let check = |range: Option<TextRange>, expected: Expect| {
        expected.assert_eq(&crate::syntax_tree(&db, file, range).expect("nothing is written"));
    };
    check(
        Some(TextRange::new(TextSize::new(10), TextSize::new(11))),
        expect![[r#"
        LITERAL@10..11
          INT_NUMBER@10..11 "1"
    "#]],
    );
    check(
        None,
        expect![[r#"
        SOURCE_FILE@0..13
          CONST@0..12
            CONST_KW@0..5 "const"
            WHITESPACE@5..6 " "
            NAME@6..7
              IDENT@6..7 "A"
            WHITESPACE@7..8 " "
            EQ@8..9 "="
            WHITESPACE@9..10 " "
            LITERAL@10..11
              INT_NUMBER@10..11 "1"
            SEMICOLON@11..12 ";"
          WHITESPACE@12..13 "\n"
    "#]],
    );
}
