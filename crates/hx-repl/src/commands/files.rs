//! `:load`, `:reload` and `:save`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hx_base::{Diagnostic, FileKind, Scope, SourceFile, codes};
use hx_hir::{Item, ItemKind, Name, file_items, item_range};
use hx_syntax::{SyntaxKind, SyntaxNode, TextRange, ast::AstNode as _};

use super::uses::uses;
use crate::screen::Screen;
use crate::session::{Outcome, Session};

pub(super) fn load(session: &mut Session, path: &str, screen: &mut Screen<'_>) -> Outcome {
    let path = path.trim_matches('"');
    if path.is_empty() {
        screen.usage("`:load` reads a file: name one, as in `:load kernels.hx`");
        return Outcome::Failed;
    }
    let opened = match session.db.open(path) {
        Ok(opened) => opened,
        Err(error) => {
            screen.report(error.code(), &error.to_string(), &[], &[]);
            return Outcome::Failed;
        }
    };
    let found = front(session, opened.files.clone(), screen);
    let refused = match found {
        Ok(found) if found.iter().any(Diagnostic::is_error) => {
            screen.diagnostics(&session.db, &found);
            Some(Outcome::Failed)
        }
        Ok(_) => None,
        Err(outcome) => Some(outcome),
    };
    if let Some(outcome) = refused {
        screen.remark("nothing was loaded");
        return outcome;
    }
    let mut names: Vec<String> = Vec::new();
    for &file in &opened.files {
        session.scope = Some(Scope::after(&session.db, session.scope, file));
        names.extend(
            file_items(&session.db, file).named().map(|item| format!("`{}`", item.name(&session.db))),
        );
        if let Some(path) = session.db.path_on_disk(file).map(str::to_owned)
            && !session.loaded.contains(&path)
        {
            session.loaded.push(path);
        }
    }
    let what = if names.is_empty() { "nothing that has a name".to_owned() } else { names.join(", ") };
    screen.remark(&format!("loaded {what}"));
    Outcome::Good
}

/// Returns the diagnostics of syntax, names and types. Kernels are solved at their first use, so errors of layouts come later.
///
/// # Errors
/// The outcome, if Ctrl-C or the time limit ended the work; the screen shows why.
fn front(
    session: &mut Session,
    files: Vec<SourceFile>,
    screen: &mut Screen<'_>,
) -> Result<Vec<Diagnostic>, Outcome> {
    let deadline = session.deadline();
    session.work(screen, deadline, move |db, _| {
        files.into_iter().flat_map(|file| hx_inspect::front_diagnostics(db, file)).collect()
    })
}

pub(super) fn reload(session: &mut Session, _: &str, screen: &mut Screen<'_>) -> Outcome {
    // Reload every file of the user, including those that were loaded because another file uses them.
    let files: Vec<(String, SourceFile)> = session
        .db
        .user_files()
        .into_iter()
        .filter_map(|file| Some((session.db.path_on_disk(file)?.to_owned(), file)))
        .collect();
    if files.is_empty() {
        screen.usage("no file was loaded; `:load FILE` does, and so does a `use` of it");
        return Outcome::Failed;
    }
    let before: Vec<String> = files.iter().map(|(_, file)| file.text(&session.db).to_owned()).collect();
    // Errors in files without errors so far refuse the reload; files that already have some do not. Remember which are which.
    let all = files.iter().map(|(_, file)| *file).collect();
    let bad: BTreeSet<SourceFile> = match front(session, all, screen) {
        Ok(found) => found.iter().filter(|f| f.is_error()).map(|f| f.primary.file).collect(),
        Err(outcome) => return outcome,
    };
    let good = files.iter().map(|(_, file)| *file).filter(|file| !bad.contains(file)).collect();
    let mut unread = Vec::new();
    for (path, _) in &files {
        if session.db.system().is_file(path) {
            session.db.remove_overlay(path);
            if let Err(error) = session.db.reload(path) {
                unread.push(error);
            }
        }
    }
    let found = front(session, good, screen);
    let refused = found.as_ref().map_or_else(
        |outcome| Some(*outcome),
        |found| {
            let is_bad = found.iter().any(Diagnostic::is_error) || !unread.is_empty();
            is_bad.then_some(Outcome::Failed)
        },
    );
    if let Some(outcome) = refused {
        screen.diagnostics(&session.db, &found.unwrap_or_default());
        for error in &unread {
            screen.report(error.code(), &error.to_string(), &[], &[]);
        }
        for ((path, _), text) in files.iter().zip(&before) {
            session.db.set_overlay(path, text);
        }
        screen.remark("the session goes on with the files as they were");
        return outcome;
    }
    let changed =
        files.iter().zip(&before).filter(|((_, file), text)| file.text(&session.db) != text.as_str());
    let names: Vec<String> = changed.map(|((_, file), _)| file.path(&session.db).to_owned()).collect();
    match names.is_empty() {
        true => screen.remark("nothing has changed"),
        false => screen.remark(&format!("changed: {}", names.join(", "))),
    }
    Outcome::Good
}

pub(super) fn save(session: &mut Session, path: &str, screen: &mut Screen<'_>) -> Outcome {
    let path = path.trim_matches('"');
    if Path::new(path).exists() {
        screen.usage(&format!("`{path}` is there already; `:save! {path}` replaces it"));
        return Outcome::Failed;
    }
    save_over(session, path, screen)
}

pub(super) fn save_over(session: &mut Session, path: &str, screen: &mut Screen<'_>) -> Outcome {
    let path = path.trim_matches('"');
    if path.is_empty() {
        screen.usage("`:save` writes a file: name one, as in `:save session.hx`");
        return Outcome::Failed;
    }
    let (text, missing) = session_text(session, Path::new(path));
    // The formatter refuses a text with errors: save it unformatted then.
    let text = hx_fmt::format(&text).unwrap_or(text);
    match hx_base::replace_file(Path::new(path), text.as_bytes()) {
        Ok(()) => {
            screen.remark(&format!("wrote {path}"));
            for sentence in &missing {
                screen.usage(sentence);
            }
            // Some items of the session are missing from the file, so the command fails.
            if missing.is_empty() { Outcome::Good } else { Outcome::Failed }
        }
        Err(error) => {
            screen.report(&codes::IO_ERROR, &format!("cannot write `{path}`: {error}"), &[], &[]);
            Outcome::Failed
        }
    }
}

/// Returns the session as the text of a file at `path`: the latest version of each item, and all statements in order as `main`,
/// or as a test if the session has a `main`. Also returns sentences about items that the file lacks.
fn session_text(session: &Session, path: &Path) -> (String, Vec<String>) {
    let db = &session.db;
    let mut out = String::new();
    let mut seen: Vec<(ItemKind, Name)> = Vec::new();
    let mut items: Vec<String> = Vec::new();
    for &file in session.texts.iter().rev() {
        for &item in file_items(db, file).items.iter().rev() {
            let name = item.name(db).clone();
            let kind = match item.kind() {
                ItemKind::Const | ItemKind::Function | ItemKind::Kernel => ItemKind::Kernel,
                other => other,
            };
            if kind == ItemKind::Cell || seen.contains(&(kind, name.clone())) {
                continue;
            }
            seen.push((kind, name));
            items.push(item_text(session, item));
        }
    }
    items.reverse();
    let had_main = seen.iter().any(|(kind, _)| *kind == ItemKind::Main);
    let statements = statements(session);
    let used = items.iter().chain(&statements).map(String::as_str).collect::<Vec<_>>().join("\n");
    let uses = uses(session, &absolute(path), &used, &seen);
    out += &uses.text;
    out += &items.join("\n\n");
    if !statements.is_empty() {
        let title = if had_main { "test \"the session\"" } else { "main" };
        let _ = write!(out, "\n\n{title} {{\n{}\n}}\n", statements.join("\n"));
    }
    (out, uses.missing)
}

/// Resolves links in the folder of a path. The folder and the file need not exist.
fn absolute(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    folder.unwrap_or_default().join(path.file_name().unwrap_or_default())
}

fn item_text(session: &Session, item: Item<'_>) -> String {
    let db = &session.db;
    let text = item.file(db).text(db).get(std::ops::Range::<usize>::from(item_range(db, item)));
    let text = text.unwrap_or_default().trim();
    let closed = text.ends_with(['}', ';']) && !matches!(item, Item::Use(_));
    if closed || text.ends_with(';') { text.to_owned() } else { format!("{text};") }
}

/// The last value that a cell left, to which `_` in later cells refers.
struct LastValue {
    /// Index of its statement in the result of [`statements`].
    at: usize,
    text: String,
    /// True if the statement prints the value.
    shown: bool,
    /// The name that a `let` gives the value, once a later cell has used `_`; `None` before.
    name: Option<String>,
}

/// Returns the statements of all cells, each with its `;`. An expression whose value the prompt showed becomes a `print`, and a
/// value that a later `_` refers to becomes a `let`.
fn statements(session: &Session) -> Vec<String> {
    let db = &session.db;
    let mut out: Vec<String> = Vec::new();
    let mut left: Option<LastValue> = None;
    for &file in session.texts.iter().filter(|file| file.kind(db) == FileKind::Cell) {
        let Some(cell) = hx_base::parse(db, file).tree().cell() else { continue };
        let tail = cell.tail_expr();
        let nodes = cell.statements().map(|statement| statement.syntax().clone());
        let nodes: Vec<SyntaxNode> = nodes.chain(tail.iter().map(|tail| tail.syntax().clone())).collect();
        if let Some(left) =
            left.as_mut().filter(|_| nodes.iter().any(|node| last_values(node).next().is_some()))
            && left.name.is_none()
        {
            let name = fresh_name(session, &out);
            let print = if left.shown { format!("\nprint({name});") } else { String::new() };
            out[left.at] = format!("let {name} = {};{print}", left.text);
            left.name = Some(name);
        }
        let name = left.as_ref().and_then(|left| left.name.as_deref());
        let texts: Vec<String> = nodes.iter().map(|node| with_last(node, name)).collect();
        for (at, text) in texts.into_iter().enumerate() {
            if tail.is_none() || at + 1 < nodes.len() {
                out.push(if text.ends_with([';', '}']) { text } else { format!("{text};") });
                continue;
            }
            let is_call =
                matches!(tail, Some(hx_syntax::ast::Expr::CallExpr(_) | hx_syntax::ast::Expr::IfExpr(_)));
            out.push(if is_call { format!("{text};") } else { format!("print({text});") });
            if session.left_values.contains(&file) {
                left = Some(LastValue { at: out.len() - 1, text, shown: !is_call, name: None });
            }
        }
    }
    out
}

/// Returns the places in which `_` means the last value. A `_` directly in a tuple is not one: it means a mode that a tiler keeps.
fn last_values(node: &SyntaxNode) -> impl Iterator<Item = TextRange> {
    let wildcards = node.descendants().filter(|inner| inner.kind() == SyntaxKind::WILDCARD_EXPR);
    let in_tuple = |node: &SyntaxNode| {
        node.parent()
            .is_some_and(|parent| matches!(parent.kind(), SyntaxKind::TUPLE_FIELD | SyntaxKind::TUPLE_EXPR))
    };
    wildcards.filter(move |node| !in_tuple(node)).map(|node| node.text_range())
}

/// Returns the text of a node in which `name` replaces each `_` that means the last value; the text unchanged without a name.
fn with_last(node: &SyntaxNode, name: Option<&str>) -> String {
    let mut text = node.text().to_string();
    if let Some(name) = name {
        let places: Vec<TextRange> = last_values(node).collect();
        for place in places.into_iter().rev() {
            let place = place - node.text_range().start();
            text.replace_range(std::ops::Range::<usize>::from(place), name);
        }
    }
    text.trim().to_owned()
}

/// Returns a name that occurs in no text of the session.
fn fresh_name(session: &Session, written: &[String]) -> String {
    let texts = session.texts.iter().map(|file| file.text(&session.db));
    let texts: Vec<&str> = texts.chain(written.iter().map(String::as_str)).collect();
    let is_word = |name: &str| {
        let mut words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
        words.any(|word| word == name)
    };
    let names = std::iter::once("last".to_owned()).chain((2..).map(|n| format!("last{n}")));
    names.into_iter().find(|name| !is_word(name)).unwrap_or_default()
}
