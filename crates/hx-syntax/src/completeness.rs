//! Decides whether a text is a whole entry of the REPL, or its author is still typing.

use rowan::TextSize;

use crate::{SyntaxKind, T, codes, lexer, parse_cell};

/// The REPL's reaction to the return key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// The text parses: evaluate it.
    Complete,
    /// The text ends early (an open bracket, an operator without its operand): read another line.
    Incomplete,
    /// The text is wrong, and no brace is open: show the errors.
    Invalid,
}

/// Parses the text and classifies it. A text that ends early is incomplete. So is a text with an open brace, even after an error:
/// the user is typing a block, and its next lines would only add errors if they were read without it. A stray closing bracket
/// outside of braces makes the text invalid, because no further line can close it.
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
        Some(_) if open_brackets(text).contains(&T!['{']) => Completeness::Incomplete,
        Some(_) => Completeness::Invalid,
    }
}

/// Returns the brackets that are open at the end of a text, outermost first. A `}` also closes parentheses and square brackets
/// that were opened after its `{`. A closing bracket without a partner is skipped.
pub fn open_brackets(text: &str) -> Vec<SyntaxKind> {
    let mut open = Vec::new();
    for token in lexer::lex(text) {
        match token.kind {
            T!['{'] | T!['('] | T!['['] => open.push(token.kind),
            T!['}'] => {
                let brace = open.iter().rposition(|kind| *kind == T!['{']);
                open.truncate(brace.unwrap_or(open.len()));
            }
            T![')'] => _ = open.pop_if(|kind| *kind == T!['(']),
            T![']'] => _ = open.pop_if(|kind| *kind == T!['[']),
            _ => {}
        }
    }
    open
}
