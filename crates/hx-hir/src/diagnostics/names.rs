//! HX01xx: names that mean nothing, or nothing here.

use hx_base::{Applicability, Diagnostic, codes};
use hx_dtype::DType;

use super::{Reporter, nearest};
use crate::{NameProblem, Path, Place, builtins, is_binding, names_in_scope};

pub(super) fn report(at: &Reporter<'_>, problems: &[NameProblem], out: &mut Vec<Diagnostic>) {
    out.extend(problems.iter().map(|p| diagnostic(at, p)));
}

fn diagnostic(at: &Reporter<'_>, problem: &NameProblem) -> Diagnostic {
    match problem {
        NameProblem::Unknown { expr, path, called, scope } => {
            let range = at.expr(*expr);
            // A path with compile-time arguments is longer than its name.
            let range = range_of_path(at, range, path);
            let mut found =
                at.diagnostic(&codes::UNKNOWN_NAME, range, format!("nothing in scope is called `{path}`"));
            if path.segments.len() == 1
                && let Some(name) = suggestion(at, path, *called, scope)
            {
                let title = format!("replace it by `{name}`");
                found = found.help(format!("`{name}` is near in spelling")).fix(
                    title,
                    range,
                    name,
                    Applicability::Maybe,
                );
            }
            if !matches!(at.item, crate::Item::Cell(_))
                && let Some(name) = path.as_name()
                && is_binding(at.db, at.file(), name)
            {
                found = found
                    .note(format!("`{name}` is a value of the session, which items do not see"))
                    .help(format!("pass it as an argument, or define a constant: `const {name} = …;`"));
            }
            if at.in_signature && path.segments.len() == 1 {
                found = found.note("a dimension is bound where its name stands alone in a parameter's shape");
            }
            found
        }
        NameProblem::UnknownType { ty, path } => {
            let range = range_of_path(at, at.type_ref(*ty), path);
            let found = at.diagnostic(&codes::UNKNOWN_NAME, range, format!("no type is called `{path}`"));
            let types: Vec<&str> =
                DType::ALL.iter().map(|d| d.name()).chain(["int", "type", "layout"]).collect();
            match nearest(&path.to_string(), types) {
                Some(name) => found.help(format!("`{name}` is near in spelling")).fix(
                    format!("replace it by `{name}`"),
                    range,
                    name,
                    Applicability::Maybe,
                ),
                None => found,
            }
        }
        NameProblem::NotAType { ty, path } => {
            let range = range_of_path(at, at.type_ref(*ty), path);
            at.diagnostic(&codes::WRONG_KIND, range, format!("found `{path}`, wanted a type"))
        }
        NameProblem::WrongPlace { expr, path, place } => {
            let range = range_of_path(at, at.expr(*expr), path);
            let (home, here) = match place {
                Place::Host => ("`test`, `bench` and `main`", "device code"),
                Place::Device | Place::Both => ("`kernel` and `fn`", "host code"),
            };
            let message = format!("`{path}` has no meaning in {here}");
            at.diagnostic(&codes::NOT_A_PRIMITIVE, range, message).help(format!("it belongs in {home}"))
        }
        NameProblem::DuplicateParam { generic, index, name } => {
            let places = at.signature.map(|s| (&s.generics, &s.params));
            let of = |generic: bool, index: usize| {
                let (generics, params) = places?;
                if generic { generics.get(index) } else { params.get(index) }.copied()
            };
            let range = at.absolute(of(*generic, *index));
            let found =
                at.diagnostic(&codes::DUPLICATE_DEFINITION, range, format!("`{name}` is defined twice"));
            let (generics, params) = places.map_or((0, 0), |(g, p)| (g.len(), p.len()));
            let all = (0..generics).map(|i| (true, i)).chain((0..params).map(|i| (false, i)));
            let mut earlier = all.filter_map(|(g, i)| of(g, i));
            let first = earlier.find(|r| at.text(at.absolute(Some(*r))) == name);
            match first {
                Some(first) => found.also(at.file(), at.absolute(Some(first)), "first defined here"),
                None => found,
            }
        }
    }
}

/// The part of a range that is the path itself.
fn range_of_path(at: &Reporter<'_>, range: hx_base::TextRange, path: &Path) -> hx_base::TextRange {
    let (text, path) = (at.text(range), path.to_string());
    match text.find(&path) {
        Some(start) => {
            let start = range.start() + hx_base::TextSize::of(&text[..start]);
            hx_base::TextRange::at(start, hx_base::TextSize::of(path.as_str()))
        }
        None => range,
    }
}

fn suggestion(at: &Reporter<'_>, path: &Path, called: bool, scope: &[crate::Name]) -> Option<String> {
    let name = path.as_name()?;
    use crate::Item;
    let cell = matches!(at.item, Item::Cell(_));
    let host = cell || matches!(at.item, Item::Test(_) | Item::Bench(_) | Item::Main(_));
    let place = if host { Place::Host } else { Place::Device };
    let named = names_in_scope(at.db, at.file(), cell);
    let builtin = builtins().map(|b| b.get()).filter(|b| b.place == place || b.place == Place::Both);
    let builtin = builtin.filter(|b| b.params.is_some() == called);
    let candidates = scope
        .iter()
        .chain(&named)
        .map(|n| n.as_str())
        .chain(builtin.map(|b| b.name))
        .chain(DType::ALL.iter().map(|d| d.name()));
    nearest(name, candidates).map(str::to_owned)
}
