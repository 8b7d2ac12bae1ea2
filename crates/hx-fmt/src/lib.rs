//! The formatter: everyone's code gets the same layout, from the syntax tree alone.
//!
//! It moves spaces and line breaks. It adds a comma after the last element of a list that takes several lines, and
//! removes it from one that takes a single line. It leaves its own output unchanged, and refuses text with a syntax
//! error.
//!
//! Invariant: the formatter changes nothing but spaces, line breaks and those commas, and keeps every comment. It knows
//! no name, no type and no file.
//!
//! Start at [`format`], then read `rules.rs`, which decides the layout, and `doc.rs`, which breaks lines.

use std::fmt;

use hx_syntax::{SyntaxError, SyntaxKind, SyntaxNode, T, parse};

mod commas;
mod comments;
mod doc;
mod rules;
mod writer;

/// The length in characters up to which a line is not broken.
pub const WIDTH: usize = 110;

/// The reason why a text was not formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatError {
    /// The text has a syntax error. This is the first one.
    Syntax(SyntaxError),
    /// The result differs from the input in more than the layout, which is a bug of the formatter. The text stays unchanged.
    Internal,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Syntax(error) => write!(f, "{}: {}", error.code, error.message),
            FormatError::Internal => write!(f, "the formatter cannot lay this text out without changing it"),
        }
    }
}

impl std::error::Error for FormatError {}

/// Formats the text of a file.
///
/// # Errors
/// [`FormatError::Syntax`] if the text does not parse.
pub fn format(text: &str) -> Result<String, FormatError> {
    let before = parse(text);
    if let Some(error) = before.errors().first() {
        return Err(FormatError::Syntax(error.clone()));
    }
    let root = before.syntax_node();
    let formatted = doc::print(&rules::file(&root), WIDTH);
    let after = parse(&formatted);
    if !after.is_ok() || !is_same_code(&root, &after.syntax_node()) {
        debug_assert!(false, "the formatter changed the code:\n{formatted}");
        return Err(FormatError::Internal);
    }
    Ok(formatted)
}

/// Reports whether two trees have the same tokens and comments, except for commas before a closing bracket.
fn is_same_code(a: &SyntaxNode, b: &SyntaxNode) -> bool {
    significant(a, SyntaxKind::COMMENT) == significant(b, SyntaxKind::COMMENT)
        && significant_code(a) == significant_code(b)
}

fn significant(root: &SyntaxNode, kind: SyntaxKind) -> Vec<String> {
    let tokens = root.descendants_with_tokens().filter_map(|it| it.into_token());
    tokens.filter(|token| token.kind() == kind).map(|token| token.text().trim_end().to_owned()).collect()
}

fn significant_code(root: &SyntaxNode) -> Vec<String> {
    let mut code: Vec<String> = Vec::new();
    for token in root.descendants_with_tokens().filter_map(|it| it.into_token()) {
        let kind = token.kind();
        if kind.is_trivia() {
            continue;
        }
        let is_end =
            matches!(kind, T![')'] | T![']'] | T!['}'] | T![>] | T!['{'] | T![|]) || kind.is_keyword();
        if is_end && code.last().is_some_and(|last| last == ",") {
            code.pop();
        }
        code.push(token.text().to_owned());
    }
    code
}
