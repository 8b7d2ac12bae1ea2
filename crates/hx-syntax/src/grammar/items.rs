//! Parses items, the top level of a file.

use super::*;

pub(super) fn is_at_item(p: &Parser<'_>) -> bool {
    if !p.at(T![#]) {
        return is_item_word(p, 0);
    }
    // Attributes belong to the item after them: `#[a] #[b(1)] kernel`. They are short, so a bounded look-ahead suffices.
    const MAX_LOOK_AHEAD: usize = 64;
    let mut n = 0;
    while p.nth_at(n, T![#]) {
        let mut open = 0_usize;
        n += 1;
        loop {
            match p.nth(n) {
                T!['['] | T!['('] => open += 1,
                T![']'] | T![')'] if open <= 1 => break,
                T![']'] | T![')'] => open -= 1,
                _ if n > MAX_LOOK_AHEAD => return false,
                EOF | T!['{'] | T!['}'] | T![;] => return false,
                _ if open == 0 => return false,
                _ => {}
            }
            n += 1;
        }
        n += 1;
    }
    is_item_word(p, n)
}

/// Reports whether a keyword starts an item. In `let x = kernel;` it does not: the token after it can follow an operand, so the
/// user means the keyword as a name.
fn is_item_word(p: &Parser<'_>, n: usize) -> bool {
    ITEM_START.contains(p.nth(n)) && !AFTER_OPERAND.contains(p.nth(n + 1))
}

pub(super) fn item_or_error(p: &mut Parser<'_>) {
    let m = p.start();
    let before = p.position();
    attributes(p);
    match p.current() {
        T![use] => use_(p, m),
        T![const] => const_(p, m),
        T![fn] => fn_(p, m),
        T![kernel] => kernel(p, m),
        T![test] => case(p, m, TEST),
        T![bench] => case(p, m, BENCH),
        T![main] => main(p, m),
        _ => no_item(p, m, before),
    }
}

/// Skips code between items up to the next item, with one error.
fn no_item(p: &mut Parser<'_>, m: Marker, before: usize) {
    match p.current() {
        EOF => p.error_missing("an item after its attributes"),
        T!['}'] | T![')'] | T![']'] => {
            let message = format!("found {} that closes nothing", p.found());
            p.error_here(codes::UNBALANCED, message);
        }
        _ => {
            let found = p.found();
            let message = match nearest_word(p.nth_text(0)) {
                Some(word) => format!("found {found} where an item was expected: did you mean `{word}`?"),
                None => format!(
                    "found {found} where an item was expected (`use`, `const`, `fn`, `kernel`, `test`, `bench` or `main`)"
                ),
            };
            p.error_here(codes::UNEXPECTED, message);
        }
    }
    while !p.at_end() {
        p.bump_any();
        if p.at_set(ITEM_START) || is_at_item(p) {
            break;
        }
    }
    skipped(p, m, before);
}

/// Returns the word that starts an item and that `word` probably means; `None` if it resembles none.
fn nearest_word(word: &str) -> Option<&'static str> {
    if let Some(meant) = foreign(word, ForeignPlace::Item).and_then(|row| row.instead) {
        return Some(meant);
    }
    let words = ["use", "const", "kernel", "test", "bench", "main"];
    words.into_iter().find(|meant| word.len() > 2 && is_one_edit_away(word, meant))
}

/// Reports whether the words differ by one letter changed, left out, added, or swapped with its neighbour.
fn is_one_edit_away(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let swapped = match (a, b) {
        ([x, y, rest_a @ ..], [z, w, rest_b @ ..]) => x == w && y == z && rest_a == rest_b,
        _ => false,
    };
    swapped
        || match (a, b) {
            ([_, rest_a @ ..], [_, rest_b @ ..]) if rest_a == rest_b => true,
            ([_, rest_a @ ..], b) if rest_a == b => true,
            (a, [_, rest_b @ ..]) => a == rest_b,
            _ => false,
        }
}

// test attributes
// #[unroll(4)] #[a::b] for i in 0..n { }
// #[cold] fn f() { }
pub(super) fn attributes(p: &mut Parser<'_>) {
    while p.at(T![#]) {
        let m = p.start();
        p.bump(T![#]);
        let opened_at = p.position();
        if !p.expect(T!['[']) {
            m.complete(p, ATTR);
            continue;
        }
        if p.at(IDENT) {
            path(p);
        } else {
            p.error_missing("the name of an attribute");
        }
        if p.at(T!['(']) {
            expressions::arg_list(p);
        }
        expect_closing(p, T![']'], opened_at);
        m.complete(p, ATTR);
    }
}

/// Reports whether an item in a cell ends with its line, so that it needs no `;`.
fn is_at_line_end_of_cell(p: &Parser<'_>) -> bool {
    p.is_in_cell && !p.at(T![;]) && p.is_after_line_end()
}

// test use
// use std::gemm::{gemm, split_k as sk, a::{b, c}};
// use std::math;
fn use_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![use]);
    use_tree(p);
    if !is_at_line_end_of_cell(p) {
        p.expect(T![;]);
    }
    m.complete(p, USE);
}

fn use_tree(p: &mut Parser<'_>) -> bool {
    let rule = |p: &mut Parser<'_>| {
        let m = p.start();
        if p.at(IDENT) {
            path(p);
            if p.at(T![::]) {
                p.bump(T![::]);
            }
            if p.at(T![*]) {
                let message = "found `*`: a `use` names what it brings in, as in `use std::math::{exp, log}`";
                p.error_here(codes::OTHER_LANGUAGE, message);
                p.error_and_bump("a name", TokenSet::EMPTY);
            }
        }
        if p.at(T!['{']) {
            use_tree_list(p);
        } else if p.at(T![as]) {
            rename(p);
        }
        Some(m.complete(p, USE_TREE))
    };
    if !p.at(IDENT) && !p.at(T!['{']) {
        p.error_missing("a path such as `std::math::LOG2E`");
        return false;
    }
    p.nested(rule).is_some()
}

fn use_tree_list(p: &mut Parser<'_>) {
    let m = p.start();
    let starts = |p: &Parser<'_>| p.at(IDENT) || p.at(T!['{']);
    list(p, (T!['{'], T!['}']), "a name", starts, use_tree);
    m.complete(p, USE_TREE_LIST);
}

fn rename(p: &mut Parser<'_>) {
    let m = p.start();
    p.bump(T![as]);
    name(p, "a new name");
    m.complete(p, RENAME);
}

// test const
// /// log2(e)
// const LOG2E: f32 = 1.4426950408889634;
// const N = 4;
fn const_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![const]);
    name(p, "the name of a constant");
    types::opt_ascription(p);
    if p.expect(T![=]) {
        expressions::expr(p);
    }
    if !is_at_line_end_of_cell(p) {
        statements::end_of_statement(p);
    }
    m.complete(p, CONST);
}

// test fn
// fn gelu<N = 4>(x: register T[M, N], s: shared mut f16[K]) -> f32[M, N] { x }

// test instruction
// #[ptx("prmt.b32 {result}, {x}, {y}, {BYTES};", volatile)]
// fn bytes<BYTES = 0x5410>(x: u32, y: u32) -> u32;
fn fn_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![fn]);
    name(p, "the name of a function");
    headers::opt_generic_params(p);
    headers::params(p);
    headers::opt_ret_type(p);
    headers::clauses(p, headers::Clauses::OfFn);
    if !p.eat(T![;]) {
        headers::body(p);
    }
    m.complete(p, FN);
}

// test kernel
// kernel matmul<BM = 64>(a: f16[m, k], c: mut f16[m, n]) where k % 16 == 0 grid [cdiv(m, BM)] threads 128 { }
fn kernel(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![kernel]);
    name(p, "the name of a kernel");
    headers::opt_generic_params(p);
    headers::params(p);
    if p.at(T![->]) {
        let message =
            "found `->` on a kernel: a kernel returns nothing, it writes to parameters that are `mut`";
        p.error_here(codes::MISPLACED, message);
        headers::opt_ret_type(p);
    }
    headers::clauses(p, headers::Clauses::OfKernel);
    headers::body(p);
    m.complete(p, KERNEL);
}

// test case
// test "name" for (m, n) in [(1, 2), (3, 4)] { }
// bench "other" { }

// test forall
// test "name" forall m in 1..=300, (x, y) in [(0.5, 1)], T in [f16, bf16], { }
fn case(p: &mut Parser<'_>, m: Marker, kind: SyntaxKind) {
    p.bump_any();
    if !p.eat(STRING) {
        p.error_missing("a name in double quotes");
        if p.at(IDENT) {
            let m = p.start();
            p.bump_any();
            m.complete(p, ERROR);
        }
    }
    if p.at(T![for]) {
        let m = p.start();
        p.bump(T![for]);
        patterns::pattern(p);
        headers::in_expr(p);
        m.complete(p, CASE_CLAUSE);
        if headers::is_at_forall(p) {
            let message = "found `forall` after `for`: a test either lists its cases or draws them";
            p.error_here(codes::MISPLACED, message);
        }
    }
    if headers::is_at_forall(p) {
        if kind == BENCH {
            let message = "found `forall` on a bench: cases are drawn for tests only, \
                           a bench lists its shapes, as in `bench \"…\" for n in [64, 4096]`";
            p.error_here(codes::MISPLACED, message);
        }
        headers::forall_clause(p);
    }
    headers::body(p);
    m.complete(p, kind);
}

// test main
// main { print(args[0]); }
fn main(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![main]);
    headers::body(p);
    m.complete(p, MAIN);
}
