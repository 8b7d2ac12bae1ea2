//! The names that `use` brings into a file, the resolution of paths to items of other files, and the earlier cells that a cell
//! sees.

use std::collections::BTreeSet;

use hx_base::{Scope, SourceFile, resolve_module};
use hx_syntax::{TextRange, ast, ast::AstNode as _};

use crate::{
    Db, Expr, ExprStore, Item, Name, Pat, PatId, Path, StmtKind, body_of, collect, file_items, item_named,
    item_names,
};

/// A name that a `use` brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The name in this file.
    pub name: Name,
    /// The path that the name stands for.
    pub path: Path,
    /// The index of the `use` among those of the file, from 0.
    pub item: usize,
    /// The range of the path, relative to that item.
    pub range: TextRange,
}

/// Returns the imports of the `use` items of a file, in order.
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

/// The meaning of a path in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub enum PathTarget<'db> {
    Item(Item<'db>),
    Module(SourceFile),
}

#[salsa::tracked(returns(clone))]
fn import_named(db: &dyn Db, file: SourceFile, name: Name) -> Option<Path> {
    imports(db, file).iter().find(|i| i.name == name).map(|i| i.path.clone())
}

/// Resolves a path to an item or module, as seen from a file. The file's own items come first, then its imports. In a cell
/// those of earlier cells follow, nearest first. Paths to files come last. `None` if the path means neither.
pub fn resolve_path<'db>(db: &'db dyn Db, file: SourceFile, path: &Path) -> Option<PathTarget<'db>> {
    let (first, rest) = path.segments.split_first()?;
    for file in seen_files(db, file) {
        if rest.is_empty()
            && let Some(item) = item_named(db, file, first.clone())
        {
            return Some(PathTarget::Item(item));
        }
        if let Some(import) = import_named(db, file, first.clone()) {
            let mut full = import.segments;
            full.extend(rest.iter().cloned());
            return absolute_path(db, file, &full);
        }
    }
    if rest.is_empty() { None } else { absolute_path(db, file, &path.segments) }
}

/// Returns the files whose names a file sees as its own: itself, and for a cell the earlier cells, nearest first.
fn seen_files(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = SourceFile> {
    std::iter::once(file).chain(Scope::files(db, file.outer(db)))
}

/// Returns the names that the statements of a cell bind for later cells, in order; empty for other files.
#[salsa::tracked]
pub fn cell_bindings(db: &dyn Db, file: SourceFile) -> Vec<Name> {
    let Some(cell) = file_items(db, file).cell() else { return Vec::new() };
    let store = &body_of(db, Item::Cell(cell)).store;
    let names = top_level_pats(store, body_of(db, Item::Cell(cell)).root);
    names.into_iter().map(|(_, name)| name).collect()
}

/// Returns the patterns that bind names in the top-level statements of a block, without those of inner blocks.
pub fn top_level_pats(store: &ExprStore, root: crate::ExprId) -> Vec<(PatId, Name)> {
    let Expr::Block(block) = &store[root] else { return Vec::new() };
    let mut found = Vec::new();
    for &stmt in &block.stmts {
        let StmtKind::Let { pat, .. } = &store[stmt].kind else { continue };
        let mut work = vec![*pat];
        while let Some(pat) = work.pop() {
            match &store[pat] {
                Pat::Missing | Pat::Wildcard => {}
                Pat::Bind(name) => found.push((pat, name.clone())),
                Pat::Tuple(parts) | Pat::Array(parts) => work.extend(parts.iter().rev()),
            }
        }
    }
    found
}

/// Reports whether a name that a cell does not define itself means a value bound by an earlier cell. It does not if a cell in
/// between defines or imports an item of that name.
pub fn is_binding(db: &dyn Db, file: SourceFile, name: &Name) -> bool {
    let is_item =
        |file| item_named(db, file, name.clone()).is_some() || import_named(db, file, name.clone()).is_some();
    if is_item(file) {
        return false;
    }
    for file in Scope::files(db, file.outer(db)) {
        // Within one cell a value shadows an item, as in a body.
        if cell_bindings(db, file).contains(name) {
            return true;
        }
        if is_item(file) {
            return false;
        }
    }
    false
}

/// Returns the names that a file sees without paths: items, imports and, if `with_bindings`, values. Nearest first, each once.
pub fn names_in_scope(db: &dyn Db, file: SourceFile, with_bindings: bool) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for file in seen_files(db, file) {
        let bindings = if with_bindings { cell_bindings(db, file).as_slice() } else { &[] };
        let imported = imports(db, file).iter().map(|i| &i.name);
        for name in bindings.iter().chain(item_names(db, file)).chain(imported) {
            if !out.contains(name) {
                out.push(name.clone());
            }
        }
    }
    out
}

/// Returns the `use` items of a file, or of a cell before it, that import any of these names.
pub(crate) fn importers<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    names: &BTreeSet<Name>,
) -> impl Iterator<Item = Item<'db>> {
    seen_files(db, file).flat_map(move |file| {
        let wanted = imports(db, file).iter().filter(|import| names.contains(&import.name));
        wanted.filter_map(move |import| file_items(db, file).uses().nth(import.item).map(Item::Use))
    })
}

/// Resolves a path that names its file, as in `use`, to an item or module. `None` if there is neither.
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
