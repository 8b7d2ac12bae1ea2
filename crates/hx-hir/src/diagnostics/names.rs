//! HX01xx: names without a meaning, or without one in this place.

use hx_base::{Applicability, Diagnostic, TextRange, codes};
use hx_dtype::DType;
use hx_syntax::{Foreign, ForeignPlace, foreign, is_known_elsewhere};

use super::{Reporter, nearest};
use crate::{
    Expr, ExprId, Item, Name, NameProblem, Path, Place, RESULT, TypeRefId, builtins, is_binding,
    names_in_scope,
};

pub(super) fn report(at: &Reporter<'_>, problems: &[NameProblem], out: &mut Vec<Diagnostic>) {
    out.extend(problems.iter().map(|p| diagnostic(at, p)));
}

fn diagnostic(at: &Reporter<'_>, problem: &NameProblem) -> Diagnostic {
    match problem {
        NameProblem::Unknown { expr, path, called, scope } => unknown(at, *expr, path, *called, scope),
        NameProblem::UnknownType { ty, path } => unknown_type(at, *ty, path),
        NameProblem::NotAType { ty, path } => {
            let range = range_of_path(at, at.type_ref(*ty), path);
            at.diagnostic(&codes::WRONG_KIND, range, format!("expected a type, found `{path}`"))
        }
        NameProblem::WrongPlace { expr, path, place } => wrong_place(at, *expr, path, *place),
        NameProblem::DuplicateParam { generic, index, name } => duplicate(at, *generic, *index, name),
    }
}

fn unknown(at: &Reporter<'_>, expr: ExprId, path: &Path, called: bool, scope: &[Name]) -> Diagnostic {
    // The range of a path includes its compile-time arguments; the label covers the path alone.
    let range = range_of_path(at, at.expr(expr), path);
    let mut found =
        at.diagnostic(&codes::UNKNOWN_NAME, range, format!("nothing in scope is called `{path}`"));
    if let Some(row) = foreign_value(path) {
        found = match row.place {
            ForeignPlace::Type if called => found.help(converted(at, expr, row)),
            _ => explain_foreign(found, range, row),
        };
    } else if path.segments.len() == 1
        && let Some(name) = suggestion(at, path, called, scope)
    {
        found = replaced(found.help(format!("`{name}` is near in spelling")), range, &name);
    }
    if !matches!(at.item, Item::Cell(_))
        && let Some(name) = path.as_name()
        && is_binding(at.db, at.file(), name)
    {
        found = found
            .note(format!("`{name}` is a value of the session, which items do not see"))
            .help(format!("pass it as an argument, or define a constant: `const {name} = …;`"));
    }
    if at.in_signature && path.as_name().is_some_and(|name| name.as_str() == RESULT) {
        found = found
            .help("only the `where` of a `fn` that declares the type of its result can say what holds of it");
    } else if at.in_signature && at.clause.is_none() && path.segments.len() == 1 {
        found = found.note("a dimension is bound where its name stands alone in a parameter's shape");
    }
    found
}

fn unknown_type(at: &Reporter<'_>, ty: TypeRefId, path: &Path) -> Diagnostic {
    let range = range_of_path(at, at.type_ref(ty), path);
    let found = at.diagnostic(&codes::UNKNOWN_NAME, range, format!("no type is called `{path}`"));
    let types: Vec<&str> = DType::ALL.iter().map(|d| d.name()).chain(["int", "type", "layout"]).collect();
    let foreign = path.as_name().and_then(|name| foreign(name, ForeignPlace::Type));
    match (foreign, nearest(&path.to_string(), types)) {
        (Some(row), _) => explain_foreign(found, range, row),
        (None, Some(name)) => replaced(found.help(format!("`{name}` is near in spelling")), range, name),
        (None, None) => found,
    }
}

/// Reports a name of the host in device code, or the other way round.
fn wrong_place(at: &Reporter<'_>, expr: ExprId, path: &Path, place: Place) -> Diagnostic {
    let range = range_of_path(at, at.expr(expr), path);
    let (home, here) = match place {
        Place::Host => ("`test`, `bench` and `main`", "device code"),
        Place::Device | Place::Both | Place::Member => ("`kernel` and `fn`", "host code"),
    };
    let message = format!("`{path}` has no meaning in {here}");
    let found = at.diagnostic(&codes::NOT_A_PRIMITIVE, range, message).help(format!("it belongs in {home}"));
    match foreign_value(path) {
        Some(row) if row.place == ForeignPlace::Type && call_of(at, expr).is_some() => {
            found.help(converted(at, expr, row))
        }
        Some(row) if place == Place::Host => explain_foreign(found, range, row),
        _ => found,
    }
}

/// Returns the text of the arguments of the call of a name. `None` if the name is not called.
fn call_of<'a>(at: &'a Reporter<'_>, callee: ExprId) -> Option<&'a str> {
    let args = at.contents().0.exprs.values().find_map(|expr| match expr {
        Expr::Call { callee: called, args } if *called == callee => Some(args),
        _ => None,
    })?;
    let [first, last] = [args.first(), args.last()].map(|arg| arg.map(|arg| at.expr(arg.value)));
    Some(first.zip(last).map_or("", |(first, last)| at.text(TextRange::new(first.start(), last.end()))))
}

/// Returns the way to write a call of a type of another language: a conversion, or a number without a literal.
fn converted(at: &Reporter<'_>, callee: ExprId, row: &Foreign) -> String {
    let argument = call_of(at, callee).unwrap_or("x");
    let number = argument.trim_matches(['"', '\'']).trim_start_matches(['+', '-']).to_ascii_lowercase();
    match number.as_str() {
        "inf" | "infinity" => "infinity is written `inf`, and its negative `-inf`".to_owned(),
        "nan" => "it is written `nan`".to_owned(),
        _ => format!("a conversion is written `cast({argument}, {})`", row.instead.unwrap_or("f32")),
    }
}

/// Reports a parameter whose name an earlier parameter has. Compile-time parameters precede the others.
fn duplicate(at: &Reporter<'_>, generic: bool, index: usize, name: &str) -> Diagnostic {
    let places = at.signature.map(|s| (&s.generics, &s.params));
    let of = |generic: bool, index: usize| {
        let (generics, params) = places?;
        if generic { generics.get(index) } else { params.get(index) }.copied()
    };
    let range = at.absolute(of(generic, index));
    let found = at.diagnostic(&codes::DUPLICATE_DEFINITION, range, format!("`{name}` is defined twice"));
    let (generics, params) = places.map_or((0, 0), |(g, p)| (g.len(), p.len()));
    let all = (0..generics).map(|i| (true, i)).chain((0..params).map(|i| (false, i)));
    let mut earlier = all.filter_map(|(g, i)| of(g, i));
    let first = earlier.find(|r| at.text(at.absolute(Some(*r))) == name);
    match first {
        Some(first) => found.also(at.file(), at.absolute(Some(first)), "first defined here"),
        None => found,
    }
}

/// Finds the equivalent of another language's name, where a value or function is expected. `None` if there is none.
fn foreign_value(path: &Path) -> Option<&'static Foreign> {
    let name = path.segments.first()?;
    foreign(name, ForeignPlace::Name).or_else(|| foreign(path.as_name()?, ForeignPlace::Type))
}

/// Adds a help with the equivalent of another language's word, and a fix if the equivalent is a single word.
pub(super) fn explain_foreign(found: Diagnostic, range: hx_base::TextRange, row: &Foreign) -> Diagnostic {
    let found = match (row.hint, row.instead) {
        ("", Some(instead)) => found.help(format!("it is called `{instead}` here")),
        (hint, _) => found.help(hint),
    };
    match row.instead {
        Some(instead) => replaced(found, range, instead),
        None => found,
    }
}

/// Adds a fix that writes another name.
pub(super) fn replaced(found: Diagnostic, range: hx_base::TextRange, by: &str) -> Diagnostic {
    found.fix(format!("replace it by `{by}`"), range, by, Applicability::Maybe)
}

/// Returns the part of a range that is the path itself; the whole range if the text writes the path otherwise.
pub(super) fn range_of_path(at: &Reporter<'_>, range: hx_base::TextRange, path: &Path) -> hx_base::TextRange {
    let (text, path) = (at.text(range), path.to_string());
    match text.find(&path) {
        Some(start) => {
            let start = range.start() + hx_base::TextSize::of(&text[..start]);
            hx_base::TextRange::at(start, hx_base::TextSize::of(path.as_str()))
        }
        None => range,
    }
}

fn suggestion(at: &Reporter<'_>, path: &Path, called: bool, scope: &[Name]) -> Option<String> {
    let name = path.as_name()?;
    let cell = matches!(at.item, Item::Cell(_));
    let host = cell || matches!(at.item, Item::Test(_) | Item::Bench(_) | Item::Main(_));
    let place = if host { Place::Host } else { Place::Device };
    let named = names_in_scope(at.db, at.file(), cell);
    let builtin = builtins().filter(|b| b.is_at(place) && b.params().is_some() == called);
    // A call expects a function, so element types are no candidates for it.
    let types = DType::ALL.iter().filter(|_| !called).map(|d| d.name());
    let candidates =
        scope.iter().chain(&named).map(|n| n.as_str()).chain(builtin.map(|b| b.name())).chain(types);
    let found = nearest(name, candidates)?;
    (!called || is_misspelling(name, found)).then(|| found.to_owned())
}

/// Reports whether a name is probably a misspelling of a function's name rather than the name of another function. It is none
/// if other languages use the name, if the numbers in it differ (`exp10` and `exp2`), or if a short part differs (`row_min` and
/// `row_max`).
fn is_misspelling(name: &str, function: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if is_known_elsewhere(name) || digits(name) != digits(function) {
        return false;
    }
    let (own, other): (Vec<&str>, Vec<&str>) = (name.split('_').collect(), function.split('_').collect());
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.to_ascii_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    // A part of at most three letters may differ only in the order of its letters.
    let is_near = |(own, other): (&&str, &&str)| {
        own.eq_ignore_ascii_case(other) || own.len().min(other.len()) > 3 || letters(own) == letters(other)
    };
    own.len() != other.len() || own.len() == 1 || own.iter().zip(&other).all(is_near)
}

#[cfg(test)]
mod tests {
    use hx_dtype::DType;
    use hx_syntax::{ForeignPlace, foreign_words};

    use super::is_misspelling;
    use crate::{Place, builtin, builtins};

    #[test]
    fn another_function_is_no_misspelling() {
        for (name, function) in
            [("asinh", "sinh"), ("row_min", "row_max"), ("tgamma", "lgamma"), ("hypot", "sqrt")]
        {
            assert!(!is_misspelling(name, function), "{name} → {function}");
        }
        for (name, function) in [
            ("regster_tensor", "register_tensor"),
            ("sharedtensor", "shared_tensor"),
            ("syn", "sync"),
            ("gemm_asnyc", "gemm_async"),
            ("lod", "load"),
            ("comit", "commit"),
        ] {
            assert!(is_misspelling(name, function), "{name} → {function}");
        }
    }

    /// No function of another library is taken for a misspelt one of ours.
    #[test]
    fn no_foreign_function_is_a_misspelling() {
        for row in foreign_words().iter().filter(|row| row.place == ForeignPlace::Name) {
            for function in builtins().filter(|builtin| builtin.params().is_some()) {
                assert!(!is_misspelling(row.word, function.name()), "{} → {}", row.word, function.name());
            }
        }
    }

    #[test]
    fn what_stands_for_a_foreign_word_is_there() {
        let known = |word: &str, place| match place {
            ForeignPlace::Name => ["true", "false"].contains(&word) || builtin(word, Place::Device).is_some(),
            ForeignPlace::Type => DType::parse(word).is_some(),
            ForeignPlace::Member => builtin(word, Place::Member).is_some(),
            _ => true,
        };
        for row in foreign_words() {
            assert!(row.instead.is_none_or(|word| known(word, row.place)), "{}", row.word);
            // A foreign word must not be a name that device code already has. It may be a name that only the host has.
            let own = row.place == ForeignPlace::Name && builtin(row.word, Place::Device).is_some();
            assert!(!own, "{}", row.word);
        }
    }
}
