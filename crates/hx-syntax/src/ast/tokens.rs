//! Tokens that carry a value: numbers, strings, comments.

use std::ops::Range;

use crate::{SyntaxKind, SyntaxToken, T};

/// A whole number: `4096`, `1_000`, `0xff`, `0b1010`, `0o17`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntNumber(SyntaxToken);

/// A number with a point or an exponent: `1.0`, `2.5e-3`, `1e9`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FloatNumber(SyntaxToken);

/// A string in double quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StringLit(SyntaxToken);

/// A comment of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Comment(SyntaxToken);

/// The purpose of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommentKind {
    /// `//` to the end of the line.
    Line,
    /// `/* … */`, which nests.
    Block,
    /// `///`, which documents the item after it.
    ItemDoc,
    /// `//!`, which documents the file.
    FileDoc,
}

impl IntNumber {
    /// Casts the token to a whole number, if it is one.
    pub fn cast(token: SyntaxToken) -> Option<Self> {
        (token.kind() == T![int_number]).then_some(IntNumber(token))
    }

    /// Returns the token.
    pub fn syntax(&self) -> &SyntaxToken {
        &self.0
    }

    /// Returns the value; `None` if it is malformed or exceeds 128 bits.
    pub fn value(&self) -> Option<u128> {
        int_value(self.0.text())
    }
}

impl FloatNumber {
    /// Casts the token to a floating number, if it is one.
    pub fn cast(token: SyntaxToken) -> Option<Self> {
        (token.kind() == T![float_number]).then_some(FloatNumber(token))
    }

    /// Returns the token.
    pub fn syntax(&self) -> &SyntaxToken {
        &self.0
    }

    /// Returns the value, rounded to the nearest f64; `None` if it is malformed.
    pub fn value(&self) -> Option<f64> {
        self.0.text().replace('_', "").parse().ok()
    }
}

impl StringLit {
    /// Casts the token to a string, if it is one.
    pub fn cast(token: SyntaxToken) -> Option<Self> {
        (token.kind() == T![string]).then_some(StringLit(token))
    }

    /// Returns the token.
    pub fn syntax(&self) -> &SyntaxToken {
        &self.0
    }

    /// Returns the text between the quotes with its escapes replaced. A malformed escape stays as written.
    pub fn value(&self) -> String {
        let text = self.0.text();
        let mut value = String::new();
        unescape(text, &mut |range, result| match result {
            Ok(c) => value.push(c),
            Err(_) => value.push_str(&text[range]),
        });
        value
    }

    /// Returns the bytes of the token that spell these bytes of [`StringLit::value`]; the whole token for an empty range.
    pub fn written(&self, range: Range<usize>) -> Range<usize> {
        let text = self.0.text();
        let (mut at, mut found) = (0, None);
        unescape(text, &mut |place, result| {
            if range.contains(&at) {
                let start = found.as_ref().map_or(place.start, |known: &Range<usize>| known.start);
                found = Some(start..place.end);
            }
            at += result.map_or(place.len(), char::len_utf8);
        });
        found.unwrap_or(0..text.len())
    }
}

impl Comment {
    /// Casts the token to a comment, if it is one.
    pub fn cast(token: SyntaxToken) -> Option<Self> {
        (token.kind() == SyntaxKind::COMMENT).then_some(Comment(token))
    }

    /// Returns the token.
    pub fn syntax(&self) -> &SyntaxToken {
        &self.0
    }

    /// Returns the purpose of the comment.
    pub fn kind(&self) -> CommentKind {
        CommentKind::of(self.0.text())
    }
}

impl CommentKind {
    /// Returns the purpose of a comment with this text. `////` and longer is an ordinary comment.
    pub fn of(text: &str) -> CommentKind {
        match text {
            _ if text.starts_with("/*") => CommentKind::Block,
            _ if text.starts_with("//!") => CommentKind::FileDoc,
            _ if text.starts_with("///") && !text.starts_with("////") => CommentKind::ItemDoc,
            _ => CommentKind::Line,
        }
    }
}

pub(super) fn doc_text(comments: impl Iterator<Item = Comment>, wanted: CommentKind) -> Option<String> {
    let lines: Vec<String> = comments
        .filter(|comment| comment.kind() == wanted)
        .map(|comment| {
            let line = comment.syntax().text()[3..].trim_end().to_owned();
            line.strip_prefix(' ').map(str::to_owned).unwrap_or(line)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(crate) fn int_value(text: &str) -> Option<u128> {
    let digits = text.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        _ => (10, &digits[..]),
    };
    u128::from_str_radix(digits, radix).ok()
}

/// Calls `emit` for every character of a string, with its range in `token`, and with the character itself or the message of an
/// error. An escape is one character.
pub(crate) fn unescape(token: &str, emit: &mut dyn FnMut(Range<usize>, Result<char, String>)) {
    let start = usize::from(token.starts_with('"'));
    let closed = token.len() > 1 && token.ends_with('"');
    let end = if closed { token.len() - 1 } else { token.len() };
    let Some(body) = token.get(start..end) else { return };
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        let result = if c == '\\' { escape(&mut chars) } else { Ok(c) };
        emit(start + at..end - chars.as_str().len(), result);
    }
}

/// Reads an escape whose backslash has been read, and returns its character.
///
/// # Errors
/// The message, if strings have no such escape.
fn escape(chars: &mut std::str::CharIndices<'_>) -> Result<char, String> {
    match chars.next().map(|(_, c)| c) {
        Some('n') => Ok('\n'),
        Some('t') => Ok('\t'),
        Some('r') => Ok('\r'),
        Some('0') => Ok('\0'),
        Some('\\') => Ok('\\'),
        Some('"') => Ok('"'),
        Some('u') => unicode_escape(chars),
        Some(c) => {
            Err(format!("`\\{c}` is not an escape: strings have `\\n \\t \\r \\0 \\\\ \\\" \\u{{…}}`"))
        }
        None => Err("`\\` escapes nothing here".to_owned()),
    }
}

fn unicode_escape(chars: &mut std::str::CharIndices<'_>) -> Result<char, String> {
    let rest = chars.as_str();
    let digits = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(digits, _)| digits);
    let Some(digits) = digits else {
        return Err("`\\u` is followed by a code point in braces, as in `\\u{2218}`".to_owned());
    };
    // Skip the two braces and the digits between them.
    let count = digits.chars().count() + 2;
    chars.nth(count - 1);
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
        .ok_or_else(|| format!("`{digits}` is not a code point in hexadecimal"))
}
