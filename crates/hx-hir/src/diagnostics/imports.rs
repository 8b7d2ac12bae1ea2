//! Diagnostics of imports that lead nowhere, with the path that was probably meant, and of unused imports.

use std::collections::BTreeSet;

use hx_base::{
    Applicability, Diagnostic, FileKind, SourceFile, TextRange, codes, module_files, nearest, parse,
    resolve_module,
};
use hx_syntax::{AstNode as _, SyntaxKind, SyntaxNode, ast};

use super::names::replaced;
use crate::item::item_syntax;
use crate::{Db, Import, Item, Name, absolute_path, collect, file_items, imports, item_names};

/// The names of a module are listed only if there are at most this many.
const MOST_NAMES: usize = 8;

pub(super) fn report(db: &dyn Db, file: SourceFile, out: &mut Vec<Diagnostic>) {
    let mut used: Option<BTreeSet<&Name>> = None;
    let uses: Vec<_> = file_items(db, file).uses().collect();
    for import in imports(db, file) {
        let Some(item) = uses.get(import.item) else { continue };
        let range = import.range + item.offset(db);
        if absolute_path(db, file, &import.path.segments).is_none() {
            out.push(unresolved(db, file, import, range));
            continue;
        }
        let used = used.get_or_insert_with(|| used_names(db, file));
        // Later cells may use the imports of a cell.
        if file.kind(db) != FileKind::Cell && !import.name.starts_with('_') && !used.contains(&import.name) {
            out.push(unused(db, file, import, range));
        }
    }
}

fn unresolved(db: &dyn Db, file: SourceFile, import: &Import, range: TextRange) -> Diagnostic {
    let message = format!("`{}` leads to no file and no item", import.path);
    let found = Diagnostic::new(&codes::UNRESOLVED_IMPORT, file, range, message);
    let Some((last, module)) = import.path.segments.split_last() else { return found };
    let words: Vec<&str> = module.iter().map(Name::as_str).collect();
    if let Some(target) = resolve_module(db, file, &words) {
        return in_module(db, found, &words.join("::"), last, item_names(db, target));
    }
    let modules = modules_seen(db, file);
    let full = import.path.to_string();
    let names = modules.iter().map(String::as_str);
    if let Some(near) = nearest(&full, names.clone()) {
        return offered(found, file.text(db), &full, near);
    }
    match nearest(&words.join("::"), names) {
        Some(near) => {
            let path = format!("{near}::{last}");
            let segments: Vec<Name> = path.split("::").map(Name::new).collect();
            match absolute_path(db, file, &segments) {
                Some(_) => offered(found, file.text(db), &full, &path),
                None => found.help(format!("there is a file `{near}`")),
            }
        }
        None if words.first() == Some(&"std") => {
            let own: Vec<&str> = modules.iter().filter_map(|name| name.strip_prefix("std::")).collect();
            found.help(format!("`std` has `{}`", own.join("`, `")))
        }
        None => found,
    }
}

/// Explains an import whose module exists but has no such item.
fn in_module(db: &dyn Db, found: Diagnostic, module: &str, last: &Name, items: &[Name]) -> Diagnostic {
    let file = found.primary.file;
    match nearest(last, items.iter().map(Name::as_str)) {
        Some(near) => {
            offered(found, file.text(db), &format!("{module}::{last}"), &format!("{module}::{near}"))
        }
        None if items.is_empty() => found.help(format!("`{module}` has no items")),
        None if items.len() <= MOST_NAMES => {
            let names: Vec<&str> = items.iter().map(Name::as_str).collect();
            found.help(format!("`{module}` has `{}`", names.join("`, `")))
        }
        None => found,
    }
}

/// Suggests the path that was probably meant, with a fix if the whole path is written in one place.
fn offered(found: Diagnostic, text: &str, path: &str, near: &str) -> Diagnostic {
    let range = found.primary.range;
    let found = found.help(format!("`{near}` is near in spelling"));
    if &text[range] == path { replaced(found, range, near) } else { found }
}

/// Returns the modules that a file can name: those of the standard library, and those beside and below the file.
fn modules_seen(db: &dyn Db, file: SourceFile) -> Vec<String> {
    let folder = file.path(db).rsplit_once('/').map_or("", |(folder, _)| folder);
    let files = module_files(db, db.workspace()).iter().filter(|(_, other)| **other != file);
    let module = |(kind, path): &(FileKind, String)| {
        let path = path.strip_suffix(".hx")?;
        let below = match kind {
            FileKind::Std => Some(path),
            FileKind::Workspace if folder.is_empty() => Some(path).filter(|path| !path.starts_with('/')),
            FileKind::Workspace => path.strip_prefix(folder)?.strip_prefix('/'),
            FileKind::Cell => None,
        };
        below.map(|below| below.replace('/', "::"))
    };
    files.filter_map(|(key, _)| module(key)).collect()
}

/// Returns the first names of all paths of a file except those of imports.
fn used_names(db: &dyn Db, file: SourceFile) -> BTreeSet<&Name> {
    let items = file_items(db, file).items.iter().filter(|item| !matches!(item, Item::Use(_)));
    let names = items.flat_map(|item| first_names(db, *item));
    names.chain(first_names_between(db, file)).collect()
}

/// Returns the first names of the paths of an item. The query makes an edit read the edited item alone.
#[salsa::tracked]
fn first_names<'db>(db: &'db dyn Db, item: Item<'db>) -> BTreeSet<Name> {
    paths_in(&item_syntax(db, item)).collect()
}

/// Returns the first names of the paths in broken code between items.
#[salsa::tracked]
fn first_names_between(db: &dyn Db, file: SourceFile) -> BTreeSet<Name> {
    let root = parse(db, file).syntax_node();
    root.children()
        .filter(|node| !ast::Item::can_cast(node.kind()))
        .flat_map(|node| paths_in(&node))
        .collect()
}

fn paths_in(node: &SyntaxNode) -> impl Iterator<Item = Name> + use<> {
    let paths = node.descendants().filter_map(ast::Path::cast);
    paths.filter_map(|path| Some(Name::new(path.segments().next()?.text())))
}

fn unused(db: &dyn Db, file: SourceFile, import: &Import, range: TextRange) -> Diagnostic {
    let message = format!("nothing uses `{}`", import.name);
    let found = Diagnostic::new(&codes::UNUSED_NAME, file, range, message);
    match removed(db, file, range) {
        Some(range) => found.fix("remove it", range, "", Applicability::Maybe),
        None => found,
    }
}

/// Returns the text to remove so that the import of this path disappears: its part of a list, or the whole `use` with its line.
/// `None` if no import has this path.
fn removed(db: &dyn Db, file: SourceFile, path: TextRange) -> Option<TextRange> {
    let tree = parse(db, file).syntax_node();
    let item = tree.children().find(|item| item.text_range().contains_range(path))?;
    let trees = item.descendants().filter_map(ast::UseTree::cast);
    let mut node =
        trees.filter(|tree| tree.path().is_some_and(|p| collect::node_range(&p) == path)).last()?;
    loop {
        let list = node.syntax().parent().filter(|parent| parent.kind() == SyntaxKind::USE_TREE_LIST);
        let Some(list) = list else { break };
        let own = node.syntax().clone();
        let siblings: Vec<SyntaxNode> =
            list.children().filter(|it| ast::UseTree::can_cast(it.kind())).collect();
        let at = siblings.iter().position(|it| *it == own)?;
        match (siblings.get(at + 1), at.checked_sub(1).and_then(|before| siblings.get(before))) {
            (Some(next), _) => {
                return Some(TextRange::new(own.text_range().start(), next.text_range().start()));
            }
            (None, Some(before)) => {
                return Some(TextRange::new(before.text_range().end(), own.text_range().end()));
            }
            (None, None) => node = list.parent().and_then(ast::UseTree::cast)?,
        }
    }
    let range = collect::node_range(&ast::Use::cast(item)?);
    let after = &file.text(db)[usize::from(range.end())..];
    let line_end = after.find('\n').filter(|end| after[..*end].trim().is_empty()).map_or(0, |end| end + 1);
    Some(TextRange::new(range.start(), range.end() + hx_base::TextSize::of(&after[..line_end])))
}
