//! Tests compare text with text; `$0` marks the cursor.

mod actions;
mod complete;
mod files;
mod incremental;
mod names;
mod operations;
mod refactor;
mod roles;
mod shapes;
mod shows;

use expect_test::Expect;
use hx_base::{Edit, SourceFile, TextRange, TextSize, line_index};
use hx_target::Target;
use hx_workspace::Database;

use crate::{Cancellable, LastGood, Shown};

/// A kernel that uses most of the features that hints and hovers describe.
const MATMUL: &str = include_str!("../../../std/matmul.hx");

fn shown() -> Shown {
    Shown::new(Target::usual())
}

/// Returns a database with one file, and the offset of `$0` in it.
fn with_cursor(text: &str) -> (Database, SourceFile, TextSize) {
    let at = text.find("$0").expect("the text has a cursor");
    let mut db = Database::default();
    let file = db.set_overlay("/k.hx", &text.replace("$0", ""));
    (db, file, TextSize::try_from(at).expect("the text is short"))
}

/// Compares the answer to a question at `$0` with the expected text.
fn check_at(
    text: &str,
    ask: impl Fn(&Database, SourceFile, TextSize) -> Cancellable<String>,
    expected: Expect,
) {
    let (db, file, at) = with_cursor(text);
    expected.assert_eq(&ask(&db, file, at).expect("nothing is written"));
}

pub(crate) fn with_text(text: &str) -> (Database, SourceFile) {
    let mut db = Database::default();
    let file = db.set_overlay("/k.hx", text);
    (db, file)
}

/// Formats a place as `LINE:COLUMN`, both from 1.
fn place(db: &Database, file: SourceFile, at: TextSize) -> String {
    let at = line_index(db, file).line_col(at);
    format!("{}:{}", at.line + 1, at.col + 1)
}

/// Formats a range as its place and the first line of its text.
fn named(db: &Database, file: SourceFile, range: TextRange) -> String {
    let text = &file.text(db)[range];
    let path = file.path(db).trim_start_matches('/');
    format!("{path}:{} {}", place(db, file, range.start()), text.lines().next().unwrap_or_default())
}

fn hints(db: &Database, file: SourceFile, kept: &LastGood) -> String {
    let whole = TextRange::up_to(TextSize::of(file.text(db)));
    let hints = crate::inlay_hints(db, file, whole, &shown(), kept).expect("nothing is written");
    let line = |hint: &crate::InlayHint| {
        let stale = if hint.stale { "~" } else { "" };
        format!("{} {stale}{}\n", place(db, file, hint.offset), hint.text())
    };
    hints.iter().map(line).collect()
}

/// Applies edits to a text.
fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    text
}
