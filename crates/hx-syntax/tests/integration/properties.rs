//! For every text, the tree holds it, the parser ends, and the errors lie inside the text.
//!
//! The tests cut up, shuffle and splice programs, because an editor sends such texts while someone types.

use hx_syntax::{Parse, TextSize, lex, parse, parse_cell};
use proptest::prelude::*;

use hx_test_support::PROGRAMS;

/// Returns the number of inputs of each property: few by default, `PROPTEST_CASES` for a longer run.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

fn holds<T>(text: &str, parse: &Parse<T>) {
    let root = parse.syntax_node();
    assert_eq!(root.text().to_string(), text);
    let end = TextSize::of(text);
    for error in parse.errors() {
        assert!(error.range.end() <= end, "{error:?}");
        assert!(text.is_char_boundary(error.range.start().into()), "{error:?}");
        assert!(text.is_char_boundary(error.range.end().into()), "{error:?}");
    }
    for pair in parse.errors().windows(2) {
        assert!(pair[0].range.start() <= pair[1].range.start(), "{pair:?}");
    }
}

fn check(text: &str) {
    holds(text, &parse(text));
    holds(text, &parse_cell(text));
    hx_syntax::completeness(text);
}

/// Returns the tokens of a program, as text.
fn tokens(text: &str) -> Vec<String> {
    let mut rest = text;
    lex(text)
        .into_iter()
        .map(|token| {
            let (head, tail) = rest.split_at(usize::from(token.len));
            rest = tail;
            head.to_owned()
        })
        .collect()
}

#[derive(Debug, Clone)]
enum Edit {
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
    Swap(prop::sample::Index, prop::sample::Index),
    Duplicate(prop::sample::Index, prop::sample::Index, usize),
    Truncate(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let words = prop::sample::select(
        &[
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "<",
            ">",
            ",",
            ";",
            ":",
            "::",
            ".",
            "..",
            "->",
            "#",
            "_",
            "|",
            "||",
            "&&",
            "!",
            "=",
            "==",
            "∘",
            "@",
            "-",
            "if",
            "else",
            "let",
            "for",
            "in",
            "where",
            "kernel",
            "fn",
            "test",
            "main",
            "mut",
            "new",
            "inf",
            "grid",
            "threads",
            "measure",
            "baseline",
            "producer",
            "warp_groups",
            "x",
            "0",
            "1.0",
            "\"s\"",
            "\"",
            "//",
            "/*",
            "*/",
            "'",
            "é",
            "\u{2028}",
            "\r",
            "swizzle<",
            "as",
            "return",
            "and",
        ][..],
    );
    prop_oneof![
        (any::<prop::sample::Index>(), 1..8_usize).prop_map(|(at, count)| Edit::Delete(at, count)),
        (any::<prop::sample::Index>(), words).prop_map(|(at, word)| Edit::Insert(at, word.to_owned())),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(a, b)| Edit::Swap(a, b)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..20_usize)
            .prop_map(|(from, to, count)| Edit::Duplicate(from, to, count)),
        any::<prop::sample::Index>().prop_map(Edit::Truncate),
    ]
}

fn apply(tokens: &mut Vec<String>, edit: &Edit) {
    if tokens.is_empty() {
        return;
    }
    let len = tokens.len();
    match edit {
        Edit::Delete(at, count) => {
            let at = at.index(len);
            tokens.drain(at..(at + count).min(len));
        }
        Edit::Insert(at, word) => tokens.insert(at.index(len), format!(" {word} ")),
        Edit::Swap(a, b) => tokens.swap(a.index(len), b.index(len)),
        Edit::Duplicate(from, to, count) => {
            let from = from.index(len);
            let copy = tokens[from..(from + count).min(len)].to_vec();
            let to = to.index(len);
            tokens.splice(to..to, copy);
        }
        Edit::Truncate(at) => tokens.truncate(at.index(len)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_tree(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_bytes_have_a_tree(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_have_a_tree(edits in prop::collection::vec(edit(), 1..60)) {
        let mut text = vec![String::from(" ")];
        for edit in &edits {
            apply(&mut text, edit);
            text.push(String::from(" "));
        }
        check(&text.concat());
    }

    #[test]
    fn edited_programs_have_a_tree(
        program in prop::sample::select(PROGRAMS),
        edits in prop::collection::vec(edit(), 1..10),
    ) {
        let mut text = tokens(program.1);
        for edit in &edits {
            apply(&mut text, edit);
        }
        check(&text.concat());
    }
}

#[test]
fn every_prefix_of_a_program_has_a_tree() {
    for (_, text) in PROGRAMS {
        let mut prefix = String::new();
        for token in tokens(text) {
            prefix.push_str(&token);
            holds(&prefix, &parse(&prefix));
        }
    }
}

/// Parsing deep and long inputs ends early, and their trees are shallow enough for recursive walks.
#[test]
fn depth_is_bounded() {
    let n = 3_000;
    let inputs = [
        "(".repeat(n),
        "[".repeat(n),
        "{".repeat(n),
        "f(".repeat(n),
        "a[".repeat(n),
        "-".repeat(n),
        "if a {".repeat(n),
        "let x = |".repeat(n),
        "f(|x| ".repeat(n),
        "a<b = ".repeat(n),
        "if a { } else ".repeat(n),
        "for i in ".repeat(n),
        "#[a(".repeat(n),
        "#[".repeat(n),
        "a + ".repeat(n),
        format!("a{}", ".b".repeat(n)),
        format!("a{}", "(x)".repeat(n)),
        format!("a{}", "[0]".repeat(n)),
        format!("let {} = 1;", "(".repeat(n)),
        format!("const X: {}", "(".repeat(n)),
        format!("use {}", "a::{".repeat(n)),
        "/*".repeat(n),
        "warp_groups { producer ".repeat(n),
        "(a.b".repeat(200) + &")".repeat(200),
        "kernel f(".repeat(n),
        "} ".repeat(n),
        "; ".repeat(n),
    ];
    for input in inputs {
        for text in [input.clone(), format!("main {{ {input} }}"), format!("main {{ {input}; }}")] {
            check(&text);
            let deepest = parse(&text).syntax_node().descendants().map(|node| node.ancestors().count()).max();
            assert!(deepest.unwrap_or_default() <= 641, "{}", &text[..20]);
        }
    }
}
