//! `:help`, `:type` and `?name`.

use std::fmt::Write as _;

use hx_base::{Code, TextRange};
use hx_dtype::DType;
use hx_hir::{Builtin, Item, PathTarget, Place, builtins, item_range, names_in_scope, signature_source_map};

use super::COMMANDS;
use crate::screen::Screen;
use crate::session::{Outcome, Session};
use crate::show;

pub(super) fn help(_: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    let name = name.trim_start_matches(':');
    if !name.is_empty() {
        return match super::find(name) {
            Ok(command) => {
                let text =
                    format!(":{} {}\n{}\n{}", command.name, command.arguments, command.what, command.more);
                screen.result(text.trim_end());
                Outcome::Good
            }
            Err(text) => {
                screen.usage(&text);
                Outcome::Failed
            }
        };
    }
    let mut text = String::from(
        "An entry is a statement, an expression or an item. `;` is optional, `_` is the last value.\n\
         An open bracket or an unfinished line goes on in the next one.\n\n",
    );
    for command in COMMANDS {
        let head = format!(":{} {}", command.name, command.arguments);
        let _ = writeln!(text, "{head:<24}{}", command.what);
    }
    let _ = writeln!(text, "{:<24}what a name is, with its documentation", "?NAME");
    let _ = writeln!(text, "\nCtrl-C stops an evaluation or clears the line, Ctrl-D leaves, Tab completes.");
    screen.result(&text);
    Outcome::Good
}

pub(super) fn type_of(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    if text.is_empty() {
        screen.usage("`:type` tells the type of an expression: write one behind it");
        return Outcome::Failed;
    }
    let is_value = session.environment.values.keys().any(|name| name == text);
    if !is_value && let Some(PathTarget::Item(item)) = session.lookup(text) {
        let header = header(session, item);
        screen.result(&header);
        return Outcome::Good;
    }
    match session.value_of(text, screen) {
        Ok(value) => {
            screen.result(&show::kind(&value));
            Outcome::Good
        }
        Err(outcome) => outcome,
    }
}

/// What a name is: a value, an item, a built-in name, a type, a command or a code.
pub(super) fn explain(session: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    if name.is_empty() {
        return help(session, "", screen);
    }
    if let Some(command) = name.strip_prefix(':') {
        return help(session, command, screen);
    }
    match described(session, name) {
        Some(text) => {
            screen.result(&text);
            Outcome::Good
        }
        None => {
            let mut known: Vec<String> = names_in_scope(&session.db, session.scratch(), true)
                .iter()
                .map(ToString::to_string)
                .collect();
            known.extend(builtins().map(|b| b.name().to_owned()));
            let hint = match hx_base::nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("; perhaps `{near}` is meant"),
                None => String::new(),
            };
            screen.usage(&format!("nothing in scope is called `{name}`{hint}"));
            Outcome::Failed
        }
    }
}

fn described(session: &Session, name: &str) -> Option<String> {
    if let Some(value) = session.environment.values.get(name) {
        return Some(format!("{name}: {}", show::kind(value)));
    }
    match session.lookup(name) {
        Some(PathTarget::Item(item)) => return Some(documented(session, item)),
        Some(PathTarget::Module(file)) => return Some(format!("the file {}", file.path(&session.db))),
        None => {}
    }
    let rows: Vec<&Builtin> = builtins().map(|b| b.get()).filter(|b| b.name == name).collect();
    if !rows.is_empty() {
        return Some(rows.iter().map(|row| builtin_text(row)).collect::<Vec<_>>().join("\n"));
    }
    if let Some(dtype) = DType::parse(name) {
        let bits = dtype.bits();
        return Some(format!("{dtype}: an element type of {bits} bit{}", if bits == 1 { "" } else { "s" }));
    }
    hx_base::code(name).map(Code::page)
}

fn builtin_text(row: &Builtin) -> String {
    let place = match row.place {
        Place::Host => "in `test`, `bench`, `main` and here",
        Place::Device => "in `kernel` and `fn`",
        Place::Both => "everywhere",
    };
    format!("{}  ({place})\n    {}", row.signature(), row.doc)
}

/// The documentation of an item and its header.
fn documented(session: &Session, item: Item<'_>) -> String {
    let db = &session.db;
    let range = item_range(db, item);
    let text = text(session, item, range);
    let docs: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| line.is_empty() || line.starts_with("//") || line.starts_with("#["))
        .filter_map(|line| line.strip_prefix("///"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let header = header(session, item);
    let place = item.file(db).path(db);
    if docs.is_empty() {
        format!("{header}\n    in {place}")
    } else {
        format!("{header}\n    in {place}\n\n{}", docs.join("\n"))
    }
}

/// An item up to its body.
fn header(session: &Session, item: Item<'_>) -> String {
    let db = &session.db;
    let header = signature_source_map(db, item).map(|map| map.header + item.offset(db));
    let range = header.unwrap_or_else(|| item_range(db, item));
    let text = text(session, item, range);
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    code.join("\n").trim().to_owned()
}

fn text<'a>(session: &'a Session, item: Item<'a>, range: TextRange) -> &'a str {
    item.file(&session.db).text(&session.db).get(std::ops::Range::<usize>::from(range)).unwrap_or_default()
}
