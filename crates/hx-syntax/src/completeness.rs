//! Decides whether a text is a whole entry of the REPL, or its author is still typing.

use rowan::TextSize;

use crate::{SyntaxKind, codes, lexer, parse_cell};

/// The REPL's reaction to the return key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// The text parses: evaluate it.
    Complete,
    /// The text ends early (an open bracket, an operator without its operand): read another line.
    Incomplete,
    /// The text is wrong before its end. More lines cannot help: show the errors.
    Invalid,
}

/// Parses the text and classifies it. An early end means incomplete. A stray closing bracket means invalid, because no further
/// line can close it.
pub fn completeness(text: &str) -> Completeness {
    let parse = parse_cell(text);
    let mut end = TextSize::new(0);
    let mut offset = TextSize::new(0);
    let mut ends_with_doc = false;
    for token in lexer::lex(text) {
        let start = offset;
        offset += token.len;
        match token.kind {
            SyntaxKind::WHITESPACE => {}
            SyntaxKind::COMMENT => ends_with_doc = text[usize::from(start)..].starts_with("///"),
            _ => {
                end = offset;
                ends_with_doc = false;
            }
        }
    }
    match parse.errors().first() {
        None if ends_with_doc => Completeness::Incomplete,
        None => Completeness::Complete,
        Some(error) if error.code == codes::UNTERMINATED_COMMENT => Completeness::Incomplete,
        Some(error) if error.code == codes::UNEXPECTED && error.range.start() >= end => {
            Completeness::Incomplete
        }
        Some(_) => Completeness::Invalid,
    }
}
