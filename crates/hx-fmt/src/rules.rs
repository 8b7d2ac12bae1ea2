//! The layout of each node.
//!
//! Most nodes print their children with the spaces of [`space`] between them. Lists take one line, or one line for each element.
//! Blocks, headers and operators have rules of their own.

use hx_syntax::{
    NodeOrToken, SyntaxElement,
    SyntaxKind::{self, *},
    SyntaxNode, SyntaxToken, T,
};

use crate::{
    doc::Block,
    writer::{Sep, Writer, first_token},
};

mod lists;

/// Returns the document of a file.
pub(crate) fn file(root: &SyntaxNode) -> Block {
    let mut w = Writer::new(root);
    let mut last = None;
    for item in root.children() {
        if let Some(last) = last {
            w.sep(between_items(last, item.kind()));
        }
        node(&mut w, &item);
        last = Some(item.kind());
    }
    if last.is_some() {
        w.sep(Sep::Keep);
    }
    w.comments_at_end(root);
    w.finish()
}

/// Returns the separator between two items: an empty line, or between imports or between constants the author's choice.
pub(crate) fn between_items(last: SyntaxKind, next: SyntaxKind) -> Sep {
    if last == next && matches!(next, USE | CONST) { Sep::Keep } else { Sep::Blank }
}

/// Returns the children of a node without whitespace and comments.
fn elements(node: &SyntaxNode) -> Vec<SyntaxElement> {
    node.children_with_tokens().filter(|it| !it.kind().is_trivia()).collect()
}

fn node(w: &mut Writer, it: &SyntaxNode) {
    match it.kind() {
        KERNEL | FN => with_header(w, it),
        TEST | BENCH => with_cases(w, it),
        BLOCK => block(w, it),
        WARP_GROUPS_STMT => warp_groups(w, it),
        BINARY_EXPR | LAYOUT_EXPR => binary(w, it),
        IF_EXPR => if_expr(w, it),
        PARAM_LIST | ARG_LIST | TUPLE_EXPR | TUPLE_PAT | TUPLE_TYPE | PAREN_EXPR => {
            lists::list(w, it, (T!['('], T![')']));
        }
        ARRAY_EXPR | ARRAY_PAT | INDEX_LIST | SHAPE => lists::list(w, it, (T!['['], T![']'])),
        GENERIC_PARAM_LIST | GENERIC_ARG_LIST => lists::list(w, it, (T![<], T![>])),
        USE_TREE_LIST => lists::list(w, it, (T!['{'], T!['}'])),
        WHERE_CLAUSE | TUNE_CLAUSE | FORALL_CLAUSE => lists::predicates(w, it),
        _ => in_a_row(w, it),
    }
}

fn element(w: &mut Writer, it: &SyntaxElement) {
    match it {
        NodeOrToken::Node(it) => node(w, it),
        NodeOrToken::Token(it) => w.token(it),
    }
}

/// Prints children with spaces between them, and attributes on lines of their own.
fn in_a_row(w: &mut Writer, parent: &SyntaxNode) {
    let mut last: Option<SyntaxKind> = None;
    for child in elements(parent) {
        if let Some(last) = last {
            w.sep(space(parent.kind(), last, child.kind()));
        }
        element(w, &child);
        last = Some(child.kind());
    }
}

/// Returns the separator between two children of a node.
fn space(parent: SyntaxKind, left: SyntaxKind, right: SyntaxKind) -> Sep {
    if left == ATTR {
        return Sep::Hard;
    }
    let is_tight = match parent {
        PATH | FIELD_EXPR | METHOD_CALL_EXPR | RANGE_EXPR | UNARY_EXPR | ATTR | ROLE_BINDER
        | PIPELINED_CLAUSE => true,
        CALL_EXPR | INDEX_EXPR | PATH_EXPR => true,
        USE_TREE => right != RENAME,
        NAMED_TYPE => right == SHAPE,
        CLOSURE_PARAM_LIST => left == T![|] || right == T![|] || right == T![,],
        _ => {
            matches!(right, T![;] | T![,] | GENERIC_PARAM_LIST | PARAM_LIST)
                || right == T![:] && parent != LAYOUT_EXPR
        }
    };
    if is_tight { Sep::None } else { Sep::Space }
}

/// Prints a function or a kernel. Each clause takes a line of its own; if there is a clause, the opening brace does too.
fn with_header(w: &mut Writer, item: &SyntaxNode) {
    let mut last: Option<SyntaxKind> = None;
    let mut has_clauses = false;
    for child in elements(item) {
        let kind = child.kind();
        let is_clause = matches!(
            kind,
            WHERE_CLAUSE | TUNE_CLAUSE | GRID_CLAUSE | THREADS_CLAUSE | CLUSTER_CLAUSE | RESIDENCY_CLAUSE
        );
        if is_clause {
            has_clauses = true;
            w.open_indent();
            w.sep(Sep::Hard);
            element(w, &child);
            w.close();
        } else {
            if let Some(last) = last {
                let is_brace_line = kind == BLOCK && has_clauses;
                w.sep(if is_brace_line { Sep::Hard } else { space(item.kind(), last, kind) });
            }
            match &child {
                // The body after clauses is never a one-liner.
                NodeOrToken::Node(body) if kind == BLOCK && has_clauses => broken_block(w, body),
                _ => element(w, &child),
            }
        }
        last = Some(kind);
    }
}

/// Prints a test or bench. If a `forall` does not fit on the line of the title, the clause and the opening brace take a line each.
fn with_cases(w: &mut Writer, item: &SyntaxNode) {
    let body = item.children().find(|it| it.kind() == BLOCK).filter(|body| !is_one_liner(w, body));
    let (Some(body), true) = (body, item.children().any(|it| it.kind() == FORALL_CLAUSE)) else {
        return in_a_row(w, item);
    };
    let mut last: Option<SyntaxKind> = None;
    let mut is_open = false;
    for child in elements(item).into_iter().filter(|it| it.kind() != BLOCK) {
        if let Some(last) = last {
            w.sep(space(item.kind(), last, child.kind()));
        }
        last = Some(child.kind());
        if let (false, NodeOrToken::Token(keyword)) = (is_open, &child) {
            w.lead(keyword);
            w.open_line_group();
            is_open = true;
        }
        if child.kind() == FORALL_CLAUSE {
            w.open_indent();
            w.sep(Sep::Line);
            element(w, &child);
            w.close();
        } else {
            element(w, &child);
        }
    }
    w.sep(Sep::Line);
    let (open, inside, close) = braces(&body);
    if let Some(open) = open {
        w.token(&open);
    }
    w.close();
    lines(w, &inside, close.as_ref());
    if let Some(close) = close {
        w.token(&close);
    }
}

/// Returns the opening brace, the elements between the braces, and the closing brace.
fn braces(block: &SyntaxNode) -> (Option<SyntaxToken>, Vec<SyntaxElement>, Option<SyntaxToken>) {
    let mut inside = elements(block);
    let open = inside.iter().position(|it| it.kind() == T!['{']).map(|at| inside.remove(at));
    let close = match inside.last().map(SyntaxElement::kind) {
        Some(T!['}']) => inside.pop(),
        _ => None,
    };
    (open.and_then(|it| it.into_token()), inside, close.and_then(|it| it.into_token()))
}

/// Reports whether a block is a single expression that its author wrote on one line.
fn is_one_liner(w: &Writer, block: &SyntaxNode) -> bool {
    let (open, inside, close) = braces(block);
    let (Some(_), [NodeOrToken::Node(only)], Some(close)) = (open, &inside[..], close) else { return false };
    let is_expression = !matches!(
        only.kind(),
        LET_STMT
            | ASSIGN_STMT
            | EXPR_STMT
            | FOR_STMT
            | WHILE_STMT
            | WARP_GROUPS_STMT
            | MEASURE_STMT
            | BASELINE_STMT
    );
    let is_clean =
        !w.has_comments_before(&close) && first_token(only).is_none_or(|it| !w.has_comments_before(&it));
    is_expression && is_clean && !block.text().contains_char('\n')
}

fn block(w: &mut Writer, it: &SyntaxNode) {
    if is_one_liner(w, it) {
        w.open_group(it);
        one_line_block(w, it);
        w.close();
    } else {
        broken_block(w, it);
    }
}

/// Prints `{ x }` without a group of its own: it takes one line or three with the group that contains it.
fn one_line_block(w: &mut Writer, it: &SyntaxNode) {
    let (open, inside, close) = braces(it);
    if let Some(open) = open {
        w.token(&open);
    }
    w.open_indent();
    w.sep(Sep::Line);
    inside.iter().for_each(|it| element(w, it));
    w.close();
    w.sep(Sep::Line);
    if let Some(close) = close {
        w.token(&close);
    }
}

fn broken_block(w: &mut Writer, it: &SyntaxNode) {
    let (open, inside, close) = braces(it);
    if let Some(open) = open {
        w.token(&open);
    }
    lines(w, &inside, close.as_ref());
    if let Some(close) = close {
        w.token(&close);
    }
}

/// Prints statements or roles, one on each line, and the comments before the closing brace.
fn lines(w: &mut Writer, inside: &[SyntaxElement], close: Option<&SyntaxToken>) {
    let ends_with_comment = close.is_some_and(|close| w.has_comments_before(close));
    if inside.is_empty() && !ends_with_comment {
        return;
    }
    w.open_indent();
    w.sep(Sep::Hard);
    for (i, child) in inside.iter().enumerate() {
        if i > 0 {
            w.sep(Sep::Keep);
        }
        if let Some(first) = child.as_node().and_then(first_token) {
            w.lead(&first);
        }
        element(w, child);
    }
    if ends_with_comment {
        w.sep(if inside.is_empty() { Sep::Hard } else { Sep::Keep });
        close.into_iter().for_each(|close| w.comments_before(close));
    }
    w.close();
    w.sep(Sep::Hard);
}

fn warp_groups(w: &mut Writer, it: &SyntaxNode) {
    let mut before = elements(it);
    let open = before.iter().position(|it| it.kind() == T!['{']);
    let mut inside = open.map(|at| before.split_off(at)).unwrap_or_default();
    let close = inside.pop().and_then(|it| it.into_token());
    let mut last = None;
    for child in &before {
        if let Some(last) = last {
            w.sep(space(WARP_GROUPS_STMT, last, child.kind()));
        }
        element(w, child);
        last = Some(child.kind());
    }
    w.sep(Sep::Space);
    if !inside.is_empty() {
        element(w, &inside.remove(0));
    }
    lines(w, &inside, close.as_ref());
    if let Some(close) = close {
        w.token(&close);
    }
}

/// Prints an `if`. Its one-line blocks stay on one line together, or all of them take several lines.
fn if_expr(w: &mut Writer, it: &SyntaxNode) {
    w.open_group(it);
    branches(w, it);
    w.close();
}

fn branches(w: &mut Writer, it: &SyntaxNode) {
    for (i, child) in elements(it).iter().enumerate() {
        if i > 0 {
            w.sep(Sep::Space);
        }
        match child {
            NodeOrToken::Node(it) if it.kind() == BLOCK && is_one_liner(w, it) => one_line_block(w, it),
            NodeOrToken::Node(it) if matches!(it.kind(), ELSE_BRANCH | IF_EXPR) => branches(w, it),
            _ => element(w, child),
        }
    }
}

/// Returns the level of an operator in the layout. Operators of one level are laid out as one row; those on bits are on the level
/// of products, unlike in the grammar.
fn level(it: &SyntaxNode) -> u8 {
    let operator =
        it.children_with_tokens().filter_map(|it| it.into_token()).find(|it| !it.kind().is_trivia());
    match operator.map(|it| it.kind()) {
        Some(T![||]) => 1,
        Some(T![&&]) => 2,
        Some(T![==] | T![!=] | T![<] | T![<=] | T![>] | T![>=]) => 3,
        Some(COMPOSE) => 4,
        Some(T![:]) => 5,
        Some(T![+] | T![-]) => 6,
        _ => 7,
    }
}

/// Prints a row of operands and operators: on one line, or with each operator at the start of a line.
fn binary(w: &mut Writer, it: &SyntaxNode) {
    let level_here = level(it);
    // Collect the operators of the row, from the outermost one down its left operands.
    let mut row = vec![it.clone()];
    while let Some(left) = row.last().and_then(|it| it.children().next()) {
        if !matches!(left.kind(), BINARY_EXPR | LAYOUT_EXPR) || level(&left) != level_here {
            break;
        }
        row.push(left);
    }
    w.open_group(it);
    let mut is_first = true;
    for it in row.iter().rev() {
        let mut parts = elements(it).into_iter();
        let left = parts.next();
        if let (true, Some(left)) = (is_first, left) {
            element(w, &left);
            w.open_indent();
        }
        is_first = false;
        w.sep(Sep::Line);
        for part in parts {
            element(w, &part);
            w.sep(Sep::Space);
        }
    }
    w.close();
    w.sep(Sep::None);
    w.close();
}
