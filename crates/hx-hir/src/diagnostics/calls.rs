//! Calls: what is called, and with which arguments.

use hx_base::{Applicability, Diagnostic, TextRange, codes};

use super::{Reporter, count, nearest};
use crate::{ArgProblem, ExprId, Name, Place, TypeProblem, builtin};

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Args { call, callee, problem, labels } => arguments(at, *call, callee, problem, labels),
        TypeProblem::UnknownGeneric { path, index, callee, name, known } => {
            let range = at.label(*path, *index);
            match name {
                None => nameless(at, range, *index, callee, known),
                Some(name) => {
                    let message = format!("`{callee}` has no compile-time parameter `{name}`");
                    let found = at.diagnostic(&codes::UNKNOWN_ARGUMENT, range, message);
                    suggest(found, range, name, known.iter().map(Name::as_str))
                }
            }
        }
        TypeProblem::NotCallable { callee, found } => {
            let text = at.text(at.expr(*callee));
            let message = format!("found `{text}`, which is {}, wanted a function", found.what());
            at.diagnostic(&codes::NOT_CALLABLE, at.expr(*callee), message)
        }
        TypeProblem::KernelCall { callee, name } => {
            let message = format!("the kernel `{name}` is launched from device code");
            at.diagnostic(&codes::NOT_A_PRIMITIVE, at.expr(*callee), message)
                .help("kernels are launched in `test`, `bench` and `main`; a tile function is a `fn`")
        }
        TypeProblem::FunctionAsValue { expr, name } => {
            let message = format!("found the function `{name}`, wanted a value");
            at.diagnostic(&codes::WRONG_KIND, at.expr(*expr), message).help(format!("`{name}(…)` calls it"))
        }
        TypeProblem::NoValue { expr } => {
            let text = at.text(at.expr(*expr));
            at.diagnostic(&codes::WRONG_KIND, at.expr(*expr), format!("`{text}` is no value"))
        }
        TypeProblem::Recursion { expr, name } => {
            at.diagnostic(&codes::RECURSION, at.expr(*expr), format!("`{name}` needs itself"))
        }
        _ => return None,
    })
}

/// A compile-time argument without a name: the parameter of its place is probably meant.
fn nameless(at: &Reporter<'_>, range: TextRange, index: usize, callee: &Name, known: &[Name]) -> Diagnostic {
    let message = "found a compile-time argument without a name, wanted `NAME = value`";
    let found = at.diagnostic(&codes::UNKNOWN_ARGUMENT, range, message);
    let Some(name) = known.get(index) else {
        let takes = match known.len() {
            0 => "no compile-time parameters".to_owned(),
            n => count(n, "compile-time parameter"),
        };
        return found.help(format!("`{callee}` has {takes}"));
    };
    let names: Vec<String> = known.iter().map(|name| format!("{name} = …")).collect();
    found.help(format!("the names belong to the call: `{callee}<{}>(…)`", names.join(", "))).fix(
        format!("name it `{name}`"),
        TextRange::empty(range.start()),
        format!("{name} = "),
        Applicability::Maybe,
    )
}

fn arguments(
    at: &Reporter<'_>,
    call: ExprId,
    callee: &Name,
    problem: &ArgProblem,
    labels: &[Option<Name>],
) -> Diagnostic {
    let found = match problem {
        ArgProblem::TooMany { arg, found, wanted } => {
            let message = format!("found {}, wanted {wanted}", count(*found, "argument"));
            at.diagnostic(&codes::WRONG_ARGUMENT_COUNT, at.label(call, *arg), message)
                .label(format!("`{callee}` takes {}", count(*wanted, "argument")))
        }
        ArgProblem::Missing { params } => {
            let message = format!("`{callee}` lacks the argument `{}`", params.join("`, `"));
            at.diagnostic(&codes::MISSING_ARGUMENT, at.expr(call), message)
        }
        ArgProblem::UnknownName { arg } => {
            let range = at.label(call, *arg);
            let name = labels.get(*arg).cloned().flatten().unwrap_or_default();
            let found = at.diagnostic(
                &codes::UNKNOWN_ARGUMENT,
                range,
                format!("`{callee}` has no parameter `{name}`"),
            );
            let known = signature(callee).and_then(|b| b.params).unwrap_or_default();
            suggest(found, range, &name, known.iter().map(|p| p.name))
        }
        ArgProblem::Twice { arg, first } => {
            let range = at.label(call, *arg);
            at.diagnostic(&codes::DUPLICATE_ARGUMENT, range, "an argument is given twice").also(
                at.file(),
                at.label(call, *first),
                "given here first",
            )
        }
    };
    match signature(callee) {
        Some(b) => found.note(format!("`{}`", b.signature())),
        None => found,
    }
}

fn signature(callee: &str) -> Option<&'static crate::Builtin> {
    builtin(callee, Place::Device).or_else(|| builtin(callee, Place::Host)).map(|b| b.get())
}

fn suggest<'a>(
    found: Diagnostic,
    range: TextRange,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => found.help(format!("`{near}` is near in spelling")).fix(
            format!("replace it by `{near}`"),
            range,
            near,
            Applicability::Maybe,
        ),
        None if known.is_empty() => found.help("it has none"),
        None => found.help(format!("it has `{}`", known.join("`, `"))),
    }
}
