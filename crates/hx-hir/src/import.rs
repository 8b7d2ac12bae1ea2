//! What `use` brings into a file, and how paths lead to items of other files.

use hx_base::{SourceFile, resolve_module};
use hx_syntax::{TextRange, ast, ast::AstNode as _};

use crate::{Db, Item, Name, Path, collect, file_items, item_named};

/// One name that a `use` brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The name in this file.
    pub name: Name,
    /// What it stands for.
    pub path: Path,
    /// Which `use` of the file, from 0.
    pub item: usize,
    /// Where the path is, relative to that item.
    pub range: TextRange,
}

/// What the `use` items of a file bring in, in order.
#[salsa::tracked]
pub fn imports(db: &dyn Db, file: SourceFile) -> Vec<Import> {
    let mut out = Vec::new();
    for (item, it) in file_items(db, file).uses().enumerate() {
        if let Some(tree) = it.syntax(db).and_then(|node| node.use_tree()) {
            collect_tree(&tree, &[], item, &mut out);
        }
    }
    out
}

fn collect_tree(tree: &ast::UseTree, prefix: &[Name], item: usize, out: &mut Vec<Import>) {
    let mut segments = prefix.to_vec();
    if let Some(path) = tree.path().and_then(|p| collect::path_of(&p)) {
        segments.extend(path.segments);
    }
    if let Some(list) = tree.use_tree_list() {
        for inner in list.use_trees() {
            collect_tree(&inner, &segments, item, out);
        }
        return;
    }
    let Some(last) = segments.last().cloned() else { return };
    let name = tree.rename().map_or(last, |r| collect::name_of(ast::HasName::name(&r)));
    let range = tree.path().map_or_else(|| tree.syntax().text_range(), |p| collect::node_range(&p));
    out.push(Import { name, path: Path { segments }, item, range });
}

/// What a path means in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub enum PathTarget<'db> {
    Item(Item<'db>),
    Module(SourceFile),
}

#[salsa::tracked(returns(clone))]
fn import_named(db: &dyn Db, file: SourceFile, name: Name) -> Option<Path> {
    imports(db, file).iter().find(|i| i.name == name).map(|i| i.path.clone())
}

/// The item or module that a path leads to, seen from a file: its own items first, then what `use` brings in, then files.
pub fn resolve_path<'db>(db: &'db dyn Db, file: SourceFile, path: &Path) -> Option<PathTarget<'db>> {
    let (first, rest) = path.segments.split_first()?;
    if rest.is_empty()
        && let Some(item) = item_named(db, file, first.clone())
    {
        return Some(PathTarget::Item(item));
    }
    match import_named(db, file, first.clone()) {
        Some(import) => {
            let mut full = import.segments;
            full.extend(rest.iter().cloned());
            absolute_path(db, file, &full)
        }
        None if rest.is_empty() => None,
        None => absolute_path(db, file, &path.segments),
    }
}

/// The item or module of a path that names its file, as in `use`.
pub fn absolute_path<'db>(db: &'db dyn Db, file: SourceFile, segments: &[Name]) -> Option<PathTarget<'db>> {
    let words: Vec<&str> = segments.iter().map(Name::as_str).collect();
    if let Some((last, module)) = segments.split_last()
        && let Some(target) = resolve_module(db, file, &words[..module.len()])
        && let Some(item) = item_named(db, target, last.clone())
    {
        return Some(PathTarget::Item(item));
    }
    resolve_module(db, file, &words).map(PathTarget::Module)
}
