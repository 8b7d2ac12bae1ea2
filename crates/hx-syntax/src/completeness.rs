//! Whether a text is a whole entry of the REPL, or its author is still typing.

use rowan::TextSize;

use crate::{SyntaxKind, codes, lexer, parse_cell};

/// What to do when the return key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// It parses: evaluate it.
    Complete,
    /// It ends early (an open bracket, an operator without its operand): read another line.
    Incomplete,
    /// It is wrong before its end: more lines cannot help, show the errors.
    Invalid,
}

/// Asks the parser. An early end means go on; a stray closing bracket is complete and wrong.
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
