//! Builds the green tree from events and raw tokens.
//!
//! Trivia before a node belong to the enclosing node, except that an item takes the comments directly above it. The builder also
//! bounds the depth of the tree: it leaves out deeper nodes and keeps their tokens, so that recursive walks of the tree cannot
//! overflow the stack.

use rowan::{GreenNode, GreenNodeBuilder, Language, TextRange, TextSize};

use crate::{
    Hx, SyntaxError,
    SyntaxKind::{self, *},
    Token,
    ast::CommentKind,
    codes,
    parser::{Event, Output},
};

/// The maximal number of nodes from the root to a leaf.
const MAX_DEPTH: usize = 640;

/// Builds the tree, and returns it with the errors of the parser and of the builder.
pub(crate) fn build(text: &str, tokens: &[Token], output: Output) -> (GreenNode, Vec<SyntaxError>) {
    let mut builder = Builder {
        text,
        tokens,
        next: 0,
        offset: TextSize::new(0),
        green: GreenNodeBuilder::new(),
        open: Vec::new(),
        errors: output.errors,
        is_too_deep: false,
    };
    let mut events = output.events;
    let count = events.len();
    for i in 0..count {
        match std::mem::replace(&mut events[i], Event::Start { kind: None, forward_parent: None }) {
            // The node was abandoned, or a node that starts here has already opened it as its parent.
            Event::Start { kind: None, forward_parent: None } => {}
            Event::Start { kind, forward_parent } => {
                for kind in outermost_first(&mut events, i, kind, forward_parent) {
                    builder.start(kind);
                }
            }
            Event::Finish => builder.finish(i + 1 == count),
            Event::Token { kind, raw } => builder.token(kind, raw),
        }
    }
    debug_assert!(builder.open.is_empty(), "every node is closed");
    (builder.green.finish(), builder.errors)
}

/// Returns the kinds of a node and its forward parents, the outermost parent first. Marks the parents' events as opened.
fn outermost_first(
    events: &mut [Event],
    at: usize,
    kind: Option<SyntaxKind>,
    forward_parent: Option<usize>,
) -> Vec<SyntaxKind> {
    let mut kinds = vec![kind];
    let mut at = at;
    let mut next = forward_parent;
    while let Some(distance) = next {
        at += distance;
        match std::mem::replace(&mut events[at], Event::Start { kind: None, forward_parent: None }) {
            Event::Start { kind, forward_parent } => {
                kinds.push(kind);
                next = forward_parent;
            }
            Event::Finish | Event::Token { .. } => next = None,
        }
    }
    kinds.into_iter().rev().flatten().collect()
}

struct Builder<'t> {
    text: &'t str,
    tokens: &'t [Token],
    /// The index of the next raw token, which starts at `offset` in the text.
    next: usize,
    offset: TextSize,
    green: GreenNodeBuilder<'static>,
    /// For every open node, whether the tree has it or it was left out as too deep.
    open: Vec<bool>,
    errors: Vec<SyntaxError>,
    is_too_deep: bool,
}

impl Builder<'_> {
    fn start(&mut self, kind: SyntaxKind) {
        if self.open.is_empty() {
            self.green.start_node(Hx::kind_to_raw(kind));
            self.open.push(true);
            return;
        }
        let trivia = self.tokens[self.next..].iter().take_while(|token| token.kind.is_trivia()).count();
        let outside = trivia - self.attached(kind, trivia);
        for _ in 0..outside {
            self.raw_token();
        }
        let is_in_tree = self.open.len() < MAX_DEPTH;
        if is_in_tree {
            self.green.start_node(Hx::kind_to_raw(kind));
        } else if !self.is_too_deep {
            self.is_too_deep = true;
            let message = "found an expression of too many parts: split it up";
            self.errors.push(SyntaxError::new(codes::TOO_DEEP, message, TextRange::empty(self.offset)));
        }
        self.open.push(is_in_tree);
    }

    fn finish(&mut self, is_root: bool) {
        if is_root {
            while self.next < self.tokens.len() {
                self.raw_token();
            }
        }
        if self.open.pop() == Some(true) {
            self.green.finish_node();
        }
    }

    fn token(&mut self, kind: SyntaxKind, raw: u8) {
        while self.tokens.get(self.next).is_some_and(|token| token.kind.is_trivia()) {
            self.raw_token();
        }
        self.raw_tokens_as(Some(kind), raw);
    }

    fn raw_token(&mut self) {
        self.raw_tokens_as(None, 1);
    }

    fn raw_tokens_as(&mut self, kind: Option<SyntaxKind>, raw: u8) {
        let end = self.next + usize::from(raw);
        let Some([first, rest @ ..]) = self.tokens.get(self.next..end) else { return };
        let len = rest.iter().fold(first.len, |len, token| len + token.len);
        let range = TextRange::at(self.offset, len);
        self.green.token(Hx::kind_to_raw(kind.unwrap_or(first.kind)), &self.text[range]);
        self.next = end;
        self.offset += len;
    }

    /// Returns how many of the `count` trivia before an item belong to it: the comments above it, up to a blank line. A doc
    /// comment belongs to the item even across a blank line; `//!` never does.
    fn attached(&self, kind: SyntaxKind, count: usize) -> usize {
        if !matches!(kind, USE | CONST | FN | KERNEL | TEST | BENCH | MAIN) {
            return 0;
        }
        let mut end = self.offset;
        let spans: Vec<TextRange> = self.tokens[self.next..self.next + count]
            .iter()
            .map(|token| {
                let range = TextRange::at(end, token.len);
                end = range.end();
                range
            })
            .collect();
        let mut attached = 0;
        let mut has_blank_line = false;
        for (i, &range) in spans.iter().rev().enumerate() {
            let text = &self.text[range];
            if self.tokens[self.next + count - 1 - i].kind == WHITESPACE {
                has_blank_line |= text.matches('\n').count() > 1;
                continue;
            }
            // A comment that follows code on its line belongs to that code.
            let is_first = i + 1 == count && self.next > 0;
            match CommentKind::of(text) {
                CommentKind::ItemDoc => attached = i + 1,
                CommentKind::FileDoc => break,
                CommentKind::Line | CommentKind::Block if has_blank_line || is_first => break,
                CommentKind::Line | CommentKind::Block => attached = i + 1,
            }
        }
        attached
    }
}
