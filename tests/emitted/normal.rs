//! Normalizes CUDA texts: removes comments, line breaks and the names of locals, which do not affect the code.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Words of types: an identifier after one of them is declared.
const TYPES: [&str; 9] = ["bool", "char", "short", "int", "long", "unsigned", "float", "double", "signed"];
/// Tokens that may appear between a type and the name that it declares.
const BETWEEN: [&str; 4] = ["*", "&", "__restrict__", "const"];

/// Returns the words, numbers, literals and signs of a text, without comments.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    // The bytes of a character beyond ASCII are a word, as are letters.
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || !byte.is_ascii();
    let end_of = |from: usize, ends: &dyn Fn(u8) -> bool| {
        bytes[from..].iter().position(|&byte| ends(byte)).map_or(bytes.len(), |length| from + length)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let end = match first {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = end_of(at, &|byte| byte == b'\n');
                continue;
            }
            b'"' => {
                let closing = (end_of(at + 1, &|byte| byte == b'"') + 1).min(bytes.len());
                assert!(!text[at..closing].ends_with("\\\""), "escaped quotes are not read");
                closing
            }
            byte if is_word(byte) => end_of(at, &|byte| !is_word(byte)),
            _ => at + 1,
        };
        found.push(&text[at..end]);
        at = end;
    }
    found
}

/// Joins the tokens with one space, and replaces each local by a number in the order of declarations.
pub(crate) fn normal(text: &str) -> String {
    let tokens = tokens(text);
    let mut locals: BTreeMap<&str, usize> = BTreeMap::new();
    let mut declared = 0;
    let mut out = String::with_capacity(text.len());
    let mut follows_type = false;
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let (name, member) = token.split_at(token.find('.').unwrap_or(token.len()));
        let (is_type, is_between) = (TYPES.contains(token), BETWEEN.contains(token));
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !TYPES.contains(&name);
        if is_name && follows_type && !is_between && member.is_empty() && tokens.get(at + 1) != Some(&"(") {
            declared += 1;
            locals.insert(name, declared);
        }
        match locals.get(name) {
            Some(number) if is_name => {
                let _ = write!(out, "v{number}{member}");
            }
            _ => out.push_str(token),
        }
        follows_type = is_type || is_between && follows_type;
    }
    out
}

#[test]
fn names_and_comments_do_not_count() {
    let one = "void f(const float* a) {\n  int row = 1; // the row\n  asm(\"mov %0; // kept\" : \"=f\"(x.y) : \"r\"(row));\n  for (int i = 0; i < 1.5f; ++i) a[i] = row;\n}";
    let two = "void f(const float* b) {\n  // fill\n  int r = 1;\n  asm(\"mov %0; // kept\" : \"=f\"(x.y) : \"r\"(r));\n  for (int j = 0; j < 1.5f; ++j) b[j] = r;\n}";
    assert_eq!(normal(one), normal(two));
    for other in ["1.5f", "kept", "x.y", "[i]", "= row"] {
        assert_ne!(normal(one), normal(&one.replacen(other, "[2]", 1)), "{other}");
    }
    // Two different locals must get different numbers.
    assert_ne!(normal("int a; int b; f(a, b);"), normal("int a; int b; f(b, a);"));
}
