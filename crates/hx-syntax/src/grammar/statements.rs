//! Blocks and statements.

use super::*;
use crate::Foreign;

/// The tokens at which parsing resumes after an error in a statement.
const STATEMENT_RECOVERY: TokenSet =
    ITEM_START.union(STATEMENT_START).union(TokenSet::new(&[T![;], T!['}']]));

/// The message for a declaration without `let`.
const LET: &str = "a local is introduced with `let`";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The statement is in a block, which ends at `}`.
    OfBlock,
    /// The statement is in a cell, which ends with the text. There the last statement needs no `;`.
    OfCell,
}

// test block
// let x = { let y = 1; { } y };
pub(super) fn block(p: &mut Parser<'_>) -> bool {
    if !p.at(T!['{']) {
        p.error_missing("`{`");
        return false;
    }
    p.nested(|p| Some(block_inside(p))).is_some()
}

fn block_inside(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    let opened_at = p.position();
    p.bump(T!['{']);
    while !p.at_end() && !p.at(T!['}']) && !items::is_at_item(p) {
        let before = p.position();
        statement(p, End::OfBlock);
        if p.position() == before {
            p.error_and_bump("a statement", TokenSet::EMPTY);
        }
    }
    expect_closing(p, T!['}'], opened_at);
    m.complete(p, BLOCK)
}

/// Parses a statement, or the last expression of a body.
pub(super) fn statement(p: &mut Parser<'_>, end: End) {
    if p.at(T![;]) {
        // Report an empty statement, although it does nothing: formatted code never has one.
        let m = p.start();
        p.error_here(codes::UNEXPECTED, "found `;` with no statement before it");
        p.bump(T![;]);
        m.complete(p, ERROR);
        return;
    }
    let m = p.start();
    let before = p.position();
    items::attributes(p);
    let has_attributes = p.position() > before;
    match p.current() {
        T![let] => let_(p, m, end),
        T![for] => for_(p, m),
        T![while] => while_(p, m),
        T![warp_groups] => warp_groups(p, m),
        IDENT if is_at_measure(p) => measure(p, m),
        IDENT if p.nth_is_word(0, "baseline") && p.nth_at(1, IDENT) => baseline(p, m),
        IDENT if is_at_declaration(p) => {
            let word = p.nth_text(0);
            let hint = foreign(word, ForeignPlace::Declaration).map_or(LET, |row| row.hint);
            p.error_here(codes::OTHER_LANGUAGE, format!("found `{word} {}`: {hint}", p.nth_text(1)));
            let_(p, m, end);
        }
        _ => expression_statement(p, m, has_attributes, end),
    }
}

/// Reports whether a declaration of another language starts here, such as `int i = 0`: a word (a type, say), a name and `=`.
fn is_at_declaration(p: &Parser<'_>) -> bool {
    let is_declaration = p.nth_at(1, IDENT) && p.nth_at(2, T![=]);
    is_declaration && foreign(p.nth_text(0), ForeignPlace::Statement).is_none()
}

/// Consumes the `;` of a statement. Otherwise reports it as missing and skips the tokens in its place.
pub(super) fn end_of_statement(p: &mut Parser<'_>) {
    if p.eat(T![;]) {
        return;
    }
    p.error_missing("`;`");
    // Skip nothing if the next statement has begun: the current token is on a new line or can start a statement.
    if p.at_set(STATEMENT_RECOVERY) || p.is_after_line_end() {
        return;
    }
    let m = p.start();
    let before = p.position();
    p.skip_until(STATEMENT_RECOVERY);
    skipped(p, m, before);
    p.eat(T![;]);
}

/// Ends a statement. In a cell, the `;` may be missing at the end of the text or of a line.
fn end_of(p: &mut Parser<'_>, end: End) {
    if end == End::OfCell && !p.at(T![;]) && p.is_after_line_end() {
        return;
    }
    end_of_statement(p);
}

// test let
// let [bm, bn] = block_idx;
// let (p, h): (f32, f32[M]) = scan((a, b), axis: 2, op: add);
fn let_(p: &mut Parser<'_>, m: Marker, end: End) {
    // In `int i = 0` the current token is the `int` instead of `let`; the caller has reported it.
    p.bump_as(T![let]);
    patterns::pattern(p);
    types::opt_ascription(p);
    if p.expect(T![=]) {
        expressions::expr(p);
    }
    end_of(p, end);
    m.complete(p, LET_STMT);
}

// test for
// for (i, j) in pairs { f(i); }
fn for_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![for]);
    if is_at_loop_of_three(p) {
        p.error_here(codes::OTHER_LANGUAGE, "found a loop of three parts: it is written `for i in 0..n`");
        let m = p.start();
        p.bump(T!['(']);
        p.skip_until(TokenSet::EMPTY);
        p.eat(T![')']);
        m.complete(p, ERROR);
    } else {
        patterns::pattern(p);
        headers::in_expr(p);
        step(p);
        pipelined(p);
    }
    block(p);
    m.complete(p, FOR_STMT);
}

// test pipelined
// for i in 0..cdiv(k, BK) pipelined(STAGES + 1) { }
fn pipelined(p: &mut Parser<'_>) {
    if !p.nth_is_word(0, "pipelined") {
        return;
    }
    let m = p.start();
    p.eat_word("pipelined");
    let opened_at = p.position();
    if p.expect(T!['(']) {
        expressions::expr(p);
        expect_closing(p, T![')'], opened_at);
    }
    m.complete(p, PIPELINED_CLAUSE);
}

/// Skips the step of a loop, as in `for i in 0..n step 2`, which other languages have.
fn step(p: &mut Parser<'_>) {
    if !p.nth_is_word(0, "step") && !p.nth_is_word(0, "by") {
        return;
    }
    let word = p.nth_text(0);
    let hint = "loops count by 1: `for i in 0..cdiv(n, 128)`, where part `i` begins at `i * 128`";
    p.error_here(codes::OTHER_LANGUAGE, format!("found `{word}`: {hint}"));
    let m = p.start();
    p.bump_any();
    if expressions::is_at_expr(p) && !p.at(T!['{']) {
        expressions::header_expr(p);
    }
    m.complete(p, ERROR);
}

/// Reports whether a loop of three parts starts here: `for (int i = 0; …)` or `for (i = 0; …)`. No pattern begins like that.
fn is_at_loop_of_three(p: &Parser<'_>) -> bool {
    p.at(T!['(']) && p.nth_at(1, IDENT) && (p.nth_at(2, IDENT) || p.nth_at(2, T![=]))
}

// test while
// while i < n { i += 1; }
fn while_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![while]);
    expressions::header_expr(p);
    block(p);
    m.complete(p, WHILE_STMT);
}

// test warp_groups
// warp_groups { producer registers 40 { } consumer 2 registers 232 { } consumer each n (g) { } }
fn warp_groups(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![warp_groups]);
    let opened_at = p.position();
    if !p.expect(T!['{']) {
        m.complete(p, WARP_GROUPS_STMT);
        return;
    }
    while !p.at_end() && !p.at(T!['}']) && !items::is_at_item(p) {
        if p.nth_is_word(0, "producer") || p.nth_is_word(0, "consumer") {
            warp_role(p);
            continue;
        }
        p.error_missing("a role, `producer` or `consumer`");
        let m = p.start();
        let before = p.position();
        p.bump_any();
        while !p.at_end()
            && !p.at(T!['}'])
            && !p.at_set(ITEM_START)
            && !p.nth_is_word(0, "producer")
            && !p.nth_is_word(0, "consumer")
        {
            if p.at(T!['{']) {
                p.bump_any();
                p.skip_until(TokenSet::EMPTY);
            }
            p.bump_any();
        }
        skipped(p, m, before);
    }
    expect_closing(p, T!['}'], opened_at);
    m.complete(p, WARP_GROUPS_STMT);
}

fn warp_role(p: &mut Parser<'_>) {
    let m = p.start();
    if !p.eat_word("producer") {
        p.eat_word("consumer");
    }
    p.eat_word("each");
    loop {
        if p.nth_is_word(0, "registers") {
            let m = p.start();
            p.eat_word("registers");
            expressions::count(p);
            m.complete(p, REGISTERS_CLAUSE);
        } else if p.nth_is_word(0, "threads") || p.nth_is_word(0, "warps") {
            let word = p.nth_text(0);
            let hint = "a role has groups of 128 threads, `consumer 2` two of them";
            p.error_here(codes::OTHER_LANGUAGE, format!("found `{word}` in the header of a role: {hint}"));
            let m = p.start();
            p.bump_any();
            if matches!(p.current(), INT_NUMBER | IDENT | T!['(']) {
                expressions::count(p);
            }
            m.complete(p, ERROR);
        } else if p.at(T!['(']) && p.nth_at(1, IDENT) && p.nth_at(2, T![')']) {
            let m = p.start();
            p.bump(T!['(']);
            name(p, "a name for the group");
            p.bump(T![')']);
            m.complete(p, ROLE_BINDER);
        } else if matches!(p.current(), INT_NUMBER | IDENT | T!['(']) {
            let m = p.start();
            expressions::count(p);
            m.complete(p, ROLE_COUNT);
        } else {
            break;
        }
    }
    block(p);
    m.complete(p, WARP_ROLE);
}

fn is_at_measure(p: &Parser<'_>) -> bool {
    p.nth_is_word(0, "measure")
        && (p.nth_at(1, T!['{']) || p.nth_is_word(1, "flops") || p.nth_is_word(1, "bytes"))
}

// test measure
// bench "b" { measure flops 2 * m bytes 2 * k { f(a) } measure { f(b); } let measure = 1; }
fn measure(p: &mut Parser<'_>, m: Marker) {
    p.eat_word("measure");
    while p.nth_is_word(0, "flops") || p.nth_is_word(0, "bytes") {
        let m = p.start();
        if !p.eat_word("flops") {
            p.eat_word("bytes");
        }
        expressions::header_expr(p);
        m.complete(p, MEASURE_QUANTITY);
    }
    block(p);
    m.complete(p, MEASURE_STMT);
}

// test baseline
// bench "b" { baseline f(a); baseline cublas::gemm(a, b.T, c) }
fn baseline(p: &mut Parser<'_>, m: Marker) {
    p.eat_word("baseline");
    expressions::expr(p);
    if !p.at(T!['}']) && !p.at_end() {
        end_of_statement(p);
    }
    m.complete(p, BASELINE_STMT);
}

const ASSIGNMENTS: TokenSet =
    TokenSet::new(&[T![=], T![+=], T![-=], T![*=], T![/=], T![%=], T![&=], T![|=], T![^=], T![<<=], T![>>=]]);

// test expression_statement
// f(x);
// x = x + 1;
// x[0] %= 1;
// x <<= 2; x ^= y;
// if c { } else { }
// x
fn expression_statement(p: &mut Parser<'_>, m: Marker, has_attributes: bool, end: End) {
    if !expressions::is_at_expr(p) {
        no_statement(p, m, has_attributes);
        return;
    }
    if foreign_statement(p) {
        match p.current() {
            T!['}'] | EOF if !has_attributes => m.abandon(p),
            _ => {
                p.eat(T![;]);
                m.complete(p, EXPR_STMT);
            }
        }
        return;
    }
    let is_block_like = p.at(T![if]) || p.at(T!['{']);
    if is_block_like {
        expressions::block_like(p);
    } else {
        expressions::expr(p);
    }
    match p.operator() {
        (operator, raw) if ASSIGNMENTS.contains(operator) => {
            p.bump_joint(operator, raw);
            expressions::expr(p);
            end_of(p, end);
            m.complete(p, ASSIGN_STMT);
        }
        // The last expression of a body is its value, so it is no statement.
        (T!['}'] | EOF, _) if !has_attributes => m.abandon(p),
        (T!['}'] | EOF, _) => {
            m.complete(p, EXPR_STMT);
        }
        _ => {
            if is_block_like {
                p.eat(T![;]);
            } else {
                end_of(p, end);
            }
            m.complete(p, EXPR_STMT);
        }
    }
}

/// Skips code that is no statement, up to a token that can start one. After attributes it skips nothing, and only reports that
/// the statement is missing.
fn no_statement(p: &mut Parser<'_>, m: Marker, has_attributes: bool) {
    if has_attributes {
        p.error_missing("a statement after its attributes");
        m.complete(p, EXPR_STMT);
        return;
    }
    if matches!(p.current(), T![')'] | T![']'] | T!['}']) {
        let message = format!("found {} that closes nothing", p.found());
        p.error_here(codes::UNBALANCED, message);
    } else {
        p.error_missing("a statement");
    }
    let before = p.position();
    if matches!(p.current(), T![')'] | T![']'] | T!['}']) || p.at_set(ITEM_START) {
        p.bump_any();
    }
    p.skip_until(STATEMENT_RECOVERY);
    p.eat(T![;]);
    skipped(p, m, before);
}

/// Handles `return x` and similar words of other languages: reports the word and wraps it in an error node. The code after it is
/// parsed as usual. Returns true if nothing follows the word.
fn foreign_statement(p: &mut Parser<'_>) -> bool {
    if !p.at(IDENT) {
        return false;
    }
    let Some(&Foreign { word, hint, .. }) = foreign(p.nth_text(0), ForeignPlace::Statement) else {
        return false;
    };
    let starts_expr = matches!(p.nth(1), IDENT | INT_NUMBER | FLOAT_NUMBER | STRING | T!['{']);
    let is_alone = matches!(p.nth(1), T![;] | T!['}']) && matches!(word, "return" | "break" | "continue");
    if !starts_expr && !is_alone {
        return false;
    }
    p.error_here(codes::OTHER_LANGUAGE, format!("found `{word}`: {hint}"));
    let m = p.start();
    p.bump_any();
    m.complete(p, ERROR);
    is_alone
}
