//! Parses expressions by precedence climbing.
//!
//! From loose to tight: `..`, `||`, `&&`, comparisons, `∘`, `:`, `|`, `^`, `&`, `<< >>`, `+ -`, `* / % @`, prefix `- ! ~`, and
//! postfix (`f(x)`, `x[i]`, `x.T`, `x[i] else y`). A closure is looser than all of them and is allowed in arguments only.

use super::*;

const EXPR_START: TokenSet = TokenSet::new(&[
    IDENT,
    INT_NUMBER,
    FLOAT_NUMBER,
    STRING,
    T![true],
    T![false],
    T![inf],
    T!['('],
    T!['['],
    T!['{'],
    T![-],
    T![!],
    T![~],
    T![..],
    T![new],
    T![_],
    T![if],
    T![|],
    T![||],
]);

/// Restrictions on an expression by its context. Brackets lift them.
#[derive(Clone, Copy, Default)]
struct Limits {
    /// The expression precedes a block, so `{` starts that block and is not an operand.
    is_header: bool,
    /// The expression is between `<` and `>`, so comparisons need parentheses.
    is_angle: bool,
    /// The expression has the values of a `tune` or `forall` clause, so a range may include its end: `1..=8`.
    is_closed: bool,
}

const FREE: Limits = Limits { is_header: false, is_angle: false, is_closed: false };
const HEADER: Limits = Limits { is_header: true, ..FREE };
const ANGLE: Limits = Limits { is_angle: true, ..FREE };
const CLOSED: Limits = Limits { is_closed: true, ..HEADER };

pub(super) fn is_at_expr(p: &Parser<'_>) -> bool {
    // `where(` starts a call. A `&` is a reference of another language, which the operand reports.
    p.at_set(EXPR_START) || p.at(T![&]) || (p.at(T![where]) && p.nth_at(1, T!['('])) || is_misused_keyword(p)
}

/// Reports whether the current token is a keyword that the user means as a name. Parsing continues after it.
fn is_misused_keyword(p: &Parser<'_>) -> bool {
    p.current().is_keyword() && AFTER_OPERAND.contains(p.nth(1))
}

/// Parses an expression without restrictions. Returns false if none was parsed; the error has been reported.
pub(super) fn expr(p: &mut Parser<'_>) -> bool {
    range_expr(p, FREE)
}

/// Parses an expression before a block, as [`expr`] does.
pub(super) fn header_expr(p: &mut Parser<'_>) -> bool {
    range_expr(p, HEADER)
}

/// Parses the values of an axis of a `tune` clause or of a variable of a `forall` clause, where a range may include its end.
pub(super) fn closed_expr(p: &mut Parser<'_>) -> bool {
    range_expr(p, CLOSED)
}

/// Parses an expression between `<` and `>`, as [`expr`] does.
pub(super) fn angle_expr(p: &mut Parser<'_>) -> bool {
    range_expr(p, ANGLE)
}

/// Parses an element of a list without labels. Everywhere else `IDENT ':'` after a comma is a label, so a layout whose shape
/// starts with a name needs parentheses in such a list too.
pub(super) fn element(p: &mut Parser<'_>) -> bool {
    let is_label = p.at(IDENT) && p.nth_at(1, T![:]) && p.previous_is(T![,]);
    if is_label {
        let name = p.nth_text(0);
        let message = format!(
            "found `{name}:`, which reads as a label, in a list without labels: write `({name}) : …`"
        );
        p.error_here(codes::BAD_LABEL, message);
    }
    expr(p)
}

/// Parses a number of groups or registers: `2`, `n`, `(n + 1)`. After a name, `(` begins the role's binder, not a call.
pub(super) fn count(p: &mut Parser<'_>) -> bool {
    match p.current() {
        INT_NUMBER | IDENT | T!['('] => p.nested(|p| primary(p, HEADER)).is_some(),
        _ => {
            p.error_missing("a number");
            false
        }
    }
}

/// Parses an `if` or a block at the start of a statement. The statement ends with it: an operator after it begins the next
/// statement.
pub(super) fn block_like(p: &mut Parser<'_>) -> bool {
    p.nested(|p| primary(p, FREE)).is_some()
}

// test range_expr
// x[a..b, a.., ..b, ..]; for i in 0..n { }
fn range_expr(p: &mut Parser<'_>, limits: Limits) -> bool {
    if p.at(T![..]) {
        let m = p.start();
        range_end(p, limits);
        m.complete(p, RANGE_EXPR);
        return true;
    }
    let Some(start) = binary_expr(p, limits, 0) else { return false };
    if p.at(T![..]) {
        let m = start.precede(p);
        range_end(p, limits);
        m.complete(p, RANGE_EXPR);
        if p.at(T![..]) {
            p.error_here(codes::NEEDS_PARENS, "found a second `..` in a range");
        }
    }
    true
}

fn range_end(p: &mut Parser<'_>, limits: Limits) {
    p.bump(T![..]);
    if limits.is_closed && p.at(T![=]) {
        p.bump(T![=]);
    } else if p.at(T![=]) {
        let message = "found `..=`: a range excludes its end, write `a..b + 1`";
        p.error_here(codes::OTHER_LANGUAGE, message);
        let m = p.start();
        p.bump(T![=]);
        m.complete(p, ERROR);
    }
    let starts_end = is_at_expr(p) && !p.at(T![..]) && !(limits.is_header && p.at(T!['{']));
    if starts_end {
        binary_expr(p, limits, 0);
    }
}

/// Returns the binding power of an operator to its left and to its right. A higher power binds tighter. `None` for a token that
/// is no operator between two operands.
fn binding_power(kind: SyntaxKind) -> Option<(u8, u8)> {
    Some(match kind {
        T![||] => (1, 2),
        T![&&] => (3, 4),
        T![==] | T![!=] | T![<] | T![<=] | T![>] | T![>=] => (5, 6),
        COMPOSE => (7, 8),
        T![:] => (9, 10),
        T![|] => (11, 12),
        T![^] => (13, 14),
        T![&] => (15, 16),
        T![<<] | T![>>] => (17, 18),
        T![+] | T![-] => (19, 20),
        T![*] | T![/] | T![%] | T![@] => (21, 22),
        _ => return None,
    })
}

const COMPARISONS: TokenSet = TokenSet::new(&[T![==], T![!=], T![<], T![<=], T![>], T![>=]]);
const ANGLES: TokenSet = TokenSet::new(&[T![<], T![<=], T![>=]]);

// test binary_expr
// a + b * c == d && e || !f;
// -x @ y.T - 1;
// (4, 2) : (2, 1);
// k / BK : 1;
// ~a & b << 2 | c >> d + 1 ^ e == f;
// f<A = g<B = swizzle<1, 0, 3>>>(x);
// swizzle<3, 3, 3> ∘ (8, 8) : (8, 1) ∘ l == r;
fn binary_expr(p: &mut Parser<'_>, limits: Limits, min_power: u8) -> Option<CompletedMarker> {
    let mut lhs = unary_expr(p, limits)?;
    // The binding power of the outermost operator of `lhs`, if that operator may not be chained, as in `a < b < c`.
    let mut last_single = None;
    loop {
        let (operator, raw) = match p.current() {
            IDENT => (foreign_operator(p), 1),
            kind if limits.is_angle => (kind, 1),
            _ => p.operator(),
        };
        let Some((left, right)) = binding_power(operator) else { break };
        if left < min_power || (limits.is_angle && operator == T![>]) {
            break;
        }
        if limits.is_angle && ANGLES.contains(operator) {
            let message = "found a comparison between `<` and `>`: write parentheses around it";
            p.error_here(codes::NEEDS_PARENS, message);
        }
        let is_single = COMPARISONS.contains(operator) || operator == T![:];
        if is_single && last_single == Some(left) {
            let message = match operator {
                T![:] => "found a second `:` in a layout: write parentheses",
                _ => {
                    "found a comparison of a comparison: write parentheses, or join two comparisons with `&&`"
                }
            };
            p.error_here(codes::NEEDS_PARENS, message);
        }
        last_single = is_single.then_some(left);
        let m = lhs.precede(p);
        p.bump_joint(operator, raw);
        if operator == T![+] && p.at(T![+]) && !EXPR_START.contains(p.nth(1)) {
            p.error_here(codes::OTHER_LANGUAGE, "found `++`: it is written `i += 1`");
            single(p, ERROR);
        } else if binary_expr(p, limits, right).is_none() && p.at(operator) {
            // In `a + + b`, report the second operator and wrap it in an error node.
            p.error_and_bump("an operand", TokenSet::EMPTY);
            binary_expr(p, limits, right);
        }
        lhs = m.complete(p, if operator == T![:] { LAYOUT_EXPR } else { BINARY_EXPR });
    }
    Some(lhs)
}

/// Reports a word that other languages or papers use as an operator: `and`, `or`, and `o` between layouts. Returns the operator
/// that it means, or `IDENT` for other words.
fn foreign_operator(p: &mut Parser<'_>) -> SyntaxKind {
    let (word, meant) = match p.nth_text(0) {
        "and" => ("and", T![&&]),
        "or" => ("or", T![||]),
        "o" => ("o", COMPOSE),
        _ => return IDENT,
    };
    if !EXPR_START.contains(p.nth(1)) {
        return IDENT;
    }
    let message = format!("found `{word}`: the operator is `{}`", meant.text().unwrap_or_default());
    p.error_here(codes::OTHER_LANGUAGE, message);
    meant
}

// test unary_expr
// --x; !c; -f(x).T;
fn unary_expr(p: &mut Parser<'_>, limits: Limits) -> Option<CompletedMarker> {
    p.nested(|p| match p.current() {
        T![-] | T![!] | T![~] => {
            let m = p.start();
            p.bump_any();
            unary_expr(p, limits);
            Some(m.complete(p, UNARY_EXPR))
        }
        T![&] => {
            let message = "found `&` before an operand: tensors are passed without a reference";
            p.error_here(codes::OTHER_LANGUAGE, message);
            let m = p.start();
            p.bump_any();
            m.complete(p, ERROR);
            unary_expr(p, limits)
        }
        IDENT if p.nth_is_word(0, "not") && matches!(p.nth(1), IDENT | T![true] | T![false]) => {
            let m = p.start();
            p.error_here(codes::OTHER_LANGUAGE, "found `not`: the negation is `!x`");
            p.bump_as(T![!]);
            unary_expr(p, limits);
            Some(m.complete(p, UNARY_EXPR))
        }
        _ => postfix_expr(p, limits),
    })
}

// test postfix_expr
// f(x)[i].T[.., new, 0]; pipe.acquire(); load("w")["x"];
fn postfix_expr(p: &mut Parser<'_>, limits: Limits) -> Option<CompletedMarker> {
    let mut lhs = primary(p, limits)?;
    // No postfix applies to a closure.
    if lhs.kind() == CLOSURE_EXPR {
        return Some(lhs);
    }
    loop {
        lhs = match p.current() {
            T!['('] => {
                let m = lhs.precede(p);
                arg_list(p);
                m.complete(p, CALL_EXPR)
            }
            T!['['] => {
                let m = lhs.precede(p);
                let inner = p.start();
                list(p, (T!['['], T![']']), "an index", is_at_expr, element);
                inner.complete(p, INDEX_LIST);
                m.complete(p, INDEX_EXPR)
            }
            // Before a block, `x[i] else {` is an `if` without its block, not a guarded read.
            T![else] if lhs.kind() == INDEX_EXPR && !(limits.is_header && p.nth_at(1, T!['{'])) => {
                return Some(guarded_expr(p, lhs, limits));
            }
            T![.] => field_or_method(p, lhs),
            T![as] | T![!] if foreign_postfix(p) => continue,
            _ => return Some(lhs),
        };
    }
}

// test guarded_expr
// t[i, j] else 0.0; -t[i] else -1 + x; t[i] else u[i] else f(x)[0];
/// Parses `else` with the value that the read has outside of the tensor. The `else` binds to the index alone.
fn guarded_expr(p: &mut Parser<'_>, read: CompletedMarker, limits: Limits) -> CompletedMarker {
    let m = read.precede(p);
    p.bump(T![else]);
    unary_expr(p, limits);
    m.complete(p, GUARDED_EXPR)
}

/// Wraps a postfix of Rust, as in `x as f32` and `assert!(c)`, in an error node. Reports whether there was one.
fn foreign_postfix(p: &mut Parser<'_>) -> bool {
    let message = match p.current() {
        T![as] if p.nth_at(1, IDENT) => {
            format!("found `as`: a conversion is written `cast(x, {})`", p.nth_text(1))
        }
        T![!] if p.nth_at(1, T!['(']) => "found `!` in a call: calls are written without it".to_owned(),
        _ => return false,
    };
    p.error_here(codes::OTHER_LANGUAGE, message);
    let m = p.start();
    if p.eat(T![as]) {
        path(p);
    } else {
        p.bump(T![!]);
    }
    m.complete(p, ERROR);
    true
}

fn field_or_method(p: &mut Parser<'_>, receiver: CompletedMarker) -> CompletedMarker {
    let m = receiver.precede(p);
    p.bump(T![.]);
    if p.at(IDENT) {
        name_ref(p);
    } else if p.at(INT_NUMBER) || p.at(FLOAT_NUMBER) {
        p.error_here(
            codes::OTHER_LANGUAGE,
            "found a number after `.`: an element of a tuple is written `t[0]`",
        );
        let error = p.start();
        p.bump_any();
        error.complete(p, ERROR);
    } else {
        p.error_missing("the name of a field or a method");
    }
    if p.at(T!['(']) {
        arg_list(p);
        return m.complete(p, METHOD_CALL_EXPR);
    }
    m.complete(p, FIELD_EXPR)
}

// test arg_list
// f(); f(a, seed: 1, tiler: (_, 2:1),); where(c, x, y);
pub(super) fn arg_list(p: &mut Parser<'_>) {
    let m = p.start();
    list(p, (T!['('], T![')']), "an argument", is_at_expr, |p| {
        let m = p.start();
        if p.at(IDENT) && p.nth_at(1, T![:]) {
            name_ref(p);
            p.bump(T![:]);
        } else if p.at(IDENT) && p.nth_at(1, T![=]) {
            let name = p.nth_text(0);
            let message = format!("found `{name} =`: a named argument is written `{name}: …`");
            p.error_here(codes::OTHER_LANGUAGE, message);
            name_ref(p);
            let error = p.start();
            p.bump(T![=]);
            error.complete(p, ERROR);
        }
        if p.at(T![|]) || p.at(T![||]) {
            closure_expr(p);
        } else {
            expr(p);
        }
        m.complete(p, ARG);
    });
    m.complete(p, ARG_LIST);
}

// test closure_expr
// scan(x, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1)); reduce(x, |a, _| a);
fn closure_expr(p: &mut Parser<'_>) -> bool {
    let rule = |p: &mut Parser<'_>| {
        let m = p.start();
        let params = p.start();
        if p.at(T![||]) {
            p.error_here(codes::UNEXPECTED, "found a closure without parameters");
            p.bump(T![||]);
        } else {
            let starts = |p: &Parser<'_>| matches!(p.current(), IDENT | T![_] | T!['('] | T!['['] | T![mut]);
            list(p, (T![|], T![|]), "a parameter", starts, patterns::pattern);
        }
        params.complete(p, CLOSURE_PARAM_LIST);
        expr(p);
        Some(m.complete(p, CLOSURE_EXPR))
    };
    p.nested(rule).is_some()
}

fn primary(p: &mut Parser<'_>, limits: Limits) -> Option<CompletedMarker> {
    let completed = match p.current() {
        INT_NUMBER | FLOAT_NUMBER | STRING | T![true] | T![false] | T![inf] => single(p, LITERAL),
        T![new] => single(p, NEW_EXPR),
        T![_] => single(p, WILDCARD_EXPR),
        IDENT => path_expr(p, limits),
        T![where] if p.nth_at(1, T!['(']) => path_expr(p, limits),
        T!['('] => paren_or_tuple(p),
        T!['['] => {
            let m = p.start();
            list(p, (T!['['], T![']']), "an element", is_at_expr, element);
            m.complete(p, ARRAY_EXPR)
        }
        T![if] => if_expr(p),
        T!['{'] if !limits.is_header => {
            let m = p.start();
            statements::block(p);
            m.complete(p, BLOCK_EXPR)
        }
        T![|] | T![||] => {
            p.error_here(
                codes::MISPLACED,
                "found a closure outside arguments: it is written where an operator is taken",
            );
            let before = p.position();
            closure_expr(p);
            if p.position() == before {
                p.bump_any();
            }
            return None;
        }
        _ => {
            p.error_missing("an expression");
            if !is_misused_keyword(p) {
                return None;
            }
            single(p, ERROR)
        }
    };
    Some(completed)
}

fn single(p: &mut Parser<'_>, kind: SyntaxKind) -> CompletedMarker {
    let m = p.start();
    p.bump_any();
    m.complete(p, kind)
}

// test path_expr
// std::math::LOG2E; matmul<BM = 128, l = (a < b)>(x); swizzle<3, 3, 3>; a < b && c == d;
fn path_expr(p: &mut Parser<'_>, limits: Limits) -> CompletedMarker {
    let m = p.start();
    let first = p.position();
    path(p);
    let is_swizzle = p.position() == first + 1 && p.consumed_text(first) == "swizzle";
    // `IDENT ':'` after `<` is a named argument too, with `:` instead of `=`.
    let is_named = p.nth_at(1, IDENT) && matches!(p.nth(2), T![=] | T![:]);
    if p.at(T![<]) && (is_swizzle || is_named || (!limits.is_angle && is_at_nameless_args(p, first))) {
        generic_args(p);
    } else if p.at(T![<]) && p.nth_at(1, T![<]) && p.nth_at(2, T![<]) {
        launch_brackets(p);
    }
    m.complete(p, PATH_EXPR)
}

/// Reports whether a path is followed by arguments without names, as in `k<32>(x)`. They parse, because the error that names the
/// missing parameters needs the callee. Several arguments are accepted only where a statement or its value starts; elsewhere `f(a
/// < b, c > (d))` is a list of comparisons.
fn is_at_nameless_args(p: &Parser<'_>, path: usize) -> bool {
    const MOST: usize = 8;
    let before = path.checked_sub(1).map(|before| p.consumed_text(before));
    let alone = matches!(before, None | Some(";" | "{" | "}" | "="));
    for n in 0..MOST {
        let value = 2 * n + 1;
        if !matches!(p.nth(value), INT_NUMBER | FLOAT_NUMBER | IDENT | T![true] | T![false]) {
            return false;
        }
        match p.nth(value + 1) {
            T![>] => return p.nth_at(value + 2, T!['(']),
            T![,] if alone => {}
            _ => return false,
        }
    }
    false
}

/// Wraps `k<<<grid, threads>>>(x)` in an error node.
fn launch_brackets(p: &mut Parser<'_>) {
    p.error_here(
        codes::OTHER_LANGUAGE,
        "found `<<<`: a launch is a call, the kernel's header has its `grid` and `threads`",
    );
    let m = p.start();
    while !p.at_end() && !matches!(p.current(), T![>] | T![;] | T!['{'] | T!['}']) {
        p.bump_any();
    }
    while p.eat(T![>]) {}
    m.complete(p, ERROR);
}

fn generic_args(p: &mut Parser<'_>) {
    let m = p.start();
    list(p, (T![<], T![>]), "a compile-time argument", is_at_expr, |p| {
        let m = p.start();
        if p.at(IDENT) && p.nth_at(1, T![=]) {
            name_ref(p);
            p.bump(T![=]);
        } else if p.at(IDENT) && p.nth_at(1, T![:]) {
            let name = p.nth_text(0);
            let message = format!("found `{name}:`: a compile-time argument is written `{name} = …`");
            p.error_here(codes::BAD_LABEL, message);
            name_ref(p);
            p.bump(T![:]);
        }
        angle_expr(p);
        m.complete(p, GENERIC_ARG);
    });
    m.complete(p, GENERIC_ARG_LIST);
}

// test paren_or_tuple
// (a); (a, b); (8,); (); (warp: 4, lane: 8) : (32, 1); [a, 1, (n) : 1]; (n : 1);
fn paren_or_tuple(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    let mut fields = 0;
    let mut has_label = false;
    let commas = list(p, (T!['('], T![')']), "an expression", is_at_expr, |p| {
        let m = p.start();
        let is_labelled = p.at(IDENT) && p.nth_at(1, T![:]);
        if is_labelled {
            name(p, "a label");
            p.bump(T![:]);
            has_label = true;
        }
        fields += 1;
        expr(p);
        // One expression in parentheses without a label or comma is not a tuple, so it needs no field node.
        if fields > 1 || is_labelled || p.at(T![,]) {
            m.complete(p, TUPLE_FIELD);
        } else {
            m.abandon(p);
        }
    });
    let is_tuple = commas > 0 || fields != 1 || has_label;
    m.complete(p, if is_tuple { TUPLE_EXPR } else { PAREN_EXPR })
}

// test if_expr
// let x = if c { x } else if d { y } else { z };
// if x { }
// if f(x) { 1 } else { 2 }
fn if_expr(p: &mut Parser<'_>) -> CompletedMarker {
    let m = p.start();
    // The current token may be an `elif`, which the caller has reported: it becomes the `if`.
    p.bump_as(T![if]);
    header_expr(p);
    statements::block(p);
    if is_at_else_if(p) {
        p.error_here(codes::OTHER_LANGUAGE, format!("found `{}`: it is written `else if`", p.nth_text(0)));
        let m = p.start();
        p.nested(|p| Some(if_expr(p)));
        m.complete(p, ELSE_BRANCH);
    } else if p.at(T![else]) {
        let m = p.start();
        p.bump(T![else]);
        if p.at(T![if]) {
            p.nested(|p| Some(if_expr(p)));
        } else {
            statements::block(p);
        }
        m.complete(p, ELSE_BRANCH);
    }
    m.complete(p, IF_EXPR)
}

/// Reports whether an `elif c {` follows the block of an `if`.
fn is_at_else_if(p: &Parser<'_>) -> bool {
    p.at(IDENT) && matches!(p.nth_text(0), "elif" | "elsif" | "elseif") && EXPR_START.contains(p.nth(1))
}
