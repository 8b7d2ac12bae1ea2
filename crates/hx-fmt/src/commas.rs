//! Decides which commas of a text the formatter may add and remove.

use hx_syntax::{Direction, SyntaxKind::*, SyntaxNode, SyntaxToken, T};

/// Reports whether a comma is optional: the last comma of a list, except in a tuple of one element; and the comma after the last
/// predicate of a `where`, axis of a `tune` or variable of a `forall`. The formatter puts one into a list that takes several
/// lines, and never into a clause.
pub(crate) fn is_optional_comma(token: &SyntaxToken) -> bool {
    if token.kind() != T![,] {
        return false;
    }
    let Some(list) = token.parent() else { return false };
    let next = token.siblings_with_tokens(Direction::Next).skip(1).find(|it| !it.kind().is_trivia());
    match list.kind() {
        // After an open range the comma must stay: without it, the next clause would parse as the end of the range.
        WHERE_CLAUSE | TUNE_CLAUSE | FORALL_CLAUSE => next.is_none() && !is_after_open_range(token),
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

/// Reports whether the list is a tuple of one element that needs its comma: `(8,)` does, `(warp: 8)` is a tuple without one.
fn is_tuple_of_one(list: &SyntaxNode) -> bool {
    let mut fields = list.children();
    let (Some(only), None) = (fields.next(), fields.next()) else { return false };
    match list.kind() {
        TUPLE_EXPR => !only.children_with_tokens().any(|it| it.kind() == T![:]),
        kind => matches!(kind, TUPLE_PAT | TUPLE_TYPE),
    }
}
