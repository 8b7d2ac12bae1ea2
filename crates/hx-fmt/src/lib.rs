//! The formatter: everyone's code gets the same layout, from the syntax tree alone.
//!
//! It moves spaces and line breaks. It adds a comma after the last element of a list that takes several lines, and
//! removes it from one that takes a single line. It leaves its own output unchanged, and refuses text with a syntax
//! error.
//!
//! Invariant: the formatter changes nothing but spaces, line breaks and those commas, and keeps every comment. It knows
//! no name, no type and no file.
//!
//! Start at [`format()`], then read `rules.rs`, which decides the layout, and `doc.rs`, which breaks lines.

use std::fmt;

use hx_syntax::{GreenNode, SyntaxError, SyntaxKind, SyntaxNode, T, parse, tokens};

mod commas;
mod comments;
mod doc;
mod parts;
mod rules;
mod writer;

pub use parts::{Part, format_parts};

/// The length in characters up to which a line is not broken.
pub const WIDTH: usize = 110;

/// The reason why a text was not formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatError {
    /// The text has a syntax error. This is the first one.
    Syntax(SyntaxError),
    /// The result differs from the input in more than the layout, which is a bug of the formatter, or a thread could not be
    /// started. The text stays unchanged.
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

/// Formats the text of a file. If the first line ends with a carriage return and a line feed, all lines do.
///
/// # Errors
/// [`FormatError::Syntax`] if the text does not parse, [`FormatError::Internal`] if the formatter has a bug or a thread cannot
/// be started.
pub fn format(text: &str) -> Result<String, FormatError> {
    let parts = format_parts(&parse(text), None)?;
    let formatted: String = parts.into_iter().map(|part| part.text).collect();
    let with_returns = text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r'));
    Ok(if with_returns { formatted.replace("\r\n", "\n").replace('\n', "\r\n") } else { formatted })
}

/// Formats a tree without errors as one piece, and checks that its code stays the same.
///
/// # Errors
/// [`FormatError::Internal`] if it does not, which is a bug.
fn format_whole(before: &GreenNode) -> Result<String, FormatError> {
    let formatted = doc::print(&rules::file(&SyntaxNode::new_root(before.clone())), WIDTH);
    let after = parse(&formatted);
    if !after.is_ok() || !is_same_code(before, after.green()) {
        debug_assert!(false, "the formatter changed the code:\n{formatted}");
        return Err(FormatError::Internal);
    }
    Ok(formatted)
}

/// Reports whether two trees have the same tokens and comments, except for commas before a closing bracket, `{`, `|` or a keyword.
fn is_same_code(a: &GreenNode, b: &GreenNode) -> bool {
    comments_of(a) == comments_of(b) && code_of(a) == code_of(b)
}

fn comments_of(tree: &GreenNode) -> Vec<&str> {
    let tokens = tokens(tree).filter(|(kind, _)| *kind == SyntaxKind::COMMENT);
    tokens.map(|(_, text)| text.trim_end()).collect()
}

fn code_of(tree: &GreenNode) -> Vec<&str> {
    let mut code: Vec<&str> = Vec::new();
    for (kind, text) in tokens(tree).filter(|(kind, _)| !kind.is_trivia()) {
        let is_end =
            matches!(kind, T![')'] | T![']'] | T!['}'] | T![>] | T!['{'] | T![|]) || kind.is_keyword();
        if is_end && code.last().is_some_and(|last| *last == ",") {
            code.pop();
        }
        code.push(text);
    }
    code
}
