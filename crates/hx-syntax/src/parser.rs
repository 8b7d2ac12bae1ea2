//! The machinery of the grammar: looks ahead over tokens that are not trivia, and records events.
//!
//! The parser never sees the tree. It writes a flat list of [`Event`]s, which `builder.rs` turns into nodes. A [`Marker`] opens a
//! node and must be completed or abandoned; dropping one is a bug, which debug builds catch.

use std::cell::Cell;

use rowan::{TextRange, TextSize};

use crate::{
    SyntaxError,
    SyntaxKind::{self, *},
    T, Token, codes,
};

/// The maximal nesting of expressions, blocks, patterns and types.
const MAX_NESTING: u32 = 128;

/// The maximal number of looks at tokens without consuming one. Beyond it, the parser counts as stuck.
const MAX_LOOKS: u32 = 100_000;

#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Opens a node. `forward_parent` is the distance to the start of a node that must be opened before this one.
    Start { kind: Option<SyntaxKind>, forward_parent: Option<usize> },
    /// Closes the node opened last.
    Finish,
    /// Consumes `raw` adjacent tokens, after any trivia, as one token of this kind.
    Token { kind: SyntaxKind, raw: u8 },
}

/// The output of parsing: events for the tree, and errors.
pub(crate) struct Output {
    pub(crate) events: Vec<Event>,
    pub(crate) errors: Vec<SyntaxError>,
}

/// A set of kinds, as a bit mask. Recovery sets are constants beside the rules that use them.
#[derive(Clone, Copy)]
pub(crate) struct TokenSet(u128);

impl TokenSet {
    pub(crate) const EMPTY: TokenSet = TokenSet(0);

    pub(crate) const fn new(kinds: &[SyntaxKind]) -> TokenSet {
        let mut bits = 0;
        let mut i = 0;
        while i < kinds.len() {
            assert!((kinds[i] as u16) < 128, "only tokens are in token sets");
            bits |= 1 << (kinds[i] as u16);
            i += 1;
        }
        TokenSet(bits)
    }

    pub(crate) const fn union(self, other: TokenSet) -> TokenSet {
        TokenSet(self.0 | other.0)
    }

    pub(crate) const fn contains(self, kind: SyntaxKind) -> bool {
        (kind as u16) < 128 && self.0 & (1 << (kind as u16)) != 0
    }
}

pub(crate) struct Parser<'t> {
    text: &'t str,
    /// The tokens that are not trivia.
    tokens: Vec<(SyntaxKind, TextRange)>,
    at: usize,
    looks: Cell<u32>,
    depth: u32,
    /// Whether the text is an entry of the REPL. There the end of a line ends an item or statement.
    pub(crate) is_in_cell: bool,
    events: Vec<Event>,
    errors: Vec<SyntaxError>,
    /// The position of the token that has the last error. Each token gets at most one error.
    last_error: Option<usize>,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str, raw: &[Token]) -> Parser<'t> {
        let mut tokens = Vec::with_capacity(raw.len());
        let mut offset = TextSize::new(0);
        for token in raw {
            if !token.kind.is_trivia() {
                tokens.push((token.kind, TextRange::at(offset, token.len)));
            }
            offset += token.len;
        }
        let looks = Cell::new(0);
        Parser {
            text,
            tokens,
            at: 0,
            looks,
            depth: 0,
            is_in_cell: false,
            events: Vec::new(),
            errors: Vec::new(),
            last_error: None,
        }
    }

    pub(crate) fn finish(self) -> Output {
        Output { events: self.events, errors: self.errors }
    }

    /// Returns the kind of the token `n` places ahead; `EOF` beyond the last token.
    pub(crate) fn nth(&self, n: usize) -> SyntaxKind {
        let looks = self.looks.get();
        // A rule that loops without consuming a token is a bug. It must not hang an editor, so the parser then returns the end of
        // the text.
        if looks > MAX_LOOKS {
            debug_assert!(false, "the parser is stuck at token {}", self.at);
            return EOF;
        }
        self.looks.set(looks + 1);
        self.tokens.get(self.at + n).map_or(EOF, |&(kind, _)| kind)
    }

    pub(crate) fn current(&self) -> SyntaxKind {
        self.nth(0)
    }

    pub(crate) fn at(&self, kind: SyntaxKind) -> bool {
        self.nth(0) == kind
    }

    pub(crate) fn nth_at(&self, n: usize, kind: SyntaxKind) -> bool {
        self.nth(n) == kind
    }

    pub(crate) fn at_set(&self, set: TokenSet) -> bool {
        set.contains(self.nth(0))
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at(EOF)
    }

    /// Returns the text of the token `n` places ahead; empty beyond the last token.
    pub(crate) fn nth_text(&self, n: usize) -> &'t str {
        self.tokens.get(self.at + n).map_or("", |&(_, range)| &self.text[range])
    }

    /// Reports whether the token `n` places ahead is a name with the spelling of a contextual keyword.
    pub(crate) fn nth_is_word(&self, n: usize, word: &str) -> bool {
        self.nth_at(n, IDENT) && self.nth_text(n) == word
    }

    /// Returns the text of the consumed token at `position`.
    pub(crate) fn consumed_text(&self, position: usize) -> &'t str {
        self.tokens.get(position).map_or("", |&(_, range)| &self.text[range])
    }

    /// Reports whether the token consumed last has this kind.
    pub(crate) fn previous_is(&self, kind: SyntaxKind) -> bool {
        self.at
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .is_some_and(|&(previous, _)| previous == kind)
    }

    /// Returns the number of consumed tokens, with which a rule checks its progress.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the operator at the current position, and the number of its tokens. The lexer never joins the angles of `<<` and
    /// `>>`, because in `f<A = g<B = 1>>` they close two lists.
    pub(crate) fn operator(&self) -> (SyntaxKind, u8) {
        let glued = match (self.current(), self.nth(1)) {
            (T![<], T![<]) => T![<<],
            (T![<], T![<=]) => T![<<=],
            (T![>], T![>]) => T![>>],
            (T![>], T![>=]) => T![>>=],
            (kind, _) => return (kind, 1),
        };
        let is_joint = match self.tokens.get(self.at..self.at + 2) {
            Some([(_, first), (_, second)]) => first.end() == second.start(),
            _ => false,
        };
        if is_joint { (glued, 2) } else { (self.current(), 1) }
    }

    /// Consumes the current token under another kind.
    pub(crate) fn bump_as(&mut self, kind: SyntaxKind) {
        self.bump_joint(kind, 1);
    }

    /// Consumes `raw` adjacent tokens as one token of this kind.
    pub(crate) fn bump_joint(&mut self, kind: SyntaxKind, raw: u8) {
        if self.at < self.tokens.len() {
            self.at += usize::from(raw);
            self.looks.set(0);
            self.events.push(Event::Token { kind, raw });
        }
    }

    pub(crate) fn bump_any(&mut self) {
        if let Some(&(kind, _)) = self.tokens.get(self.at) {
            self.bump_as(kind);
        }
    }

    pub(crate) fn bump(&mut self, kind: SyntaxKind) {
        debug_assert!(self.at(kind), "{kind:?} expected, {:?} found", self.current());
        self.bump_any();
    }

    pub(crate) fn eat(&mut self, kind: SyntaxKind) -> bool {
        let at = self.at(kind);
        if at {
            self.bump_any();
        }
        at
    }

    /// Consumes a name that is spelled `word` as that contextual keyword. Returns false if the current token is another one.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let kind = SyntaxKind::from_contextual_keyword(word);
        match kind {
            Some(kind) if self.nth_is_word(0, word) => {
                self.bump_as(kind);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn expect(&mut self, kind: SyntaxKind) -> bool {
        if self.eat(kind) {
            return true;
        }
        self.error_missing(&format!("`{}`", kind.text().unwrap_or("a token")));
        false
    }

    pub(crate) fn start(&mut self) -> Marker {
        let position = self.events.len();
        self.events.push(Event::Start { kind: None, forward_parent: None });
        Marker::new(position)
    }

    /// Runs `rule` one nesting level deeper. Beyond the maximal depth, skips the code with an error and returns `None`.
    pub(crate) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_NESTING {
            self.too_deep();
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self) {
        if self.at_end() {
            return;
        }
        let message = format!("found code nested more than {MAX_NESTING} levels deep: split it up");
        self.error_at(codes::TOO_DEEP, message, self.current_range());
        let m = self.start();
        self.skip_until(TokenSet::new(&[T![;], T![,]]));
        m.complete(self, ERROR);
    }

    /// Consumes tokens up to a token of `stop` outside brackets, a closing bracket of an outer pair, or the end.
    pub(crate) fn skip_until(&mut self, stop: TokenSet) {
        let mut open = 0_usize;
        while !self.at_end() {
            match self.current() {
                T!['('] | T!['['] | T!['{'] => open += 1,
                T![')'] | T![']'] | T!['}'] if open == 0 => return,
                T![')'] | T![']'] | T!['}'] => open -= 1,
                kind if open == 0 && stop.contains(kind) => return,
                _ => {}
            }
            self.bump_any();
        }
    }

    /// Returns the range of the current token; at the end of the text, the empty range after the last token.
    pub(crate) fn current_range(&self) -> TextRange {
        self.tokens.get(self.at).map_or_else(|| TextRange::empty(self.previous_end()), |&(_, range)| range)
    }

    fn previous_end(&self) -> TextSize {
        let previous = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        previous.map_or(TextSize::new(0), |&(_, range)| range.end())
    }

    /// Reports whether the current token is on a later line than the one before it. The end of the text counts as a later line.
    pub(crate) fn is_after_line_end(&self) -> bool {
        let Some(&(_, range)) = self.tokens.get(self.at) else { return true };
        self.text[TextRange::new(self.previous_end(), range.start())].contains('\n')
    }

    /// Returns the name of the current token for a message.
    pub(crate) fn found(&self) -> String {
        match self.tokens.get(self.at) {
            None => "the end of the text".to_owned(),
            Some(&(STRING, _)) => "a string".to_owned(),
            Some(&(kind, range)) => {
                let text = &self.text[range];
                let text: String = text.chars().take(40).collect();
                if kind.is_keyword() { format!("the keyword `{text}`") } else { format!("`{text}`") }
            }
        }
    }

    /// Reports that `wanted` is missing: at the current token, or after the previous one if a new line has begun.
    pub(crate) fn error_missing(&mut self, wanted: &str) {
        let range = if self.is_after_line_end() {
            TextRange::empty(self.previous_end())
        } else {
            self.current_range()
        };
        let message = format!("found {} where {wanted} was expected", self.found());
        self.error_at(codes::UNEXPECTED, message, range);
    }

    /// Reports an error at the current token.
    pub(crate) fn error_here(&mut self, code: &'static str, message: impl Into<String>) {
        self.error_at(code, message, self.current_range());
    }

    pub(crate) fn error_at(&mut self, code: &'static str, message: impl Into<String>, range: TextRange) {
        if self.last_error == Some(self.at) {
            return;
        }
        self.last_error = Some(self.at);
        self.errors.push(SyntaxError::new(code, message, range));
    }

    /// Reports that `wanted` is missing, and wraps the current token in an error node unless it is in `keep`.
    pub(crate) fn error_and_bump(&mut self, wanted: &str, keep: TokenSet) {
        self.error_missing(wanted);
        if self.at_end() || self.at_set(keep) {
            return;
        }
        let m = self.start();
        self.bump_any();
        m.complete(self, ERROR);
    }
}

/// An open node.
#[must_use]
pub(crate) struct Marker {
    position: usize,
    bomb: DropBomb,
}

/// Panics in debug builds if a marker is dropped while it is armed.
struct DropBomb {
    armed: bool,
}

impl Drop for DropBomb {
    fn drop(&mut self) {
        debug_assert!(!self.armed || std::thread::panicking(), "a marker is completed or abandoned");
    }
}

impl Marker {
    fn new(position: usize) -> Marker {
        Marker { position, bomb: DropBomb { armed: true } }
    }

    pub(crate) fn complete(mut self, p: &mut Parser<'_>, kind: SyntaxKind) -> CompletedMarker {
        self.bomb.armed = false;
        if let Some(Event::Start { kind: slot, .. }) = p.events.get_mut(self.position) {
            *slot = Some(kind);
        }
        p.events.push(Event::Finish);
        CompletedMarker { position: self.position, kind }
    }

    /// Abandons the node. Its content belongs to the enclosing node.
    pub(crate) fn abandon(mut self, p: &mut Parser<'_>) {
        self.bomb.armed = false;
        if self.position + 1 == p.events.len() {
            p.events.pop();
        }
    }
}

/// A closed node. [`CompletedMarker::precede`] can still give it a parent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletedMarker {
    position: usize,
    kind: SyntaxKind,
}

impl CompletedMarker {
    /// Opens a node that starts where this one starts, as its parent.
    pub(crate) fn precede(self, p: &mut Parser<'_>) -> Marker {
        let outer = p.start();
        if let Some(Event::Start { forward_parent, .. }) = p.events.get_mut(self.position) {
            *forward_parent = Some(outer.position - self.position);
        }
        outer
    }

    pub(crate) fn kind(self) -> SyntaxKind {
        self.kind
    }
}
