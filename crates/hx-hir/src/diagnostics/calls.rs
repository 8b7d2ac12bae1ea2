//! Diagnostics of calls: the callee and the arguments.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};

use super::{Reporter, count, nearest};
use crate::{
    ArgProblem, Expr, ExprId, Item, MAX_PARTS, Name, Place, Resolution, Ty, TypeProblem, builtin,
    fn_signature, kernel_signature,
};

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Args { call, callee, problem, labels } => arguments(at, *call, callee, problem, labels),
        TypeProblem::UnknownGeneric { path, index, callee, name, known } => {
            let range = at.label(*path, *index);
            match name {
                None => nameless(at, (*path, range), *index, callee, known),
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
            let message = format!("expected a function, found `{text}`, which is {}", found.what());
            let diagnostic = at.diagnostic(&codes::NOT_CALLABLE, at.expr(*callee), message);
            match found {
                Ty::DType(dtype) => conversion(at, *callee, diagnostic, &dtype.to_string()),
                _ => hiding(at, *callee, diagnostic),
            }
        }
        TypeProblem::KernelCall { callee, name } => {
            let message = format!("the kernel `{name}` is launched from device code");
            hiding(at, *callee, at.diagnostic(&codes::NOT_A_PRIMITIVE, at.expr(*callee), message))
                .help("kernels are launched in `test`, `bench` and `main`; a tile function is a `fn`")
        }
        TypeProblem::FunctionAsValue { expr, name } => {
            let message = format!("expected a value, found the function `{name}`");
            at.diagnostic(&codes::WRONG_KIND, at.expr(*expr), message).help(format!("`{name}(…)` calls it"))
        }
        TypeProblem::MisplacedInfer { expr } => {
            let message = "`infer` is no default of the layout of a kernel's tensor";
            let wanted = "expected as in `kernel f<W: layout = infer>(w: u4[n, k] : W, …)`: a tensor that the kernel reads has the layout";
            at.diagnostic(&codes::BAD_HEADER, at.expr(*expr), message).note(wanted)
        }
        TypeProblem::NoValue { expr } => {
            let text = at.text(at.expr(*expr));
            at.diagnostic(&codes::WRONG_KIND, at.expr(*expr), format!("`{text}` is not a value"))
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

/// Adds the fix for a call of an element type, such as `f16(x)`: `cast(x, f16)`.
fn conversion(at: &Reporter<'_>, callee: ExprId, found: Diagnostic, dtype: &str) -> Diagnostic {
    let store = at.contents().0;
    let call = store.exprs.iter().find_map(|(id, expr)| match expr {
        Expr::Call { callee: called, args } if *called == callee && args.len() == 1 => {
            Some((id, args[0].value))
        }
        _ => None,
    });
    let title = |of: &str| format!("convert it with `cast({of}, {dtype})`");
    match call {
        Some((call, value)) => {
            let text = format!("cast({}, {dtype})", at.text(at.expr(value)));
            found.fix(title("…"), at.expr(call), text, Applicability::Maybe)
        }
        None => found.help(title("t")),
    }
}

/// Reports a compile-time argument without a name, and suggests the parameter at its position.
fn nameless(
    at: &Reporter<'_>,
    (path, range): (ExprId, TextRange),
    index: usize,
    callee: &Name,
    known: &[Name],
) -> Diagnostic {
    let message = "expected `NAME = value`, found a compile-time argument without a name";
    let found = at.diagnostic(&codes::UNKNOWN_ARGUMENT, range, message);
    if known.get(index).is_none() {
        let takes = match known.len() {
            0 => "no compile-time parameters".to_owned(),
            n => count(n, "compile-time parameter"),
        };
        return found.help(format!("`{callee}` has {takes}"));
    }
    let names: Vec<String> = known.iter().map(|name| format!("{name} = …")).collect();
    let found = found.help(format!("the names belong to the call: `{callee}<{}>(…)`", names.join(", ")));
    // Once one compile-time argument has a name, all need one, so a single fix names all of them.
    let Expr::Path { generics, .. } = &at.contents().0[path] else { return found };
    let nameless = generics.iter().zip(known).filter(|(generic, _)| generic.name.is_none());
    let insert = |(generic, name): (&crate::GenericArg, &Name)| Edit {
        file: at.file(),
        range: TextRange::empty(at.expr(generic.value).start()),
        text: format!("{name} = "),
    };
    let edits: Vec<Edit> = nameless.map(insert).collect();
    let title = if edits.len() == 1 { format!("name it `{}`", known[index]) } else { "name them".to_owned() };
    found.with_fix(Fix { title, edits, applicability: Applicability::Maybe })
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
            let message = format!("expected {wanted}, found {}", count(*found, "argument"));
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
            let message = format!("`{callee}` has no parameter `{name}`");
            let mut found = at.diagnostic(&codes::UNKNOWN_ARGUMENT, range, message);
            match compile_time(at, call, *arg, &name) {
                Some(fix) => {
                    found.message =
                        format!("`{name}` is a compile-time parameter of `{callee}`, expected an argument");
                    found.with_fix(fix)
                }
                None => {
                    let known = parameters(at, call);
                    suggest(found, range, &name, known.iter().map(Name::as_str))
                }
            }
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

/// Returns the fix for a compile-time parameter that is given among the arguments of a call: `k(x, B: 256)` becomes
/// `k<B = 256>(x)`. `None` if the callee has no compile-time parameter of this name.
fn compile_time(at: &Reporter<'_>, call: ExprId, arg: usize, name: &str) -> Option<Fix> {
    let (store, names) = at.contents();
    let Expr::Call { callee, args } = &store[call] else { return None };
    let generics =
        match names.exprs.get(*callee).and_then(Resolution::item).and_then(|key| key.find(at.db))? {
            Item::Kernel(kernel) => &kernel_signature(at.db, kernel).generics,
            Item::Function(function) => &fn_signature(at.db, function).generics,
            _ => return None,
        };
    if !generics.iter().any(|generic| generic.name == *name) {
        return None;
    }
    let start = |arg: usize| match &args[arg].name {
        Some(_) => at.label(call, arg).start(),
        None => at.expr(args[arg].value).start(),
    };
    let end = |arg: usize| at.expr(args[arg].value).end();
    let removed = match arg.checked_sub(1) {
        Some(before) => TextRange::new(end(before), end(arg)),
        None if args.len() > 1 => TextRange::new(start(0), start(1)),
        None => TextRange::new(start(0), end(0)),
    };
    let value = at.text(at.expr(args[arg].value));
    let Expr::Path { generics: given, .. } = &store[*callee] else { return None };
    let (place, text) = match given.last() {
        Some(last) => (at.expr(last.value).end(), format!(", {name} = {value}")),
        None => (at.expr(*callee).end(), format!("<{name} = {value}>")),
    };
    let edit = |range: TextRange, text: String| Edit { file: at.file(), range, text };
    Some(Fix {
        title: format!("give it before the arguments: `<{name} = {value}>`"),
        edits: vec![edit(TextRange::empty(place), text), edit(removed, String::new())],
        applicability: Applicability::Maybe,
    })
}

/// Returns the built-in function that a call means. A definition of the same name hides the built-in, except in a method call.
/// `None` if the call means no built-in.
pub(super) fn built_in(at: &Reporter<'_>, call: ExprId) -> Option<crate::Builtin> {
    let (store, names) = at.contents();
    match &store[call] {
        // In device code, the names behind a dot are methods such as `p.acquire()`, which host code does not have.
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

/// Returns the names of the run-time parameters of the function that a call means; empty if it means none.
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
