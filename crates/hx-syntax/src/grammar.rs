//! The grammar: one function for each rule of `grammar/hx.ungram`, in modules by theme.
//!
//! A rule consumes the tokens that it understands and reports those that are missing; it never abandons the text. `opt_x` may
//! consume nothing. The examples in comments that begin with `test` are a test suite: `tests/fixtures` holds the tree of each.

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

/// The keywords that start an item. Items do not nest, so one of these inside a body means that a `}` is missing.
const ITEM_START: TokenSet =
    TokenSet::new(&[T![use], T![const], T![fn], T![kernel], T![test], T![bench], T![main]]);

/// The keywords that start a statement but no expression.
const STATEMENT_START: TokenSet = TokenSet::new(&[T![let], T![for], T![while], T![warp_groups]]);

/// The tokens at which a list in brackets stops searching for its next element.
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

/// The tokens that can follow an operand, but never a keyword that starts an item.
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
    T![&],
    T![|],
    T![^],
    T![&&],
    T![||],
    T![..],
]);

/// Parses a file: items, and nothing else.
pub(crate) fn source_file(p: &mut Parser<'_>) {
    let m = p.start();
    while !p.at_end() {
        items::item_or_error(p);
    }
    m.complete(p, SOURCE_FILE);
}

/// Parses an entry of the REPL: items and statements.
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

/// Parses an entry of the REPL as a file.
pub(crate) fn cell_file(p: &mut Parser<'_>) {
    let m = p.start();
    cell(p);
    m.complete(p, SOURCE_FILE);
}

/// Parses a name that a declaration introduces; `what` describes it in errors. Returns false if there is none.
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
        // In `let test = …` the user means the keyword as a name, because the token after it can follow a name.
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

/// Parses a name that refers to a declaration.
fn name_ref(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    // In `where(c, x, y)` the keyword `where` is the name of a function.
    p.bump_as(IDENT);
    m.complete(p, NAME_REF)
}

/// Parses `a::b::c`. The current token is a name, or the `where` of `where(c, x, y)`.
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

/// Parses elements between commas, with the brackets around them: `( x, y, )`. The current token is `open`.
///
/// `element` consumes one element. Returns the number of commas: `(8,)` is a tuple of one, `(8)` is a parenthesized expression.
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

/// Consumes the bracket that closes the one consumed at `opened_at`, or reports it as missing.
fn expect_closing(p: &mut Parser<'_>, close: SyntaxKind, opened_at: usize) {
    if p.eat(close) {
        return;
    }
    let open = p.consumed_text(opened_at);
    p.error_missing(&format!("`{}` for the `{open}` opened before", close.text().unwrap_or_default()));
}

/// Completes an error node around the code skipped since token `before`; abandons the node if no token was skipped.
fn skipped(p: &mut Parser<'_>, m: Marker, before: usize) {
    if p.position() > before {
        m.complete(p, ERROR);
    } else {
        m.abandon(p);
    }
}
