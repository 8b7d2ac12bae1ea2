//! Headers and doc comments of items.

use hx_base::SourceFile;
use hx_compile::Db;
use hx_hir::{Item, signature_source_map};
use hx_syntax::ast::{self, AstNode as _, HasDocs as _};

use crate::names::item_node;

/// Returns the header of a kernel or function as it is written, the whole text of a constant, or the text of a test, bench or
/// `main` before its body. `None` for `use` and cells.
pub(crate) fn header(db: &dyn Db, item: Item<'_>) -> Option<String> {
    let text = item.file(db).text(db);
    if let Some(map) = signature_source_map(db, item) {
        let range = map.header + item.offset(db);
        return Some(text.get(usize::from(range.start())..usize::from(range.end()))?.trim().to_owned());
    }
    let root = hx_base::parse(db, item.file(db)).syntax_node();
    let node = item_node(db, &root, item)?;
    let range = crate::node::code_range(&node);
    let whole = text.get(usize::from(range.start())..usize::from(range.end()))?.trim();
    match item {
        Item::Const(_) => Some(whole.to_owned()),
        Item::Test(_) | Item::Bench(_) | Item::Main(_) => {
            Some(whole.split('{').next().unwrap_or_default().trim().to_owned())
        }
        _ => None,
    }
}

/// Returns the text of the doc comment above an item; `None` without one.
pub fn docs(db: &dyn Db, item: Item<'_>) -> Option<String> {
    let root = hx_base::parse(db, item.file(db)).syntax_node();
    match ast::Item::cast(item_node(db, &root, item)?)? {
        ast::Item::Const(it) => it.doc_text(),
        ast::Item::Fn(it) => it.doc_text(),
        ast::Item::Kernel(it) => it.doc_text(),
        ast::Item::Test(it) => it.doc_text(),
        ast::Item::Bench(it) => it.doc_text(),
        ast::Item::Main(it) => it.doc_text(),
        ast::Item::Use(_) => None,
    }
}

/// Returns the `//!` comment of a file; `None` without one.
pub fn file_docs(db: &dyn Db, file: SourceFile) -> Option<String> {
    hx_base::parse(db, file).tree().doc_text()
}
