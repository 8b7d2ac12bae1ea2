//! Items: what a file is made of.

use super::*;

/// Words of other languages for what starts an item here.
const NEAR_WORDS: &[(&str, &str)] = &[
    ("def", "fn"),
    ("func", "fn"),
    ("function", "fn"),
    ("import", "use"),
    ("from", "use"),
    ("static", "const"),
    ("__global__", "kernel"),
    ("__device__", "fn"),
    ("prim_func", "kernel"),
    ("benchmark", "bench"),
    ("tests", "test"),
];

pub(super) fn is_at_item(p: &Parser<'_>) -> bool {
    if !p.at(T![#]) {
        return p.at_set(ITEM_START);
    }
    // Attributes belong to what follows them: `#[a] #[b(1)] kernel`. They are short.
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
    ITEM_START.contains(p.nth(n))
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

/// Code between items: skipped up to the next item, with one error.
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

/// The word that starts an item and that `word` was probably meant to be.
fn nearest_word(word: &str) -> Option<&'static str> {
    if let Some(&(_, meant)) = NEAR_WORDS.iter().find(|&&(other, _)| other == word) {
        return Some(meant);
    }
    let words = ["use", "const", "kernel", "test", "bench", "main"];
    words.into_iter().find(|meant| word.len() > 2 && is_one_edit_away(word, meant))
}

/// Whether one letter was changed, left out, added, or swapped with its neighbour.
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

// #[unroll] #[unroll(4)]
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

// use std::gemm::{gemm, split_k as sk};
fn use_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![use]);
    use_tree(p);
    p.expect(T![;]);
    m.complete(p, USE);
}

fn use_tree(p: &mut Parser<'_>) -> bool {
    let rule = |p: &mut Parser<'_>| {
        let m = p.start();
        if p.at(IDENT) {
            path(p);
            if p.at(T![::]) && p.nth_at(1, T!['{']) {
                p.bump(T![::]);
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

// const LOG2E: f32 = 1.4426950408889634;
fn const_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![const]);
    name(p, "the name of a constant");
    types::opt_ascription(p);
    if p.expect(T![=]) {
        expressions::expr(p);
    }
    statements::end_of_statement(p);
    m.complete(p, CONST);
}

// fn gelu<N = 4>(x: register T[M, N]) -> f32[M, N] { x }
fn fn_(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![fn]);
    name(p, "the name of a function");
    headers::opt_generic_params(p);
    headers::params(p);
    headers::opt_ret_type(p);
    headers::clauses(p, headers::Clauses::OfFn);
    headers::body(p);
    m.complete(p, FN);
}

// kernel matmul<BM = 64>(a: f16[m, k], c: mut f16[m, n]) where k % 16 == 0 grid [cdiv(m, BM)] threads 128 { }
fn kernel(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![kernel]);
    name(p, "the name of a kernel");
    headers::opt_generic_params(p);
    headers::params(p);
    headers::clauses(p, headers::Clauses::OfKernel);
    headers::body(p);
    m.complete(p, KERNEL);
}

// test "name" for (m, n) in [(1, 2), (3, 4)] { }
// bench "name" { }
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
        if p.expect(T![in]) {
            expressions::header_expr(p);
        }
        m.complete(p, CASE_CLAUSE);
    }
    headers::body(p);
    m.complete(p, kind);
}

// main { print(args[0]); }
fn main(p: &mut Parser<'_>, m: Marker) {
    p.bump(T![main]);
    headers::body(p);
    m.complete(p, MAIN);
}
