//! The items of a file and of the workspace, for outlines and searches.

use hx_base::{SourceFile, TextRange};
use hx_compile::Db;
use hx_hir::{Item, ItemKind, file_items, item_range, signature_source_map};
use hx_syntax::SyntaxNode;

use crate::names::{generics_of, item_heading, item_node, params_of};
use crate::{Cancellable, FileRange, catch};

/// The kind of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Kernel,
    Function,
    Constant,
    Test,
    Bench,
    Main,
    Parameter,
    CompileTimeParameter,
}

/// An entry of an outline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    /// The item's header in one line; empty for parameters and for items without a header.
    pub detail: String,
    pub kind: SymbolKind,
    /// The whole item, without the whitespace and comments before it.
    pub range: TextRange,
    /// The item's name, the title of a test or bench, or the keyword of `main`.
    pub name_range: TextRange,
    pub children: Vec<Symbol>,
}

/// An item that a search found, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSymbol {
    pub name: String,
    pub kind: SymbolKind,
    pub place: FileRange,
}

fn kind_of(kind: ItemKind) -> Option<SymbolKind> {
    Some(match kind {
        ItemKind::Use | ItemKind::Cell => return None,
        ItemKind::Const => SymbolKind::Constant,
        ItemKind::Function => SymbolKind::Function,
        ItemKind::Kernel => SymbolKind::Kernel,
        ItemKind::Test => SymbolKind::Test,
        ItemKind::Bench => SymbolKind::Bench,
        ItemKind::Main => SymbolKind::Main,
    })
}

/// Returns the outline of a file.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn document_symbols(db: &dyn Db, file: SourceFile) -> Cancellable<Vec<Symbol>> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        file_items(db, file).items.iter().filter_map(|item| symbol(db, &root, *item)).collect()
    })
}

fn symbol(db: &dyn Db, root: &SyntaxNode, item: Item<'_>) -> Option<Symbol> {
    let kind = kind_of(item.kind())?;
    let name_range = item_heading(db, root, item)?;
    let range = crate::node::code_range(&item_node(db, root, item)?).cover(name_range);
    let offset = item.offset(db);
    let mut children = Vec::new();
    if let Some(map) = signature_source_map(db, item) {
        let mut add = |name: &str, kind, range: TextRange| {
            let range = range + offset;
            let (name, detail) = (name.to_owned(), String::new());
            children.push(Symbol { name, detail, kind, range, name_range: range, children: Vec::new() });
        };
        for (name, range) in generics_of(db, item).iter().zip(&map.generics) {
            add(name, SymbolKind::CompileTimeParameter, *range);
        }
        for (name, range) in params_of(db, item).iter().zip(&map.params) {
            add(name, SymbolKind::Parameter, *range);
        }
    }
    children.retain(|child| !child.name.is_empty() && range.contains_range(child.range));
    let name = item.name(db).to_string();
    let name = if name.is_empty() { item.kind().word().to_owned() } else { name };
    let detail = crate::docs::header(db, item).unwrap_or_default();
    let detail = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Symbol { name, detail, kind, range, name_range, children })
}

/// Returns the kernels, functions, constants, tests and benches of all files whose names contain the query's letters in order.
/// The best matches come first; there are at most `limit`.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn workspace_symbols(db: &dyn Db, query: &str, limit: usize) -> Cancellable<Vec<FoundSymbol>> {
    catch(|| {
        let mut found = Vec::new();
        for &file in db.workspace().files(db) {
            db.unwind_if_revision_cancelled();
            let root = hx_base::parse(db, file).syntax_node();
            for &item in &file_items(db, file).items {
                let (Some(kind), name) = (kind_of(item.kind()), item.name(db)) else { continue };
                let Some(score) = crate::fuzzy::score(query, name) else { continue };
                let Some(range) = item_heading(db, &root, item) else { continue };
                debug_assert!(item_range(db, item).contains_range(range));
                let place = FileRange { file, range };
                found.push((score, file.path(db), FoundSymbol { name: name.to_string(), kind, place }));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.2.name.cmp(&b.2.name)).then_with(|| a.1.cmp(b.1)));
        found.into_iter().take(limit).map(|(_, _, symbol)| symbol).collect()
    })
}
