//! Normalizes CUDA texts: removes comments, line breaks and the names of locals, which do not affect the code.

use std::collections::BTreeMap;

/// Words of types: an identifier after one of them is declared.
const TYPES: [&str; 9] = ["bool", "char", "short", "int", "long", "unsigned", "float", "double", "signed"];
/// Tokens that may appear between a type and the name that it declares.
const BETWEEN: [&str; 4] = ["*", "&", "__restrict__", "const"];

/// Returns the words, numbers, literals and signs of a text, without comments.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            rest = rest[end..].trim_start();
            continue;
        } else if first == '"' {
            let closing = rest[1..].find('"').map_or(rest.len(), |at| at + 2);
            assert!(!rest[..closing].ends_with("\\\""), "escaped quotes are not read");
            closing
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

/// Joins the tokens with one space, and replaces each local by a number in the order of declarations.
pub(crate) fn normal(text: &str) -> String {
    let tokens = tokens(text);
    let mut locals: BTreeMap<&str, usize> = BTreeMap::new();
    let mut declared = 0;
    let mut out: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let (name, member) = token.split_at(token.find('.').unwrap_or(token.len()));
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !TYPES.contains(&name);
        let before = tokens[..at].iter().rev().find(|t| !BETWEEN.contains(t));
        let follows_type = before.is_some_and(|t| TYPES.contains(t));
        let is_call = tokens.get(at + 1) == Some(&"(");
        if is_name && follows_type && !is_call && !BETWEEN.contains(token) && member.is_empty() {
            declared += 1;
            locals.insert(name, declared);
        }
        match locals.get(name) {
            Some(number) if is_name => out.push(format!("v{number}{member}")),
            _ => out.push((*token).to_owned()),
        }
    }
    out.join(" ")
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
