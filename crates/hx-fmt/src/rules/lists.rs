//! Lists between brackets, and the predicates of a `where`.

use hx_syntax::{
    Direction, NodeOrToken, SyntaxElement,
    SyntaxKind::{self, *},
    SyntaxNode, SyntaxToken, T,
};

use super::{element, elements, node};
use crate::writer::{Sep, Writer, first_token};

/// More literals than this share lines instead of taking one each.
const MANY: usize = 8;

/// Whether a comma is there only because its list takes several lines, or was left behind by its author: the last of a
/// list, but for a tuple of one, and the last of the predicates of a `where`.
pub(crate) fn is_optional_comma(token: &SyntaxToken) -> bool {
    if token.kind() != T![,] {
        return false;
    }
    let Some(list) = token.parent() else { return false };
    let next = token.siblings_with_tokens(Direction::Next).skip(1).find(|it| !it.kind().is_trivia());
    match list.kind() {
        // After an open range the next clause would be read as its end.
        WHERE_CLAUSE => next.is_none() && !is_after_open_range(token),
        PARAM_LIST | ARG_LIST | ARRAY_EXPR | ARRAY_PAT | INDEX_LIST | SHAPE | GENERIC_PARAM_LIST
        | GENERIC_ARG_LIST | USE_TREE_LIST => next.is_some_and(|it| it.as_token().is_some()),
        TUPLE_EXPR | TUPLE_PAT | TUPLE_TYPE => {
            next.is_some_and(|it| it.as_token().is_some()) && !is_tuple_of_one(&list)
        }
        _ => false,
    }
}

fn is_after_open_range(comma: &SyntaxToken) -> bool {
    let mut before = comma.siblings_with_tokens(Direction::Prev).skip(1);
    let last =
        before.find(|it| !it.kind().is_trivia()).and_then(|it| it.as_node().and_then(|it| it.last_token()));
    last.is_some_and(|it| it.kind() == T![..])
}

/// `(8,)` needs its comma; `(warp: 8)` is a tuple without one.
fn is_tuple_of_one(list: &SyntaxNode) -> bool {
    let mut fields = list.children();
    let (Some(only), None) = (fields.next(), fields.next()) else { return false };
    match list.kind() {
        TUPLE_EXPR => !elements(&only).iter().any(|it| it.kind() == T![:]),
        kind => matches!(kind, TUPLE_PAT | TUPLE_TYPE),
    }
}

/// An element, and the comma behind it unless that comma is optional.
type Entry = (SyntaxElement, Option<SyntaxToken>);

/// The elements of a list in order, and the brackets.
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

/// `(a, b)` on one line, or an element a line with a comma behind each.
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

/// Whether the only element brings brackets of its own, which then take the lines: `f([` … `])`.
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

/// `where a, b` on one line, or a predicate a line. No comma ends it.
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
