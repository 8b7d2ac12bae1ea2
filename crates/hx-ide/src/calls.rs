//! The callers of a kernel or function, and its callees.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Item, ItemKey, ItemKind, file_items, item_range};

use crate::names::{Def, Occurrence, Role, item_heading, item_node, occurrence_at, occurrences};
use crate::node::code_range;
use crate::symbols::SymbolKind;
use crate::{Cancellable, FileRange, catch};

/// A kernel, function, test, bench or `main` in a call hierarchy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallItem {
    pub name: String,
    pub kind: SymbolKind,
    pub file: SourceFile,
    pub range: TextRange,
    pub name_range: TextRange,
}

/// A caller or a callee, and the ranges of the calls in the caller's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    pub item: CallItem,
    pub places: Vec<TextRange>,
}

fn call_item(db: &dyn Db, item: Item<'_>) -> Option<CallItem> {
    let kind = match item.kind() {
        ItemKind::Kernel => SymbolKind::Kernel,
        ItemKind::Function => SymbolKind::Function,
        ItemKind::Test => SymbolKind::Test,
        ItemKind::Bench => SymbolKind::Bench,
        ItemKind::Main => SymbolKind::Main,
        ItemKind::Const | ItemKind::Use | ItemKind::Cell => return None,
    };
    let file = item.file(db);
    let root = hx_base::parse(db, file).syntax_node();
    let name_range = item_heading(db, &root, item)?;
    let range = code_range(&item_node(db, &root, item)?).cover(name_range);
    Some(CallItem { name: item.name(db).to_string(), kind, file, range, name_range })
}

/// Returns the item that is named at an offset, or else the item around it; `None` if there is neither.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn prepare_calls(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Option<CallItem>> {
    catch(|| call_item(db, target(db, file, at)?.find(db)?))
}

fn target(db: &dyn Db, file: SourceFile, at: TextSize) -> Option<ItemKey> {
    if let Some(Occurrence { def: Def::Item(key), .. }) = occurrence_at(db, file, at) {
        return Some(key);
    }
    let around = |item: &&Item<'_>| item_range(db, **item).contains_inclusive(at);
    file_items(db, file).items.iter().find(around).map(|item| item.key(db))
}

/// Returns the callers of the item at an offset.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn incoming_calls(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Vec<Call>> {
    catch(|| {
        let Some(key) = target(db, file, at) else { return Vec::new() };
        let mut calls = Vec::new();
        for &other in db.workspace().files(db) {
            if other != key.file && !other.text(db).contains(key.name.as_str()) {
                continue;
            }
            db.unwind_if_revision_cancelled();
            let uses: Vec<TextRange> = occurrences(db, other)
                .into_iter()
                .filter(|o| o.role == Role::Read && o.def == Def::Item(key.clone()))
                .map(|o| o.range)
                .collect();
            for &item in &file_items(db, other).items {
                let range = item_range(db, item);
                let places: Vec<TextRange> =
                    uses.iter().copied().filter(|place| range.contains_range(*place)).collect();
                if let (Some(item), false) = (call_item(db, item), places.is_empty()) {
                    calls.push(Call { item, places });
                }
            }
        }
        calls
    })
}

/// Returns the callees of the item at an offset, in the order of their first calls.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn outgoing_calls(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Vec<Call>> {
    catch(|| {
        let Some(item) = target(db, file, at).and_then(|key| key.find(db)) else { return Vec::new() };
        let range = item_range(db, item);
        let mut by_start: BTreeMap<TextSize, Call> = BTreeMap::new();
        let mut seen: Vec<(ItemKey, TextSize)> = Vec::new();
        for o in occurrences(db, item.file(db)) {
            let Def::Item(key) = &o.def else { continue };
            if o.role != Role::Read || !range.contains_range(o.range) {
                continue;
            }
            if let Some((_, first)) = seen.iter().find(|(known, _)| known == key) {
                if let Some(call) = by_start.get_mut(first) {
                    call.places.push(o.range);
                }
            } else if let Some(called) = key.find(db).and_then(|item| call_item(db, item)) {
                seen.push((key.clone(), o.range.start()));
                by_start.insert(o.range.start(), Call { item: called, places: vec![o.range] });
            }
        }
        by_start.into_values().collect()
    })
}

impl CallItem {
    /// Returns the place of the item's name, of the title of a test or bench, or of the keyword `main`.
    pub fn place(&self) -> FileRange {
        FileRange { file: self.file, range: self.name_range }
    }
}
