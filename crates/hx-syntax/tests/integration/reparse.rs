//! Parsing after an edit: the result is that of parsing the whole text, and only edits inside of one item are fast.

use expect_test::{Expect, expect};
use hx_syntax::{parse, reparse};

const ITEMS: &str = "//! A file.

use std::gemm::{gemm, store};

// The first.
const A = 1; // one
/// A function.
fn f(x: f32) -> f32 {
    let y = x + 1.0;
    y
}

kernel k(x: f32[m]) grid [1] threads 32 {
    for i in 0..4 { sync(); }
}
test \"a\" { assert(A == 1); }
// The end.
";

/// Replaces `from` by `to` in [`ITEMS`], and compares whether only one item was parsed, and the errors.
fn check(from: &str, to: &str, expected: Expect) {
    assert_eq!(ITEMS.matches(from).count(), 1, "`{from}` names one place");
    let edited = ITEMS.replace(from, to);
    let whole = parse(&edited);
    let mut actual = match reparse(&parse(ITEMS), ITEMS, &edited) {
        Some(parse) => {
            assert_eq!(parse, whole);
            "one item".to_owned()
        }
        None => "the whole file".to_owned(),
    };
    for error in whole.errors() {
        actual += &format!("; {:?} {}", error.range, error.message);
    }
    expected.assert_eq(&actual);
}

#[test]
fn an_edit_in_a_body_parses_its_item() {
    check("x + 1.0", "x + 2.0", expect!["one item"]);
    check("let y = x", "let z = 3;\n    let y = x", expect!["one item"]);
    check("sync();", "", expect!["one item"]);
    check("gemm, ", "", expect!["one item"]);
}

#[test]
fn a_half_typed_statement_parses_its_item() {
    check(
        "let y = x + 1.0;",
        "let y = x + ;",
        expect!["one item; 132..133 found `;` where an expression was expected"],
    );
    check(
        "    y\n",
        "    y(\n",
        expect!["one item; 143..143 found `}` where `)` for the `(` opened before was expected"],
    );
    check(
        "x + 1.0",
        "x + \"1.0",
        expect![[r#"one item; 132..137 found the end of the line inside a string: `"` is missing"#]],
    );
}

#[test]
fn an_edit_that_reaches_other_items_parses_the_file() {
    check(
        "    y\n}",
        "    y\n",
        expect!["the whole file; 142..142 found the keyword `kernel` where `;` was expected"],
    );
    check(
        "fn f",
        "fan f",
        expect![
            "the whole file; 94..97 found `fan` where an item was expected (`use`, `const`, `fn`, `kernel`, `test`, `bench` or `main`)"
        ],
    );
    check(
        "// one",
        "/* one",
        expect!["the whole file; 71..73 found the end of the text inside a block comment: `*/` is missing"],
    );
    check(
        "x + 1.0",
        "x /* 1.0",
        expect![
            "the whole file; 129..129 found the end of the text where `;` was expected; 130..132 found the end of the text inside a block comment: `*/` is missing"
        ],
    );
    check("// The first", "//! The first", expect!["the whole file"]);
    check("kernel k", "#[cold] kernel k", expect!["the whole file"]);
}

#[test]
fn an_edit_between_items_parses_the_file() {
    check("}\n\nkernel", "}\n\nconst B = 2;\n\nkernel", expect!["the whole file"]);
    check("\n// The end.", "\n// The end!", expect!["the whole file"]);
}

/// A newly parsed tree can share the unchanged items of the tree before the edit.
#[test]
fn equal_items_are_shared() {
    let before = parse(ITEMS);
    let edited = ITEMS.replace("fn f", "fn g");
    let after = parse(&edited).sharing(&before);
    assert_eq!(after, parse(&edited));
    let pairs = before.green().children().zip(after.green().children());
    let nodes = pairs.filter_map(|(a, b)| Some((a.into_node()?, b.into_node()?)));
    let count = nodes.filter(|(a, b)| std::ptr::eq(*a, *b)).count();
    assert_eq!(count, 4, "all items but the edited one");
}

/// Deletes and inserts at every place of the text. The trees and errors must be those of the whole text.
#[test]
fn every_edit_gives_the_tree_of_the_whole_text() {
    const INSERTED: &[&str] = &[
        "{", "}", "(", ")", "\"", "/*", "*/", "//", ";", " ", "\n\n", "x", "1", "fn ", "#", "\u{feff}", "∘",
        "'",
    ];
    // The last text has errors in two items already.
    let broken = ITEMS.replace("y\n}", "y +\n}").replace("A == 1)", "A == )");
    let (mut fast, mut all) = (0, 0);
    for text in [ITEMS, &broken] {
        let before = parse(text);
        let places = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        for at in places {
            let next = text[at..].chars().next().map_or(0, char::len_utf8);
            let deleted = (next > 0).then(|| format!("{}{}", &text[..at], &text[at + next..]));
            let inserted = INSERTED.iter().map(|new| format!("{}{new}{}", &text[..at], &text[at..]));
            for edited in inserted.chain(deleted) {
                all += 1;
                let Some(parse_of_item) = reparse(&before, text, &edited) else { continue };
                fast += 1;
                assert_eq!(parse_of_item, parse(&edited), "{edited}");
            }
        }
    }
    assert!(fast * 3 > all, "{fast} of {all} edits are fast");
}
