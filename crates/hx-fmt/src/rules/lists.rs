//! Lays out lists between brackets, the predicates of a `where`, the axes of a `tune`, and the variables of a
//! `forall`.

use hx_syntax::{
    NodeOrToken, SyntaxElement,
    SyntaxKind::{self, *},
    SyntaxNode, SyntaxToken, T,
};

use super::{element, elements, node};
use crate::commas::is_optional_comma;
use crate::writer::{Sep, Writer, first_token};

/// A list of literals with more elements than this puts several on a line instead of one.
const MANY: usize = 8;

/// An element with the comma after it; `None` if the comma is optional, because the layout decides about it.
type Entry = (SyntaxElement, Option<SyntaxToken>);

/// The elements of a list in order, and its brackets.
struct Parts {
    open: Option<SyntaxToken>,
    entries: Vec<Entry>,
    close: Option<SyntaxToken>,
}

fn parts(list: &SyntaxNode, (open, close): (SyntaxKind, SyntaxKind)) -> Parts {
    let mut parts = Parts { open: None, entries: Vec::new(), close: None };
    for child in elements(list) {
        match child {
            NodeOrToken::Token(token) if is_optional_comma(&token) => {}
            NodeOrToken::Token(token) if token.kind() == T![,] => {
                if let Some((_, comma)) = parts.entries.last_mut() {
                    *comma = Some(token);
                }
            }
            NodeOrToken::Token(token) if token.kind() == open && parts.open.is_none() => {
                parts.open = Some(token)
            }
            NodeOrToken::Token(token) if token.kind() == close => parts.close = Some(token),
            child => parts.entries.push((child, None)),
        }
    }
    parts
}

/// Prints `(a, b)` on one line, or each element on a line of its own with a comma after it.
pub(super) fn list(w: &mut Writer, it: &SyntaxNode, brackets: (SyntaxKind, SyntaxKind)) {
    let Parts { open, entries, close } = parts(it, brackets);
    let has_comments = close.as_ref().is_some_and(|close| w.has_comments_before(close));
    w.open_group(it);
    open.iter().for_each(|open| w.token(open));
    if let [only] = &entries[..]
        && !has_comments
        && is_hugged(w, only)
    {
        element(w, &only.0);
    } else if !entries.is_empty() || has_comments {
        w.open_indent();
        w.sep(Sep::Soft);
        inside(w, it, &entries);
        close.iter().for_each(|close| w.comments_before_closing(close));
        w.close();
        w.sep(Sep::Soft);
    }
    if let Some(close) = &close {
        w.token(close);
    }
    w.close();
}

fn inside(w: &mut Writer, list: &SyntaxNode, entries: &[Entry]) {
    let is_filled =
        entries.len() > MANY && entries.iter().all(|(it, _)| matches!(it.kind(), LITERAL | UNARY_EXPR));
    for (i, (child, comma)) in entries.iter().enumerate() {
        let is_grouped = i > 0 && is_filled;
        if is_grouped {
            w.open_line_group();
        }
        if i > 0 {
            w.sep(Sep::Line);
        }
        if let Some(first) = child.as_node().and_then(first_token) {
            w.lead(&first);
        }
        element(w, child);
        if let Some(comma) = comma {
            w.sep(Sep::None);
            w.token(comma);
        }
        if is_grouped {
            w.close();
        }
        if comma.is_none() && list.kind() != PAREN_EXPR {
            w.if_broken(",");
        }
    }
}

/// Reports whether the only element of a list is itself a list. Then the line breaks are in the inner list, as in `f([` … `])`.
fn is_hugged(w: &Writer, (child, comma): &Entry) -> bool {
    let Some(child) = child.as_node() else { return false };
    let inner = match child.kind() {
        ARG if elements(child).len() == 1 => child.first_child(),
        ARG | TUPLE_FIELD => None,
        _ => Some(child.clone()),
    };
    let brings_brackets = inner.is_some_and(|it| matches!(it.kind(), ARRAY_EXPR | TUPLE_EXPR));
    brings_brackets && comma.is_none() && first_token(child).is_some_and(|it| !w.has_comments_before(&it))
}

/// Prints `where a, b` on one line, or each predicate, axis or variable on a line of its own. There is no comma at the end.
pub(super) fn predicates(w: &mut Writer, it: &SyntaxNode) {
    w.open_group(it);
    let all = elements(it);
    let count = all.len();
    for (i, child) in all.into_iter().enumerate() {
        let is_last = i + 1 == count;
        match child {
            NodeOrToken::Token(comma) if is_optional_comma(&comma) => {}
            NodeOrToken::Token(comma) if comma.kind() == T![,] => {
                w.sep(Sep::None);
                w.token(&comma);
                w.sep(if is_last { Sep::None } else { Sep::Line });
            }
            NodeOrToken::Token(keyword) => {
                w.token(&keyword);
                w.open_indent();
                w.sep(Sep::Space);
            }
            NodeOrToken::Node(predicate) => node(w, &predicate),
        }
    }
    w.close();
    w.close();
}
