//! Refactorings of correct code: extract a `let` or a `fn`, inline a `let`, make an extent a parameter, add a test.
//!
//! Each refactoring makes edits from the tree and from types. [`refactorings`] applies them to a copy of the text, and offers
//! only those after which the copy has no more findings than the text.

mod extract;
mod inline;
mod parameter;
mod skeleton;

use hx_base::{Edit, SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Item, file_diagnostics, file_items, item_range};
use hx_syntax::{SyntaxKind, SyntaxNode};

/// The kind of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    /// A fix of a diagnostic.
    Fix,
    Rewrite,
    Extract,
    Inline,
}

/// A change of the text that was not checked yet.
struct Draft {
    title: String,
    kind: ActionKind,
    edits: Vec<Edit>,
}

/// The text that is selected, and the item around it.
struct Selected<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    root: SyntaxNode,
    /// Without the spaces around what a person selected.
    range: TextRange,
    item: Item<'a>,
}

/// Returns the refactorings of a selection, each with its title, kind and edits.
pub(crate) fn refactorings(
    db: &dyn Db,
    file: SourceFile,
    range: TextRange,
) -> Vec<(String, ActionKind, Vec<Edit>)> {
    let root = hx_base::parse(db, file).syntax_node();
    let around = |item: &&Item<'_>| item_range(db, **item).contains_range(range);
    let Some(item) = file_items(db, file).items.iter().find(around).copied() else { return Vec::new() };
    let range = trimmed(file.text(db), range);
    let selected = Selected { db, file, root, range, item };
    let drafts = [
        extract::variable(&selected),
        extract::function(&selected),
        inline::variable(&selected),
        parameter::extent(&selected),
        skeleton::test(&selected),
    ];
    let checked = drafts.into_iter().flatten().filter(|draft| is_clean(db, file, &draft.edits));
    checked.map(|draft| (draft.title, draft.kind, draft.edits)).collect()
}

fn trimmed(text: &str, range: TextRange) -> TextRange {
    let inside = &text[range];
    let before = TextSize::of(&inside[..inside.len() - inside.trim_start().len()]);
    let length = TextSize::of(inside.trim());
    TextRange::at(range.start() + before, length)
}

/// Reports whether a text has no more findings after the edits than before. The copy is a file that no other file sees.
fn is_clean(db: &dyn Db, file: SourceFile, edits: &[Edit]) -> bool {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    let mut text = file.text(db).to_owned();
    for edit in edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    let copy = SourceFile::workspace(db, file.path(db), text);
    file_diagnostics(db, copy).len() <= file_diagnostics(db, file).len()
}

/// Returns the statement of a block that contains a node, without crossing another block or a closure; `None` outside of
/// statements.
fn statement_of(node: &SyntaxNode) -> Option<SyntaxNode> {
    for node in node.ancestors() {
        match node.parent().map(|parent| parent.kind()) {
            Some(SyntaxKind::BLOCK) => return Some(node),
            Some(SyntaxKind::CLOSURE_EXPR) | None => return None,
            _ => {}
        }
    }
    None
}

/// Returns the spaces at the beginning of the line of an offset.
fn indentation(text: &str, at: TextSize) -> &str {
    let line = &text[text[..usize::from(at)].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns a name that the text does not contain: `name`, `name2`, `name3`, ….
fn fresh(text: &str, name: &str) -> String {
    let words: std::collections::BTreeSet<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !words.contains(name.as_str())).unwrap_or_default()
}
