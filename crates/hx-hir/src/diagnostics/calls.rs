//! Diagnostics of calls: the callee and the arguments.

use hx_base::{Applicability, Diagnostic, TextRange, codes};

use super::{Reporter, count, nearest};
use crate::{
    ArgProblem, Expr, ExprId, Item, MAX_PARTS, Name, Place, Resolution, TypeProblem, builtin, fn_signature,
    kernel_signature,
};

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
        TypeProblem::GenericTwice { path, index, first, name } => {
            let message = format!("the compile-time argument `{name}` is given twice");
            let found = at.diagnostic(&codes::DUPLICATE_ARGUMENT, at.label(*path, *index), message);
            found.also(at.file(), at.label(*path, *first), "given here first")
        }
        TypeProblem::NotCallable { callee, found } => {
            let text = at.text(at.expr(*callee));
            let message = format!("found `{text}`, which is {}, wanted a function", found.what());
            hiding(at, *callee, at.diagnostic(&codes::NOT_CALLABLE, at.expr(*callee), message))
        }
        TypeProblem::KernelCall { callee, name } => {
            let message = format!("the kernel `{name}` is launched from device code");
            hiding(at, *callee, at.diagnostic(&codes::NOT_A_PRIMITIVE, at.expr(*callee), message))
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
        TypeProblem::TooManyParts { expr } => {
            let message =
                format!("found a value of more than {MAX_PARTS} parts, which is the limit at compile time");
            at.diagnostic(&codes::COMPILE_TIME_LIMIT, at.expr(*expr), message)
        }
        _ => return None,
    })
}

/// Reports a compile-time argument without a name, and suggests the parameter at its position.
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
            let known = parameters(at, call);
            suggest(found, range, &name, known.iter().map(Name::as_str))
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
    match built_in(at, call) {
        Some(b) => found.note(format!("`{}`", b.signature())),
        None => match at.contents().0[call] {
            Expr::Call { callee, .. } => hiding(at, callee, found),
            _ => found,
        },
    }
}

/// Returns the built-in function that a call means. A definition of the same name hides the built-in, except in a method call.
pub(super) fn built_in(at: &Reporter<'_>, call: ExprId) -> Option<crate::Builtin> {
    let (store, names) = at.contents();
    match &store[call] {
        // Only a dot in device code leads to the names that host code does not have.
        Expr::MethodCall { name, .. } => match Place::of(at.item) {
            Place::Device => builtin(name, Place::Member),
            place => builtin(name, place),
        },
        Expr::Call { callee, .. } => match names.exprs.get(*callee) {
            Some(Resolution::Builtin(b)) => Some(*b),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the names of the parameters of the function that a call means.
fn parameters(at: &Reporter<'_>, call: ExprId) -> Vec<Name> {
    if let Some(b) = built_in(at, call) {
        return b.params().unwrap_or_default().iter().map(|p| Name::new(p.name)).collect();
    }
    let (store, names) = at.contents();
    let Expr::Call { callee, .. } = &store[call] else { return Vec::new() };
    let params = match names.exprs.get(*callee).and_then(Resolution::item).and_then(|key| key.find(at.db)) {
        Some(Item::Kernel(kernel)) => &kernel_signature(at.db, kernel).params,
        Some(Item::Function(function)) => &fn_signature(at.db, function).params,
        _ => return Vec::new(),
    };
    params.iter().map(|param| param.name.clone()).collect()
}

/// Adds a note that the name means a definition, which hides the built-in function of that name.
fn hiding(at: &Reporter<'_>, callee: ExprId, found: Diagnostic) -> Diagnostic {
    let (store, names) = at.contents();
    let Expr::Path { path, .. } = &store[callee] else { return found };
    let what = match names.exprs.get(callee) {
        Some(Resolution::Item(key)) => key.kind.word(),
        Some(Resolution::Local(_) | Resolution::Binding(_)) => "local",
        Some(Resolution::Param(_) | Resolution::Generic(_)) => "parameter",
        Some(Resolution::Dim(_)) => "dimension",
        _ => return found,
    };
    if builtin(&path.to_string(), Place::of(at.item)).is_none() {
        return found;
    }
    found.note(format!("the {what} `{path}` hides the built-in `{path}`: give it another name to use both"))
}

pub(super) fn suggest<'a>(
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
