//! Colours the line that is being typed by the meanings of its words, with an editor's tokens. Only escape sequences are added,
//! so the text keeps its width.

use std::ops::Range;

use hx_base::{TextRange, TextSize};
use hx_ide::{Modifiers, SemanticToken, TokenType};
use hx_syntax::{SyntaxKind, lex};

use crate::session::Session;

const KEYWORD: &str = "35";
const NUMBER: &str = "36";
const STRING: &str = "32";
const COMMENT: &str = "90";
const TYPE: &str = "33";
const FUNCTION: &str = "34";
const WRONG: &str = "31";

impl Session {
    /// Returns an entry with its words in colour.
    pub(crate) fn colored(&mut self, line: &str) -> String {
        let Some(rest) = line.strip_prefix(':') else { return self.colored_entry(line) };
        let end = 1 + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let command = paint(KEYWORD, &line[..end]);
        // The argument is a file name, not code: leave it uncoloured.
        let is_entry = !matches!(&line[1..end], "load" | "save" | "save!");
        if is_entry { command + &self.colored_entry(&line[end..]) } else { command + &line[end..] }
    }

    fn colored_entry(&mut self, text: &str) -> String {
        let file = self.typed(text);
        let whole = TextRange::up_to(TextSize::of(text));
        let tokens = hx_ide::semantic_tokens(&self.db, file, whole).unwrap_or_default();
        let mut colors: Vec<(Range<usize>, &str)> = tokens
            .iter()
            .filter_map(|token| Some((Range::<usize>::from(token.range), color_of(token)?)))
            .collect();
        let mut at = 0;
        for token in lex(text) {
            let end = at + usize::from(token.len);
            if token.kind == SyntaxKind::ERROR {
                colors.push((at..end, WRONG));
            }
            at = end;
        }
        colors.sort_by_key(|(range, _)| range.start);
        painted(text, &colors)
    }
}

fn color_of(token: &SemanticToken) -> Option<&'static str> {
    Some(match token.kind {
        TokenType::Keyword | TokenType::Decorator => KEYWORD,
        TokenType::Comment => COMMENT,
        TokenType::String => STRING,
        TokenType::Number => NUMBER,
        TokenType::Type | TokenType::TypeParameter => TYPE,
        TokenType::Function | TokenType::Macro => FUNCTION,
        TokenType::Variable if token.modifiers.contains(Modifiers::DEFAULT_LIBRARY) => FUNCTION,
        TokenType::Variable
        | TokenType::Parameter
        | TokenType::Property
        | TokenType::Namespace
        | TokenType::EnumMember
        | TokenType::Operator => return None,
    })
}

/// Colours ranges of a text, which are in the order of their starts. If two ranges overlap, the first wins.
fn painted(text: &str, colors: &[(Range<usize>, &str)]) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (range, color) in colors {
        let (Some(between), Some(inside)) = (text.get(at..range.start), text.get(range.clone())) else {
            continue;
        };
        out += between;
        out += &paint(color, inside);
        at = range.end;
    }
    out + &text[at..]
}

/// Colours each line of a text separately, because an editor may break the text anywhere.
fn paint(color: &str, text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("\x1b[{color}m{line}\x1b[0m") });
    lines.collect::<Vec<_>>().join("\n")
}
