//! Renders a diagnostic as a JSON object on one line.

use hx_base::{Db, Diagnostic, SourceFile, TextRange};
use serde::Serialize;

use crate::place;

#[derive(Serialize)]
struct Message<'a> {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    message: &'a str,
    spans: Vec<Span<'a>>,
    children: Vec<Child<'a>>,
    suggestions: Vec<Suggestion<'a>>,
    rendered: String,
}

#[derive(Serialize)]
struct Span<'a> {
    path: &'a str,
    primary: bool,
    label: &'a str,
    start: Point,
    end: Point,
}

/// A place in a file. Bytes count from 0, lines and columns from 1; columns count characters.
#[derive(Serialize)]
struct Point {
    byte: u32,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Child<'a> {
    severity: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct Suggestion<'a> {
    title: &'a str,
    applicability: &'static str,
    edits: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
struct Replacement<'a> {
    path: &'a str,
    start: Point,
    end: Point,
    replacement: &'a str,
}

/// Returns a line of JSON with a line break: `code`, `name`, `severity`, `message`, `spans` (the primary one first), `children`
/// (notes and help), `suggestions`, and `rendered`, the drawing.
pub(crate) fn json(db: &dyn Db, diagnostic: &Diagnostic, rendered: String) -> String {
    let ends = |file: SourceFile, range: TextRange| {
        let point = |offset| {
            let at = place::position(db, file, offset);
            Point { byte: offset.into(), line: at.line, column: at.column }
        };
        (point(range.start()), point(range.end()))
    };
    let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
    let spans = labels.enumerate().map(|(i, label)| {
        let (start, end) = ends(label.file, label.range);
        Span { path: label.file.path(db), primary: i == 0, label: &label.message, start, end }
    });
    let notes = diagnostic.notes.iter().map(|message| Child { severity: "note", message });
    let help = diagnostic.help.iter().map(|message| Child { severity: "help", message });
    let suggestions = diagnostic.fixes.iter().map(|fix| {
        let edits = fix.edits.iter().map(|edit| {
            let (start, end) = ends(edit.file, edit.range);
            Replacement { path: edit.file.path(db), start, end, replacement: &edit.text }
        });
        Suggestion { title: &fix.title, applicability: fix.applicability.as_str(), edits: edits.collect() }
    });
    let message = Message {
        code: diagnostic.code.id,
        name: diagnostic.code.name,
        severity: diagnostic.severity.as_str(),
        message: &diagnostic.message,
        spans: spans.collect(),
        children: notes.chain(help).collect(),
        suggestions: suggestions.collect(),
        rendered,
    };
    // Serializing strings and numbers cannot fail.
    let mut line = serde_json::to_string(&message).unwrap_or_default();
    line.push('\n');
    line
}
