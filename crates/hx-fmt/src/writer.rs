//! Writes tokens with their comments into a document.
//!
//! The separator between two tokens is set before the second token is written, because a comment between them may change it.

use std::collections::BTreeMap;

use hx_syntax::{SyntaxKind, SyntaxNode, SyntaxToken, TextSize};

use crate::{
    comments::{self, Before, Comment, Place},
    doc::{Block, Doc},
};

/// The separator between the last token and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sep {
    /// The start of the text, where there is no separator.
    Start,
    None,
    Space,
    /// A space, or a line break if the group is broken.
    Line,
    /// A line break if the group is broken, else nothing.
    Soft,
    /// A line break.
    Hard,
    /// A line break, and the empty line that the author left there, if any.
    Keep,
    /// A line break and an empty line.
    Blank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Root,
    Group,
    Indent,
}

pub(crate) struct Writer {
    before: BTreeMap<TextSize, Before>,
    open: Vec<(Open, Block)>,
    sep: Sep,
}

impl Writer {
    pub(crate) fn new(root: &SyntaxNode) -> Writer {
        Writer {
            before: comments::collect(root),
            open: vec![(Open::Root, Block::default())],
            sep: Sep::Start,
        }
    }

    pub(crate) fn finish(mut self) -> Block {
        debug_assert!(self.before.is_empty(), "everything before a token was written");
        debug_assert_eq!(self.open.len(), 1, "every group is closed");
        self.open.pop().map(|(_, block)| block).unwrap_or_default()
    }

    fn push(&mut self, doc: Doc) {
        if let Some((_, block)) = self.open.last_mut() {
            block.push(doc);
        }
    }

    /// Sets the separator between the last token and the next. If a comment requires a line break, spaces cannot replace it.
    pub(crate) fn sep(&mut self, sep: Sep) {
        let is_needed = matches!(self.sep, Sep::Hard | Sep::Keep);
        let is_soft = !matches!(sep, Sep::Hard | Sep::Keep | Sep::Blank);
        if is_needed && is_soft {
            return;
        }
        self.sep = sep;
    }

    fn write_sep(&mut self, after_blank: bool) {
        let doc = match self.sep {
            Sep::Start | Sep::None => None,
            Sep::Space => Some(Doc::Space),
            Sep::Line => Some(Doc::Line),
            Sep::Soft => Some(Doc::Soft),
            Sep::Keep if after_blank => Some(Doc::Blank),
            Sep::Hard | Sep::Keep => Some(Doc::Hard),
            Sep::Blank => Some(Doc::Blank),
        };
        if let Some(doc) = doc {
            self.push(doc);
        }
        self.sep = Sep::None;
    }

    /// Writes the comments before a token, and the separator between the token and the text before it.
    pub(crate) fn lead(&mut self, token: &SyntaxToken) {
        let before = self.before.remove(&token.text_range().start());
        let Some(before) = before else { return };
        self.comments(&before.comments);
        self.write_sep(before.after_blank);
    }

    /// Writes the comments before a token, but not yet the separator after them.
    pub(crate) fn comments_before(&mut self, token: &SyntaxToken) {
        if let Some(before) = self.before.get_mut(&token.text_range().start()) {
            let comments = std::mem::take(&mut before.comments);
            self.comments(&comments);
        }
    }

    /// Writes the comments before the closing bracket of a list.
    pub(crate) fn comments_before_closing(&mut self, token: &SyntaxToken) {
        let Some(before) = self.before.get_mut(&token.text_range().start()) else { return };
        for comment in std::mem::take(&mut before.comments) {
            if comment.place == Place::Inline && matches!(self.sep, Sep::None | Sep::Space) {
                self.push(Doc::Tail(comment.text));
            } else {
                self.comments(&[comment]);
            }
        }
    }

    /// Writes the comments at the end of the text.
    pub(crate) fn comments_at_end(&mut self, root: &SyntaxNode) {
        if let Some(before) = self.before.remove(&root.text_range().end()) {
            self.comments(&before.comments);
        }
    }

    pub(crate) fn has_comments_before(&self, token: &SyntaxToken) -> bool {
        self.before.get(&token.text_range().start()).is_some_and(|before| !before.comments.is_empty())
    }

    fn comments(&mut self, comments: &[Comment]) {
        for comment in comments {
            match comment.place {
                Place::Trailing => {
                    self.push(Doc::Trailing {
                        text: comment.text.clone(),
                        column: comment.column,
                        is_aligned: comment.spaces > 1,
                    });
                    if !matches!(self.sep, Sep::Hard | Sep::Keep | Sep::Blank) {
                        self.sep = Sep::Hard;
                    }
                }
                Place::OwnLine => {
                    if !matches!(self.sep, Sep::Start | Sep::Hard | Sep::Keep | Sep::Blank) {
                        self.sep = Sep::Hard;
                    }
                    self.write_sep(comment.after_blank);
                    self.push(Doc::Text(comment.text.clone()));
                    self.sep = Sep::Keep;
                }
                Place::Inline => {
                    if self.sep == Sep::None {
                        self.sep = Sep::Space;
                    }
                    self.write_sep(comment.after_blank);
                    self.push(Doc::Text(comment.text.clone()));
                    self.sep = Sep::Space;
                }
            }
        }
    }

    pub(crate) fn token(&mut self, token: &SyntaxToken) {
        self.lead(token);
        self.push(Doc::Text(token.text().to_owned()));
    }

    pub(crate) fn if_broken(&mut self, text: &'static str) {
        self.push(Doc::IfBroken(text));
    }

    /// Opens a group that begins with `node`. Comments before the node stay outside, so that they do not break the group.
    pub(crate) fn open_group(&mut self, node: &SyntaxNode) {
        if let Some(first) = first_token(node) {
            self.lead(&first);
        }
        self.open.push((Open::Group, Block::default()));
    }

    /// Opens a group before the separator, so that the line break before the group's first token belongs to the group.
    pub(crate) fn open_line_group(&mut self) {
        self.open.push((Open::Group, Block::default()));
    }

    pub(crate) fn open_indent(&mut self) {
        self.open.push((Open::Indent, Block::default()));
    }

    /// Closes the group or indentation opened last.
    pub(crate) fn close(&mut self) {
        debug_assert!(self.open.len() > 1, "what is closed was opened");
        if self.open.len() < 2 {
            return;
        }
        match self.open.pop() {
            Some((Open::Group, block)) => self.push(Doc::Group(block)),
            Some((_, block)) => self.push(Doc::Indent(block)),
            None => {}
        }
    }
}

/// Returns the first token of a node that is not trivia. `None` if it has only trivia.
pub(crate) fn first_token(node: &SyntaxNode) -> Option<SyntaxToken> {
    let mut tokens = node.descendants_with_tokens().filter_map(|it| it.into_token());
    tokens.find(|token| !SyntaxKind::is_trivia(token.kind()))
}
