//! The header of an item: everything between its name and its body.

use super::*;

/// The tokens at which parsing resumes after an error in a header.
const HEADER_RECOVERY: TokenSet =
    ITEM_START.union(STATEMENT_START).union(TokenSet::new(&[T!['{'], T!['}'], T![;]]));

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clauses {
    /// A `fn` has only `where`.
    OfFn,
    /// A kernel has `where`, `tune`, `grid`, `threads`, `cluster` and `blocks_per_sm`.
    OfKernel,
}

// test generic_params
// fn f<BM = 64, T: type = f16, l: layout = (8, 8) : (8, 1), N,>() { }
pub(super) fn opt_generic_params(p: &mut Parser<'_>) {
    if !p.at(T![<]) {
        return;
    }
    let m = p.start();
    list(
        p,
        (T![<], T![>]),
        "a compile-time parameter",
        |p| p.at(IDENT) || is_reserved_word(p),
        generic_param,
    );
    m.complete(p, GENERIC_PARAM_LIST);
}

fn generic_param(p: &mut Parser<'_>) -> bool {
    let m = p.start();
    name(p, "the name of a compile-time parameter");
    types::opt_ascription(p);
    if p.eat(T![=]) {
        expressions::angle_expr(p);
    }
    m.complete(p, GENERIC_PARAM);
    true
}

// test params
// fn f(a: f16[m, k / 2], c: mut f16[m, n] : [lda, 1], w: u4[n] : W, x: f32,) { }
pub(super) fn params(p: &mut Parser<'_>) {
    if !p.at(T!['(']) {
        p.error_missing("a list of parameters");
        return;
    }
    let m = p.start();
    list(p, (T!['('], T![')']), "a parameter", |p| p.at(IDENT) || is_reserved_word(p), param);
    m.complete(p, PARAM_LIST);
}

fn param(p: &mut Parser<'_>) -> bool {
    let m = p.start();
    if p.at(T![mut]) {
        let message = "found `mut` before the name of a parameter: it is written before its type, as in `c: mut f16[m]`";
        p.error_here(codes::OTHER_LANGUAGE, message);
        let error = p.start();
        p.bump(T![mut]);
        error.complete(p, ERROR);
    }
    name(p, "the name of a parameter");
    if p.at(T![:]) {
        types::opt_ascription(p);
    } else {
        p.error_missing("`:` and the type of the parameter");
    }
    m.complete(p, PARAM);
    true
}

// test ret_type
// fn f() -> f32[M, N] where M > 0 { }
pub(super) fn opt_ret_type(p: &mut Parser<'_>) {
    if !p.at(T![->]) {
        return;
    }
    let m = p.start();
    p.bump(T![->]);
    types::type_(p);
    m.complete(p, RET_TYPE);
}

// test clauses
// kernel f() where k % BK == 0, where(a, b, c), m > 0, grid [cdiv(m, BM), 2] threads 128 cluster [2, 1] { }
pub(super) fn clauses(p: &mut Parser<'_>, allowed: Clauses) {
    let mut seen = TokenSet::EMPTY;
    loop {
        let Some((kind, keyword)) = clause_kind(p) else { return };
        if allowed == Clauses::OfFn && kind != WHERE_CLAUSE {
            let message =
                format!("found `{}` on a function: only a kernel is launched with it", p.nth_text(0));
            p.error_here(codes::MISPLACED, message);
        } else if seen.contains(keyword) {
            let message = format!("found `{}` twice", p.nth_text(0));
            p.error_here(codes::DUPLICATE, message);
        }
        seen = seen.union(TokenSet::new(&[keyword]));
        let m = p.start();
        match kind {
            WHERE_CLAUSE => where_predicates(p),
            TUNE_CLAUSE => tune_axes(p),
            _ => {
                p.bump_as(keyword);
                expressions::header_expr(p);
            }
        }
        m.complete(p, kind);
    }
}

/// Returns the kind of the clause that starts here, and its keyword. `None` if no clause starts here.
fn clause_kind(p: &Parser<'_>) -> Option<(SyntaxKind, SyntaxKind)> {
    match p.current() {
        T![where] => Some((WHERE_CLAUSE, T![where])),
        IDENT => match p.nth_text(0) {
            "tune" => Some((TUNE_CLAUSE, T![tune])),
            "grid" => Some((GRID_CLAUSE, T![grid])),
            "threads" => Some((THREADS_CLAUSE, T![threads])),
            "cluster" => Some((CLUSTER_CLAUSE, T![cluster])),
            "blocks_per_sm" => Some((RESIDENCY_CLAUSE, T![blocks_per_sm])),
            _ => None,
        },
        _ => None,
    }
}

fn where_predicates(p: &mut Parser<'_>) {
    p.bump(T![where]);
    loop {
        if !expressions::header_expr(p) {
            break;
        }
        if !p.eat(T![,]) || p.at(T!['{']) || is_at_clause_after_comma(p) {
            break;
        }
    }
}

// test tune_clause
// kernel f() where m > 0 tune BM in [64, 128], BN in 64..=N step 8, S in 2..5, T in [f16, bf16], grid [1] threads 32 { }
fn tune_axes(p: &mut Parser<'_>) {
    p.bump_as(T![tune]);
    loop {
        tune_axis(p);
        if !p.eat(T![,]) || p.at(T!['{']) || is_at_clause_after_comma(p) {
            break;
        }
    }
}

fn tune_axis(p: &mut Parser<'_>) {
    if !p.at(IDENT) {
        p.error_missing("a compile-time parameter and its values, as in `BM in [64, 128]`");
        return;
    }
    let m = p.start();
    name_ref(p);
    if p.expect(T![in]) || (expressions::is_at_expr(p) && !p.at(T!['{'])) {
        expressions::closed_expr(p);
    }
    if p.at(IDENT) && p.nth_text(0) == "step" {
        let m = p.start();
        p.bump_as(T![step]);
        expressions::header_expr(p);
        m.complete(p, TUNE_STEP);
    }
    m.complete(p, TUNE_AXIS);
}

/// Reports whether the current token is the `forall` of a test. No name can follow a title, so no look-ahead is needed.
pub(super) fn is_at_forall(p: &Parser<'_>) -> bool {
    p.at(IDENT) && p.nth_text(0) == "forall"
}

/// Parses `forall m in 1..=300, T in [f16, bf16]`. The current token is the `forall`.
pub(super) fn forall_clause(p: &mut Parser<'_>) {
    let m = p.start();
    p.bump_as(T![forall]);
    loop {
        if !forall_variable(p) {
            break;
        }
        if !p.eat(T![,]) || p.at(T!['{']) {
            break;
        }
    }
    m.complete(p, FORALL_CLAUSE);
}

fn forall_variable(p: &mut Parser<'_>) -> bool {
    if !patterns::is_at_pattern(p) {
        p.error_missing("a variable and its values, as in `m in 1..=300`");
        return false;
    }
    let m = p.start();
    patterns::pattern(p);
    if p.expect(T![in]) || (expressions::is_at_expr(p) && !p.at(T!['{'])) {
        expressions::closed_expr(p);
    }
    m.complete(p, FORALL_VARIABLE);
    true
}

/// Reports whether a clause starts after a trailing comma: `grid [` starts one, but `grid % 2` is a predicate about a dimension
/// named `grid`.
fn is_at_clause_after_comma(p: &Parser<'_>) -> bool {
    if p.at(T![where]) {
        return !p.nth_at(1, T!['(']);
    }
    clause_kind(p).is_some() && matches!(p.nth(1), T!['['] | T!['('] | IDENT | INT_NUMBER)
}

/// Parses `in` and the expression after it, before a block. If the `in` is missing, the expression is still parsed.
pub(super) fn in_expr(p: &mut Parser<'_>) {
    if p.expect(T![in]) || (expressions::is_at_expr(p) && !p.at(T!['{'])) {
        expressions::header_expr(p);
    }
}

/// Parses the block of an item, and skips tokens before it with an error.
pub(super) fn body(p: &mut Parser<'_>) {
    if !p.at(T!['{']) {
        p.error_missing("`{` and a body");
        let m = p.start();
        let before = p.position();
        // Stop at the keyword of the next item, so that a half-typed header does not swallow that item.
        while !p.at_end() && !p.at_set(HEADER_RECOVERY) {
            p.bump_any();
        }
        skipped(p, m, before);
        if p.at(T![;]) {
            p.bump(T![;]);
        }
    }
    if p.at(T!['{']) {
        statements::block(p);
    }
}
