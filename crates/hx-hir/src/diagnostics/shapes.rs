//! Shapes, ranks and indices.

use hx_base::{Diagnostic, codes};

use super::Reporter;
use crate::{TypeProblem, shape_text};

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Shapes { expr, left, right } => {
            let (a, b) = (shape_text(&left.1), shape_text(&right.1));
            let message = format!("found the shape `{a}`, wanted `{b}`");
            at.diagnostic(&codes::SHAPE_MISMATCH, at.expr(*expr), message)
                .also(at.file(), at.expr(left.0), format!("this has the shape `{a}`"))
                .also(at.file(), at.expr(right.0), format!("this has the shape `{b}`"))
        }
        TypeProblem::GemmShape { mode, at: place, found, other, wanted } => {
            let message = format!("found {mode} = `{found}`, wanted `{wanted}`");
            at.diagnostic(&codes::SHAPE_MISMATCH, at.expr(*place), message)
                .label(format!("{mode} is `{found}` here"))
                .also(at.file(), at.expr(*other), format!("{mode} is `{wanted}` here"))
                .note("`gemm(c, a, b)` wants `c[M, N]`, `a[M, K]` and `b[N, K]`")
        }
        TypeProblem::Rank { expr, found, wanted } => {
            at.diagnostic(&codes::RANK_MISMATCH, at.expr(*expr), format!("found {found}, wanted {wanted}"))
        }
        TypeProblem::TooManyIndices { expr, base, found, shape } => {
            let message = format!("found {found} indices, wanted at most {}", shape.len());
            at.diagnostic(&codes::RANK_MISMATCH, at.expr(*expr), message).also(
                at.file(),
                at.expr(*base),
                format!("this has the shape `{}`", shape_text(shape)),
            )
        }
        TypeProblem::IndexOutside { expr, index, extent } => {
            let message = match index.as_const() {
                Some(i) if i < 0 => format!("found the index `{index}`, wanted one of 0 or more"),
                _ => format!("found the index `{index}`, wanted one below `{extent}`"),
            };
            at.diagnostic(&codes::INDEX_OUT_OF_RANGE, at.expr(*expr), message)
        }
        TypeProblem::NotConstant { expr, value } => {
            let message =
                format!("found `{value}`, which is known only at launch, wanted a compile-time value");
            at.diagnostic(&codes::NOT_CONSTANT, at.expr(*expr), message)
                .help("numbers, constants and compile-time parameters are known at compile time")
        }
        TypeProblem::NonPositive { expr, value } => {
            let message = format!("found the extent `{value}`, wanted a positive one");
            at.diagnostic(&codes::SHAPE_MISMATCH, at.expr(*expr), message)
        }
        TypeProblem::GridRank { expr, found } => {
            at.diagnostic(&codes::BAD_HEADER, at.expr(*expr), format!("found {found} axes, wanted 1 to 3"))
        }
        TypeProblem::Threads { expr, found } if *found > 1024 => {
            let message = format!("found {found} threads, wanted at most 1024");
            at.diagnostic(&codes::TOO_MANY_THREADS, at.expr(*expr), message)
        }
        TypeProblem::Threads { expr, found } => {
            let message = format!("found {found} threads, wanted a multiple of 32");
            at.diagnostic(&codes::BAD_THREAD_COUNT, at.expr(*expr), message)
        }
        TypeProblem::MissingClause { clause } => {
            let what =
                if *clause == "grid" { "how many blocks run it" } else { "how many threads a block has" };
            at.diagnostic(&codes::BAD_HEADER, at.name(), format!("the kernel has no `{clause}`: {what}"))
        }
        _ => return None,
    })
}
