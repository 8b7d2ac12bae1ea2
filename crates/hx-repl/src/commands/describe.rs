//! `:help`, `:type` and `?name`.

use std::fmt::Write as _;

use hx_base::TextRange;
use hx_hir::{Item, PathTarget, builtins, item_range, names_in_scope, signature_source_map};

use super::COMMANDS;
use crate::plain::fitted_text;
use crate::screen::Screen;
use crate::session::{Outcome, Session};
use crate::show;
use crate::style::Style;

/// Columns of the names of commands in `:help`.
const COLUMN: usize = 24;

pub(super) fn help(_: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    let name = name.trim_start_matches(':');
    if !name.is_empty() {
        return match super::help_text(name) {
            Ok(text) => {
                screen.words(&text);
                Outcome::Good
            }
            Err(text) => {
                screen.usage(&text);
                Outcome::Failed
            }
        };
    }
    screen.words(
        "An entry is a statement, an expression or an item. `;` is optional, `_` is the last value.\n\
         An open bracket or an unfinished line goes on in the next one; two empty lines end it.\n",
    );
    let style = screen.style();
    // Descriptions stand right of the names, so they have `COLUMN` columns less than the terminal.
    let style = Style { size: style.width().map(|width| (width.saturating_sub(COLUMN), 0)), ..style };
    let commands =
        COMMANDS.iter().map(|command| (format!(":{} {}", command.name, command.arguments), command.what));
    let others = [("?NAME".to_owned(), "what a name is, with its documentation")];
    let mut text = String::from("\n");
    for (head, what) in commands.chain(others) {
        let what = style.fitted(what, "").replace('\n', &format!("\n{:COLUMN$}", ""));
        let _ = writeln!(text, "{head:<COLUMN$}{what}");
    }
    screen.result(&text);
    screen.words("\nCtrl-C stops an evaluation or drops the entry, Ctrl-D leaves, Tab completes.");
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

/// Explains a name: a value, an item, a built-in name, a type, a command or a diagnostic code.
pub(super) fn explain(session: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    if name.is_empty() {
        return help(session, "", screen);
    }
    if let Some(command) = name.strip_prefix(':') {
        return help(session, command, screen);
    }
    if let Some(value) = session.environment.values.get(name) {
        let text = format!("{name}: {}", show::kind(value));
        screen.result(&text);
        return Outcome::Good;
    }
    let (file, path, setup) = (session.scratch(), name.to_owned(), session.setup().clone());
    let deadline = session.deadline();
    let told = session.work(screen, deadline, move |db, _| {
        let shown = hx_ide::Shown::new(setup.target);
        let reported =
            |cuda: &hx_ide::CudaText| setup.reported_registers(&cuda.text, &cuda.symbol, &cuda.target);
        hx_ide::explain_name(db, file, &path, &shown, &reported, &hx_ide::LastGood::default())
    });
    let told = match told {
        Ok(told) => told.unwrap_or_default(),
        Err(outcome) => return outcome,
    };
    if !told.is_empty() {
        let style = screen.style();
        let texts: Vec<String> = told.iter().map(|text| fitted_text(text, style)).collect();
        screen.result(&texts.join("\n\n"));
        return Outcome::Good;
    }
    if let Some(code) = hx_base::code(name) {
        screen.explain(code);
        return Outcome::Good;
    }
    let mut known: Vec<String> =
        names_in_scope(&session.db, session.scratch(), true).iter().map(ToString::to_string).collect();
    known.extend(builtins().map(|b| b.name().to_owned()));
    let hint = match hx_base::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("; perhaps `{near}` is meant"),
        None => String::new(),
    };
    screen.usage(&format!("nothing in scope is called `{name}`{hint}"));
    Outcome::Failed
}

/// Returns the text of an item up to its body, without comments.
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
