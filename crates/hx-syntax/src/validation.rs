//! Checks the finished tree for errors that need no names: in literals, and misplaced constructs.

use rowan::{TextRange, TextSize};

use crate::{
    AstNode, SyntaxError,
    SyntaxKind::*,
    SyntaxNode, SyntaxToken, T,
    ast::{Bench, Expr, ForallVariable, tokens},
    codes,
};

pub(crate) fn validate(root: &SyntaxNode, errors: &mut Vec<SyntaxError>) {
    for element in root.descendants_with_tokens() {
        match element {
            rowan::NodeOrToken::Token(token) => match token.kind() {
                T![int_number] => int_number(&token, errors),
                T![float_number] => float_number(&token, errors),
                T![string] => string(&token, errors),
                _ => {}
            },
            rowan::NodeOrToken::Node(node) => match node.kind() {
                NEW_EXPR => new_axis(&node, errors),
                MEASURE_STMT => only_in_bench(&node, "measure", errors),
                BASELINE_STMT => only_in_bench(&node, "baseline", errors),
                FORALL_VARIABLE => open_domain(&node, errors),
                _ => {}
            },
        }
    }
}

fn int_number(token: &SyntaxToken, errors: &mut Vec<SyntaxError>) {
    let text = token.text();
    // The lexer has already reported numbers with suffixes.
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '_');
    let is_prefixed = text.starts_with('0') && text.chars().nth(1).is_some_and(|c| c.is_ascii_alphabetic());
    if tokens::int_value(text).is_some() || !(is_plain || is_prefixed) {
        return;
    }
    let message = if is_plain {
        "found a number that no type of the language can hold".to_owned()
    } else {
        format!("found `{text}`: after `0x`, `0b` or `0o` come digits of base 16, 2 or 8, up to 128 bits")
    };
    errors.push(SyntaxError::new(codes::BAD_NUMBER, message, token.text_range()));
}

fn float_number(token: &SyntaxToken, errors: &mut Vec<SyntaxError>) {
    let value: Option<f64> = token.text().replace('_', "").parse().ok();
    if value.is_some_and(f64::is_infinite) {
        let message = "found a number beyond the range of f64: infinity is written `inf`";
        errors.push(SyntaxError::new(codes::BAD_NUMBER, message, token.text_range()));
    }
}

fn string(token: &SyntaxToken, errors: &mut Vec<SyntaxError>) {
    let start = token.text_range().start();
    let text = token.text();
    tokens::unescape(text, &mut |range, result| {
        let Err(message) = result else { return };
        let from = TextSize::of(&text[..range.start]);
        let to = TextSize::of(&text[..range.end]);
        let range = TextRange::new(start + from, start + to);
        errors.push(SyntaxError::new(codes::BAD_ESCAPE, message, range));
    });
}

fn new_axis(node: &SyntaxNode, errors: &mut Vec<SyntaxError>) {
    if node.parent().is_some_and(|parent| parent.kind() == INDEX_LIST) {
        return;
    }
    let message = "found `new` outside an index: it adds a mode of extent 1, as in `x[.., new]`";
    errors.push(SyntaxError::new(codes::MISPLACED, message, node.text_range()));
}

fn only_in_bench(node: &SyntaxNode, word: &str, errors: &mut Vec<SyntaxError>) {
    // A cell of the REPL may be the body of a bench.
    let is_at_home = node.ancestors().any(|it| Bench::can_cast(it.kind()) || it.kind() == CELL);
    if is_at_home {
        return;
    }
    let start = node.text_range().start();
    let range = TextRange::at(start, TextSize::of(word));
    let message = format!("found `{word}` outside a `bench`");
    errors.push(SyntaxError::new(codes::MISPLACED, message, range));
}

fn open_domain(node: &SyntaxNode, errors: &mut Vec<SyntaxError>) {
    let domain = ForallVariable::cast(node.clone()).and_then(|variable| variable.domain());
    let Some(Expr::RangeExpr(range)) = domain else { return };
    if range.start().is_some() && range.end().is_some() {
        return;
    }
    let message = "found an open range in `forall`, expected one with both ends, as in `1..=300`";
    errors.push(SyntaxError::new(codes::MISPLACED, message, range.syntax().text_range()));
}
