//! The grammar: one function for each rule of `grammar/hx.ungram`, in modules by theme.
//!
//! A rule consumes what it understands and reports what is missing; it never gives up on the text. `opt_x` may consume
//! nothing. The examples in comments that begin with `test` are a test suite: `tests/fixtures` holds the tree of each.

use crate::{
    ForeignPlace,
    SyntaxKind::{self, *},
    T, codes, foreign,
    parser::{CompletedMarker, Marker, Parser, TokenSet},
};

mod expressions;
mod headers;
mod items;
mod patterns;
mod statements;
mod types;

/// What starts an item. Items do not nest, so one of these inside a body means that a `}` is missing.
const ITEM_START: TokenSet =
    TokenSet::new(&[T![use], T![const], T![fn], T![kernel], T![test], T![bench], T![main]]);

/// What starts a statement and no expression.
const STATEMENT_START: TokenSet = TokenSet::new(&[T![let], T![for], T![while], T![warp_groups]]);

/// Where a list in brackets stops looking for its next element.
const LIST_RECOVERY: TokenSet = ITEM_START.union(STATEMENT_START).union(TokenSet::new(&[
    T![;],
    T![')'],
    T![']'],
    T!['}'],
    T!['{'],
    T![else],
    T![where],
    T![=],
    T![->],
]));

/// What stands behind an operand, and never behind a keyword that starts an item.
const AFTER_OPERAND: TokenSet = TokenSet::new(&[
    T![;],
    T![,],
    T![.],
    T![')'],
    T![']'],
    T![=],
    T![==],
    T![!=],
    T![+],
    T![-],
    T![*],
    T![/],
    T![%],
    T![@],
    T![&&],
    T![||],
    T![..],
]);

/// A file: items, and nothing else.
pub(crate) fn source_file(p: &mut Parser<'_>) {
    let m = p.start();
    while !p.at_end() {
        items::item_or_error(p);
    }
    m.complete(p, SOURCE_FILE);
}

/// An entry of the REPL: items and statements.
pub(crate) fn cell(p: &mut Parser<'_>) {
    p.is_in_cell = true;
    let m = p.start();
    while !p.at_end() {
        if items::is_at_item(p) {
            items::item_or_error(p);
        } else {
            statements::statement(p, statements::End::OfCell);
        }
    }
    m.complete(p, CELL);
}

/// An entry of the REPL as a file.
pub(crate) fn cell_file(p: &mut Parser<'_>) {
    let m = p.start();
    cell(p);
    m.complete(p, SOURCE_FILE);
}

/// A name that is introduced here.
fn name(p: &mut Parser<'_>, what: &str) -> bool {
    if p.at(IDENT) {
        let m = p.start();
        p.bump(IDENT);
        m.complete(p, NAME);
        return true;
    }
    if is_reserved_word(p) {
        let message = format!("found the keyword `{}` where {what} was expected", p.nth_text(0));
        p.error_here(codes::UNEXPECTED, message);
        // `let test = …`: the keyword is meant as the name if what follows a name follows.
        if matches!(p.nth(1), T![=] | T![:] | T!['('] | T![<] | T![,] | T![')'] | T![']'] | T![in]) {
            let m = p.start();
            p.bump_any();
            m.complete(p, ERROR);
        }
        return false;
    }
    p.error_missing(what);
    false
}

fn is_reserved_word(p: &Parser<'_>) -> bool {
    p.current().is_keyword()
}

/// A name that was introduced elsewhere.
fn name_ref(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    // `where(c, x, y)` is a call of the select: its keyword is a name there.
    p.bump_as(IDENT);
    m.complete(p, NAME_REF)
}

/// `a::b::c`. The current token is a name, or the `where` of a select.
fn path(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    name_ref(p);
    while p.at(T![::]) && !matches!(p.nth(1), T!['{'] | T![*]) {
        p.bump(T![::]);
        if p.at(IDENT) {
            name_ref(p);
        } else {
            p.error_missing("a name");
            break;
        }
    }
    m.complete(p, PATH)
}

/// Elements between commas, with the brackets around them: `( x, y, )`. The current token is `open`.
///
/// `element` consumes one element. Gives the number of commas: `(8,)` is a tuple of one, `(8)` is in parentheses.
fn list<R>(
    p: &mut Parser<'_>,
    (open, close): (SyntaxKind, SyntaxKind),
    what: &str,
    starts_element: impl Fn(&Parser<'_>) -> bool,
    mut element: impl FnMut(&mut Parser<'_>) -> R,
) -> usize {
    let opened_at = p.position();
    p.bump(open);
    let mut commas = 0;
    while !p.at(close) && !p.at_end() {
        if p.at(T![,]) {
            p.error_missing(what);
            p.bump(T![,]);
            commas += 1;
            continue;
        }
        let before = p.position();
        if !starts_element(p) {
            if p.at_set(LIST_RECOVERY) {
                break;
            }
            p.error_and_bump(what, TokenSet::EMPTY);
            continue;
        }
        element(p);
        if p.position() == before {
            break;
        }
        if p.eat(T![,]) {
            commas += 1;
        } else if p.at(close) || p.at_end() || !starts_element(p) || p.at_set(LIST_RECOVERY) {
            if !p.at(close) && !p.at_end() && !p.at_set(LIST_RECOVERY) {
                let closing = close.text().unwrap_or_default();
                p.error_and_bump(&format!("`,` or `{closing}`"), TokenSet::EMPTY);
                continue;
            }
            break;
        } else {
            p.error_missing("`,`");
        }
    }
    expect_closing(p, close, opened_at);
    commas
}

/// The bracket that closes the one consumed at `opened_at`.
fn expect_closing(p: &mut Parser<'_>, close: SyntaxKind, opened_at: usize) {
    if p.eat(close) {
        return;
    }
    let open = p.consumed_text(opened_at);
    p.error_missing(&format!("`{}` for the `{open}` opened before", close.text().unwrap_or_default()));
}

/// An error node for code that was skipped, unless nothing was.
fn skipped(p: &mut Parser<'_>, m: Marker, before: usize) {
    if p.position() > before {
        m.complete(p, ERROR);
    } else {
        m.abandon(p);
    }
}
