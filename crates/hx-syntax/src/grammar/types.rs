//! Parses types of parameters, constants and results.

use super::*;

/// Parses `: f32`, if there is one.
pub(super) fn opt_ascription(p: &mut Parser<'_>) {
    if p.eat(T![:]) {
        type_(p);
    }
}

pub(super) fn type_(p: &mut Parser<'_>) -> bool {
    match p.current() {
        T!['('] => p.nested(|p| Some(tuple_type(p))).is_some(),
        IDENT | T![mut] => {
            named_type(p);
            true
        }
        // A `fn` before a name begins the next item.
        T![fn] if !p.nth_at(1, IDENT) => {
            fn_type(p);
            true
        }
        _ => {
            p.error_missing("a type");
            false
        }
    }
}

// test tuple_type
// const X: (f32[M], (f32,)) = y;
fn tuple_type(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    let starts = |p: &Parser<'_>| matches!(p.current(), T!['('] | IDENT | T![mut] | T![fn]);
    list(p, (T!['('], T![')']), "a type", starts, type_);
    m.complete(p, TUPLE_TYPE)
}

// test fn_type
// kernel k<F: fn = identity, G: fn>(a: f16[m]) grid 1 threads 32 { }
// fn f(g: fn, x: f32) { }
fn fn_type(p: &mut Parser<'_>) {
    let m = p.start();
    p.bump(T![fn]);
    m.complete(p, FN_TYPE);
}

// test named_type
// fn f(a: mut f16[m, k] : [lda, 1], b: register T[M, N], c: shared mut f16[K], d: a::T, shared: global f32) { }
fn named_type(p: &mut Parser<'_>) {
    let m = p.start();
    memory_space(p);
    if p.eat(T![mut]) && memory_space(p) {
        let message = "found `mut` before the memory: it is written after it, as in `shared mut f16[K]`";
        p.error_here(codes::UNEXPECTED, message);
    }
    if p.at(IDENT) {
        path(p);
    } else {
        p.error_missing("an element type");
    }
    if p.at(T!['[']) {
        shape(p);
        if p.at(T![:]) {
            layout_annotation(p);
        }
    }
    m.complete(p, NAMED_TYPE);
}

/// Parses a memory space. `shared`, `global` and `register` are keywords only if a type follows; elsewhere they are names.
/// Returns false if there is none.
fn memory_space(p: &mut Parser<'_>) -> bool {
    let is_followed_by_type = p.nth_at(1, IDENT) || p.nth_at(1, T![mut]);
    is_followed_by_type && ["global", "shared", "register"].into_iter().any(|word| p.eat_word(word))
}

fn shape(p: &mut Parser<'_>) {
    let m = p.start();
    list(p, (T!['['], T![']']), "a dimension", expressions::is_at_expr, expressions::element);
    m.complete(p, SHAPE);
}

fn layout_annotation(p: &mut Parser<'_>) {
    let m = p.start();
    p.bump(T![:]);
    expressions::header_expr(p);
    m.complete(p, LAYOUT_ANNOTATION);
}
