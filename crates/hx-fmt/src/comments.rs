//! Collects the comments and blank lines before each token.
//!
//! Commas that the layout adds and removes are ignored here. A comment around such a comma belongs to the token after it, so that
//! the comment keeps its place when the comma is removed.

use std::collections::BTreeMap;

use hx_syntax::{SyntaxKind, SyntaxNode, SyntaxToken, T, TextSize};

use crate::commas::is_optional_comma;

/// A comment, and its place in the text.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) text: String,
    pub(crate) place: Place,
    /// Whether a blank line precedes the comment.
    pub(crate) after_blank: bool,
    /// The column at which the comment starts, in characters.
    pub(crate) column: usize,
    /// The number of spaces between the comment and the text before it on its line.
    pub(crate) spaces: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// After code, as the last text on its line.
    Trailing,
    /// Alone on its lines.
    OwnLine,
    /// Before code on the same line.
    Inline,
}

/// The comments before a token, and the blank line before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    pub(crate) comments: Vec<Comment>,
    /// Whether a blank line directly precedes the token.
    pub(crate) after_blank: bool,
}

/// Returns the comments and blank lines before each token of a tree, keyed by the offset of the token in bytes. The end of the
/// text counts as a token.
pub(crate) fn collect(root: &SyntaxNode) -> BTreeMap<TextSize, Before> {
    let mut map = BTreeMap::new();
    let mut gap = Gap { is_start: true, ..Gap::default() };
    let mut column = 0;
    for token in root.descendants_with_tokens().filter_map(|it| it.into_token()) {
        match token.kind() {
            SyntaxKind::WHITESPACE => {
                gap.newlines += token.text().matches('\n').count();
                gap.spaces = column_after(0, token.text());
            }
            SyntaxKind::COMMENT => gap.comment(&token, column),
            _ if is_optional_comma(&token) => gap.spaces = 0,
            // Move a comment that ends its line behind the comma or semicolon, so that no line starts with one of these.
            T![,] | T![;] if gap.has_ended_line() => {
                map.insert(token.text_range().start(), Before::default());
            }
            _ => {
                map.insert(token.text_range().start(), gap.finish(false));
                gap = Gap::default();
            }
        }
        column = column_after(column, token.text());
    }
    map.insert(root.text_range().end(), gap.finish(true));
    map
}

/// The comments and whitespace since the last token.
#[derive(Default)]
struct Gap {
    is_start: bool,
    /// The number of line breaks since the last comment or token.
    newlines: usize,
    /// The number of spaces since the last comment, token or line break.
    spaces: usize,
    /// The comments, each with the number of line breaks before it.
    comments: Vec<(Comment, usize)>,
}

impl Gap {
    fn comment(&mut self, token: &SyntaxToken, column: usize) {
        let text = token.text().trim_end().to_owned();
        let after_blank = self.newlines > 1;
        let comment = Comment { text, place: Place::Inline, after_blank, column, spaces: self.spaces };
        self.comments.push((comment, self.newlines));
        self.newlines = 0;
        self.spaces = 0;
    }

    fn has_ended_line(&self) -> bool {
        !self.comments.is_empty() && self.newlines > 0
    }

    fn finish(self, is_end: bool) -> Before {
        let last = if is_end { usize::MAX } else { self.newlines };
        let newlines: Vec<usize> = self.comments.iter().map(|&(_, count)| count).chain([last]).collect();
        let mut comments = Vec::new();
        for (i, (mut comment, before)) in self.comments.into_iter().enumerate() {
            let starts_line = before > 0 || (self.is_start && i == 0);
            comment.place = match (starts_line, newlines[i + 1] > 0) {
                (_, false) => Place::Inline,
                (true, true) => Place::OwnLine,
                (false, true) => Place::Trailing,
            };
            comments.push(comment);
        }
        Before { comments, after_blank: self.newlines > 1 }
    }
}

fn column_after(column: usize, text: &str) -> usize {
    match text.rsplit_once('\n') {
        Some((_, last)) => last.chars().count(),
        None => column + text.chars().count(),
    }
}
