//! Diagnostics of shapes, ranks and indices.

use hx_base::{Applicability, Diagnostic, TextRange, codes};
use hx_index::Expr as Value;

use super::Reporter;
use super::calls::built_in;
use super::indices::index_count;
use crate::{Builtin, Expr, ExprId, Extent, KernelFn, MAX_THREADS, TypeProblem, WARP, body_of, shape_text};

/// The shapes that a matrix product accepts.
pub const GEMM_SHAPES: &str =
    "`gemm(c, a, b)` wants `c[M, N]`, `a[M, K]` and `b[N, K]`, or all three with the same mode after them";

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Shapes { expr, broadcasts, left, right } => shapes(at, *expr, *broadcasts, left, right),
        TypeProblem::GemmShape { mode, at: place, found, other, wanted } => {
            let message = format!("expected `{wanted}`, found {mode} = `{found}`");
            at.diagnostic(&codes::SHAPE_MISMATCH, at.expr(*place), message)
                .label(format!("{mode} is `{found}` here"))
                .also(at.file(), at.expr(*other), format!("{mode} is `{wanted}` here"))
                .note(GEMM_SHAPES)
        }
        TypeProblem::Rank { expr, found, wanted } => {
            at.diagnostic(&codes::RANK_MISMATCH, at.expr(*expr), format!("expected {wanted}, found {found}"))
        }
        TypeProblem::TooManyIndices { expr, base, found, shape } => {
            let message = format!("found {}, expected at most {}", index_count(*found), shape.len());
            let found = at.diagnostic(&codes::RANK_MISMATCH, at.expr(*expr), message).also(
                at.file(),
                at.expr(*base),
                format!("this has the shape `{}`", shape_text(shape)),
            );
            at.made(found, *base)
        }
        TypeProblem::IndexOutside { expr, index, extent } => {
            let message = match index.as_const() {
                Some(i) if i < 0 => format!("found the index `{index}`, expected one of 0 or more"),
                _ => format!("found the index `{index}`, expected one below `{extent}`"),
            };
            at.diagnostic(&codes::INDEX_OUT_OF_RANGE, at.expr(*expr), message)
        }
        TypeProblem::NotConstant { expr, value } => not_constant(at, *expr, value),
        TypeProblem::NonPositive { expr, value } => {
            let message = format!("found the extent `{value}`, expected a positive one");
            at.diagnostic(&codes::SHAPE_MISMATCH, at.expr(*expr), message)
        }
        TypeProblem::GridRank { expr, found } => {
            at.diagnostic(&codes::BAD_HEADER, at.expr(*expr), format!("found {found} axes, expected 1 to 3"))
        }
        TypeProblem::Threads { expr, found } => threads(at, *expr, *found),
        TypeProblem::ThreadsAndRoles { threads } => {
            let message = "found `threads` in the header of a kernel with `warp_groups`";
            at.diagnostic(&codes::BAD_HEADER, at.expr(*threads), message)
                .help("leave it out: a block has 128 threads for each group of its roles")
        }
        TypeProblem::MissingClause { clause } => {
            let what =
                if *clause == "grid" { "how many blocks run it" } else { "how many threads a block has" };
            at.diagnostic(&codes::BAD_HEADER, at.name(), format!("the kernel has no `{clause}`: {what}"))
        }
        _ => return None,
    })
}

/// An expression and its shape.
type Shaped = (ExprId, Vec<Extent>);

fn shapes(at: &Reporter<'_>, expr: ExprId, broadcasts: bool, left: &Shaped, right: &Shaped) -> Diagnostic {
    let (a, b) = (shape_text(&left.1), shape_text(&right.1));
    let message = format!("expected `{b}`, found the shape `{a}`");
    let found = at
        .diagnostic(&codes::SHAPE_MISMATCH, at.expr(expr), message)
        .also(at.file(), at.expr(left.0), format!("this has the shape `{a}`"))
        .also(at.file(), at.expr(right.0), format!("this has the shape `{b}`"));
    let more = if left.1.len() > right.1.len() { left } else { right };
    match at.indexed(more.0) {
        Some(indexed) if left.1.len() != right.1.len() && !broadcasts => at.explain_indexed(found, &indexed),
        _ if broadcasts => new_modes(at, found, left, right),
        _ => found,
    }
}

fn not_constant(at: &Reporter<'_>, expr: ExprId, value: &Value) -> Diagnostic {
    let message = format!("expected a compile-time value, found `{value}`, which is known only at launch");
    let found = at.diagnostic(&codes::NOT_CONSTANT, at.expr(expr), message);
    if is_gather(at, expr) {
        return found.help(
            "`tile(gather(…), [M, N])[.., .., i, j]` is a tile of known extents of what `gather` picks from the whole tensor",
        );
    }
    match at.indexed(expr) {
        Some(indexed) => at.explain_indexed(found, &indexed),
        None => found.help("numbers, constants and compile-time parameters are known at compile time"),
    }
}

/// Reports whether an expression of a body is a call of `gather`.
fn is_gather(at: &Reporter<'_>, expr: ExprId) -> bool {
    !at.in_signature && built_in(at, expr) == Some(Builtin::Kernel(KernelFn::Gather))
}

/// Reports a number of threads that no block can have, and offers the nearest that it can.
fn threads(at: &Reporter<'_>, expr: ExprId, found: i64) -> Diagnostic {
    if found > MAX_THREADS {
        let message = format!("found {found} threads, expected at most {MAX_THREADS}");
        let diagnostic = at.diagnostic(&codes::TOO_MANY_THREADS, at.expr(expr), message);
        return other_threads(at, diagnostic, &[MAX_THREADS]);
    }
    let message = format!("found {found} threads, expected a multiple of {WARP}");
    let diagnostic = at.diagnostic(&codes::BAD_THREAD_COUNT, at.expr(expr), message);
    let below = found.div_euclid(WARP) * WARP;
    other_threads(at, diagnostic, &[below, below + WARP])
}

/// Suggests the modes of extent 1 with which the shorter shape broadcasts to the longer one. Each fitting placement is a fix.
fn new_modes(at: &Reporter<'_>, found: Diagnostic, left: &Shaped, right: &Shaped) -> Diagnostic {
    let (few, many) = if left.1.len() < right.1.len() { (left, right) } else { (right, left) };
    if few.1.is_empty() || few.1.len() == many.1.len() {
        return found;
    }
    let ways = placements(&few.1, &many.1);
    let mut found = found;
    if !ways.is_empty() {
        found = found.help("shapes are broadcast along modes of extent 1, and `new` in an index makes one");
    }
    // After any other expression, the index would apply to only a part of it.
    let simple = !at.in_signature
        && matches!(body_of(at.db, at.item).store[few.0], Expr::Path { .. } | Expr::Call { .. });
    for way in ways.into_iter().filter(|_| simple) {
        let range = at.expr(few.0);
        let index = format!("[{}]", way.join(", "));
        found = found.fix(
            format!("broadcast it as `{}{index}`", at.text(range)),
            TextRange::empty(range.end()),
            index,
            Applicability::Maybe,
        );
    }
    found
}

/// Returns the indices that align the modes of `few` with modes of the same extents in `many`, with `new` for the other modes.
/// Placements at the last modes come first, as in NumPy.
fn placements(few: &[Extent], many: &[Extent]) -> Vec<Vec<&'static str>> {
    let Some((last, rest)) = many.split_last() else {
        return if few.is_empty() { vec![Vec::new()] } else { Vec::new() };
    };
    let with = |ways: Vec<Vec<&'static str>>, index| {
        ways.into_iter()
            .map(move |way| way.into_iter().chain([index]).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let mut ways = Vec::new();
    if let Some((own, before)) = few.split_last()
        && own.is_some()
        && own == last
    {
        ways.extend(with(placements(before, rest), ".."));
    }
    if few.len() < many.len() {
        ways.extend(with(placements(few, rest), "new"));
    }
    ways
}

/// Offers these numbers of threads as fixes, if the place holds a literal number.
fn other_threads(at: &Reporter<'_>, found: Diagnostic, numbers: &[i64]) -> Diagnostic {
    let range = found.primary.range;
    if at.text(range).parse::<i64>().is_err() {
        return found;
    }
    let offered = numbers.iter().filter(|n| **n > 0);
    offered.fold(found, |found, n| {
        found.fix(format!("replace it by `{n}`"), range, n.to_string(), Applicability::Maybe)
    })
}
