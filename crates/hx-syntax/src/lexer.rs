//! Splits text into tokens. Every byte belongs to exactly one token, and no text is refused.
//!
//! The lexer knows no grammar: a contextual keyword is a name here. A character that resembles one of the language (`×`, `−`, a
//! full-width bracket) becomes the token that was probably meant, with an error, so that the parser can continue.

use rowan::{TextRange, TextSize};

use crate::{
    ForeignPlace, SyntaxError,
    SyntaxKind::{self, *},
    T, codes, foreign,
};

mod characters;

/// A token: its kind and its length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    /// The kind of the token.
    pub kind: SyntaxKind,
    /// Its length in bytes, never zero.
    pub len: TextSize,
}

/// Returns the tokens of a text, whitespace and comments included. Their lengths add up to the length of the text.
pub fn lex(text: &str) -> Vec<Token> {
    lex_with_errors(text).tokens
}

pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) errors: Vec<SyntaxError>,
}

pub(crate) fn lex_with_errors(text: &str) -> Lexed {
    let mut lexer = Lexer { text, at: 0, errors: Vec::new() };
    let mut tokens = Vec::new();
    while lexer.at < text.len() {
        let start = lexer.at;
        let kind = lexer.token();
        debug_assert!(lexer.at > start, "every token has a character");
        tokens.push(Token { kind, len: TextSize::of(&text[start..lexer.at]) });
    }
    let mut errors = lexer.errors;
    characters::forbidden(text, &mut errors);
    Lexed { tokens, errors }
}

struct Lexer<'a> {
    text: &'a str,
    /// The offset of the next byte, on a character boundary.
    at: usize,
    errors: Vec<SyntaxError>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn bump_while(&mut self, accept: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&accept) {
            self.bump();
        }
    }

    fn error(&mut self, start: usize, code: &'static str, message: impl Into<String>) {
        let start = TextSize::of(&self.text[..start]);
        let range = TextRange::new(start, TextSize::of(&self.text[..self.at]));
        self.errors.push(SyntaxError::new(code, message, range));
    }

    fn token(&mut self) -> SyntaxKind {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("//") {
            self.bump_while(|c| c != '\n');
            // A carriage return before the line feed belongs to the line end, not to the comment.
            if self.rest().starts_with('\n') && self.text[start..self.at].ends_with('\r') {
                self.at -= 1;
            }
            return COMMENT;
        }
        if rest.starts_with("/*") {
            return self.block_comment();
        }
        let Some(c) = self.bump() else { return EOF };
        match c {
            _ if characters::is_whitespace(c) || (c == characters::BYTE_ORDER_MARK && start == 0) => {
                self.bump_while(characters::is_whitespace);
                WHITESPACE
            }
            'a'..='z' | 'A'..='Z' | '_' => self.word(start),
            '0'..='9' => self.number(start, c),
            '"' => self.string(start),
            '\'' => self.single_quoted(start),
            '#' if !self.is_at_attribute() => self.hash(start),
            _ if c.is_ascii() => self.punctuation(start, c),
            '∘' => COMPOSE,
            _ => self.foreign(start, c),
        }
    }

    fn block_comment(&mut self) -> SyntaxKind {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            if self.rest().starts_with("/*") {
                self.at += 2;
                depth += 1;
            } else if self.rest().starts_with("*/") {
                self.at += 2;
                depth -= 1;
                if depth == 0 {
                    return COMMENT;
                }
            } else if self.bump().is_none() {
                let message = "found the end of the text inside a block comment: `*/` is missing";
                let end = self.at;
                // The error covers only the opening `/*`, because the rest of the file is in the comment.
                self.at = start + 2;
                self.error(start, codes::UNTERMINATED_COMMENT, message);
                self.at = end;
                return COMMENT;
            }
        }
    }

    /// Reports whether a `[` comes next, after spaces and comments.
    fn is_at_attribute(&self) -> bool {
        let mut probe = Lexer { text: self.text, at: self.at, errors: Vec::new() };
        loop {
            probe.bump_while(characters::is_whitespace);
            match probe.rest() {
                rest if rest.starts_with("//") => probe.bump_while(|c| c != '\n'),
                rest if rest.starts_with("/*") => {
                    probe.block_comment();
                }
                rest => return rest.starts_with('['),
            }
        }
    }

    /// Reads a `#` that begins no attribute. In other languages it begins a comment or a directive, so the rest of the line
    /// becomes a comment, with an error; after `#unroll`, only the word does.
    fn hash(&mut self, start: usize) -> SyntaxKind {
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
        let row = foreign(word, ForeignPlace::Hash);
        let (word, row) = match row {
            Some(row) => (row.word, Some(row)),
            None => ("", foreign("", ForeignPlace::Hash)),
        };
        let message = format!("found `#{word}`: {}", row.map_or("", |row| row.hint));
        self.at += word.len();
        self.error(start, codes::OTHER_LANGUAGE, message);
        // `#unroll` is an attribute without its brackets. The rest of its line is code, so only the word becomes the comment.
        if word != "unroll" {
            self.bump_while(|c| c != '\n' && c != '\r');
        }
        COMMENT
    }

    /// Reads a name or a keyword, after its first character.
    fn word(&mut self, start: usize) -> SyntaxKind {
        self.bump_while(characters::continues_name);
        let word = &self.text[start..self.at];
        if word == "_" {
            return UNDERSCORE;
        }
        if let Some(c) = word.chars().find(|c| !c.is_ascii()) {
            self.error(start, codes::BAD_CHARACTER, characters::not_a_name(c));
            return IDENT;
        }
        SyntaxKind::from_keyword(word).unwrap_or(IDENT)
    }

    /// Reads a number, after its first digit. `0..k` is a number and a range.
    fn number(&mut self, start: usize, first: char) -> SyntaxKind {
        if first == '0' && matches!(self.peek(), Some('x' | 'X' | 'b' | 'B' | 'o' | 'O')) {
            self.bump_while(|c| c.is_ascii_alphanumeric() || c == '_');
            return INT_NUMBER;
        }
        let mut kind = INT_NUMBER;
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        self.bump_while(digits);
        if self.peek() == Some('.') {
            match self.peek_second() {
                Some(c) if c.is_ascii_digit() => {
                    self.bump();
                    self.bump_while(digits);
                    kind = FLOAT_NUMBER;
                }
                // In `1..n` and `1.max(x)`, the point belongs to the parser.
                Some(c) if c == '.' || characters::starts_name(c) => {}
                _ => {
                    self.bump();
                    let fixed = format!("{}0", &self.text[start..self.at]);
                    let message = format!("found no digit after the point: write `{fixed}`");
                    self.error(start, codes::BAD_NUMBER, message);
                    kind = FLOAT_NUMBER;
                }
            }
        }
        if self.exponent() {
            kind = FLOAT_NUMBER;
        }
        let suffix = self.at;
        self.bump_while(characters::continues_name);
        if self.at > suffix {
            let message = format!(
                "found `{}` after a number: numbers take no suffix and adapt to the type they meet, `cast` converts",
                &self.text[suffix..self.at]
            );
            self.error(start, codes::BAD_NUMBER, message);
        }
        kind
    }

    /// Reads an exponent, such as `e9`, `E+9` or `e-9`, if there is one.
    fn exponent(&mut self) -> bool {
        let mut chars = self.rest().chars();
        if !matches!(chars.next(), Some('e' | 'E')) {
            return false;
        }
        let mut digit = chars.next();
        if matches!(digit, Some('+' | '-')) {
            digit = chars.next();
        }
        if !digit.is_some_and(|c| c.is_ascii_digit()) {
            return false;
        }
        self.bump();
        self.bump();
        self.bump_while(|c| c.is_ascii_digit() || c == '_');
        true
    }

    /// Reads a string, after its opening quote. A string ends on its line, so that a missing quote affects one line only.
    fn string(&mut self, start: usize) -> SyntaxKind {
        loop {
            match self.peek() {
                None | Some('\n') => break,
                Some('\r') if self.peek_second() == Some('\n') => break,
                Some('"') => {
                    self.bump();
                    return STRING;
                }
                Some('\\') => {
                    self.bump();
                    if !matches!(self.peek(), Some('\n' | '\r')) {
                        self.bump();
                    }
                }
                Some(_) => {
                    self.bump();
                }
            }
        }
        let message = "found the end of the line inside a string: `\"` is missing";
        self.error(start, codes::UNTERMINATED_STRING, message);
        STRING
    }

    fn single_quoted(&mut self, start: usize) -> SyntaxKind {
        let line = self.rest().split('\n').next().unwrap_or_default();
        if let Some(end) = line.find('\'') {
            self.at += end + 1;
        }
        self.error(start, codes::OTHER_LANGUAGE, "found `'`: strings are written in double quotes");
        ERROR
    }

    /// Reads the longest punctuation that starts with `c`. The lexer has already consumed `c`.
    fn punctuation(&mut self, start: usize, c: char) -> SyntaxKind {
        let two = match (c, self.peek()) {
            (':', Some(':')) => Some(T![::]),
            ('.', Some('.')) => Some(T![..]),
            ('-', Some('>')) => Some(T![->]),
            ('|', Some('|')) => Some(T![||]),
            ('&', Some('&')) => Some(T![&&]),
            ('=', Some('=')) => Some(T![==]),
            ('!', Some('=')) => Some(T![!=]),
            ('<', Some('=')) => Some(T![<=]),
            ('>', Some('=')) => Some(T![>=]),
            ('+', Some('=')) => Some(T![+=]),
            ('-', Some('=')) => Some(T![-=]),
            ('*', Some('=')) => Some(T![*=]),
            ('/', Some('=')) => Some(T![/=]),
            ('%', Some('=')) => Some(T![%=]),
            ('&', Some('=')) => Some(T![&=]),
            ('|', Some('=')) => Some(T![|=]),
            ('^', Some('=')) => Some(T![^=]),
            _ => None,
        };
        if let Some(kind) = two {
            self.bump();
            return kind;
        }
        match c {
            '(' => T!['('],
            ')' => T![')'],
            '[' => T!['['],
            ']' => T![']'],
            '{' => T!['{'],
            '}' => T!['}'],
            '<' => T![<],
            '>' => T![>],
            ',' => T![,],
            ';' => T![;],
            ':' => T![:],
            '.' => T![.],
            '#' => T![#],
            '|' => T![|],
            '&' => T![&],
            '^' => T![^],
            '~' => T![~],
            '!' => T![!],
            '=' => T![=],
            '+' => T![+],
            '-' => T![-],
            '*' => T![*],
            '/' => T![/],
            '%' => T![%],
            '@' => T![@],
            _ => {
                let (code, message) = characters::unknown_ascii(c);
                self.error(start, code, message);
                ERROR
            }
        }
    }

    /// Handles a character outside ASCII that starts no token. The lexer has already consumed it. [`characters::forbidden`]
    /// reports forbidden characters for the whole text.
    fn foreign(&mut self, start: usize, c: char) -> SyntaxKind {
        if characters::is_forbidden(c) {
            return WHITESPACE;
        }
        if let Some((meant, kind)) = characters::confusable(c) {
            let message = format!("found `{c}` (U+{:04X}): write {meant}", u32::from(c));
            self.error(start, codes::CONFUSABLE, message);
            return kind;
        }
        if characters::is_foreign_space(c) {
            let message =
                format!("found U+{:04X}, a space of another kind: write an ordinary space", u32::from(c));
            self.error(start, codes::CONFUSABLE, message);
            return WHITESPACE;
        }
        if c.is_alphanumeric() {
            return self.word(start);
        }
        let message = format!("found `{}` (U+{:04X}), which starts no token", c.escape_debug(), u32::from(c));
        self.error(start, codes::BAD_CHARACTER, message);
        ERROR
    }
}

/// Reports whether a text is a name in the language: a single word that is no keyword.
pub fn is_identifier(text: &str) -> bool {
    // The lexer accepts letters outside ASCII in a name, to report the whole word once.
    text.is_ascii() && matches!(lex(text).as_slice(), [token] if token.kind == SyntaxKind::IDENT)
}

#[cfg(test)]
mod tests;
