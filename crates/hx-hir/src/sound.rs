//! Sound items: items without errors, neither their own nor in anything that they use.
//!
//! Compiling and running begin here. Later stages take a [`Sound`] item, and only queries of this module make one, so no
//! program can be made from text with errors. Soundness is one bit per item: an edit that only moves text, or that changes
//! something the item does not use, leaves the bit unchanged and runs no later stage again.

use std::collections::{BTreeSet, HashMap, HashSet};

use hx_base::{Diagnostic, SourceFile, TextRange, sort_diagnostics, syntax_diagnostics};
use text_size::TextSize;

use crate::{
    Body, Db, Expr, ExprStore, Function, Item, ItemKey, Kernel, Name, Names, Path, Step, TypeRef, body_names,
    body_of, diagnostics, file_items, fn_signature, import::importers, item_diagnostics, kernel_signature,
    signature_names, standing, steps_below, tune_names,
};

/// An item that reaches no error: it has none, and uses no item that has one.
///
/// [`Sound::of`] and [`Sound::used`] are its only constructors. It is valid for the revision of the database that its lifetime
/// belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sound<T>(T);

impl<'db, T: Copy + Into<Item<'db>>> Sound<T> {
    /// Returns the item as a sound one; `None` if it reaches an error, which [`reached_errors`] then returns.
    pub fn of(db: &'db dyn Db, item: T) -> Option<Sound<T>> {
        is_sound(db, item.into()).then_some(Sound(item))
    }

    /// Returns the item itself.
    pub fn get(self) -> T {
        self.0
    }

    /// Returns the same item as one of any kind.
    pub fn item(self) -> Sound<Item<'db>> {
        Sound(self.0.into())
    }

    /// Returns the body of the item.
    pub fn body(self, db: &'db dyn Db) -> &'db Body {
        body_of(db, self.0.into())
    }

    /// Returns the meanings of the names in the body: every name has one.
    pub fn names(self, db: &'db dyn Db) -> &'db Names {
        body_names(db, self.0.into())
    }

    /// Returns an item that a name of this one means; `None` if no name does. It is sound because this item is.
    pub fn used(self, db: &'db dyn Db, key: &ItemKey) -> Option<Sound<Item<'db>>> {
        let used = uses(db, self.0.into()).contains(key).then(|| key.find(db)).flatten();
        used.map(Sound)
    }
}

impl<'db> Sound<Item<'db>> {
    /// Returns the item as a kernel, if it is one.
    pub fn kernel(self) -> Option<Sound<Kernel<'db>>> {
        if let Item::Kernel(kernel) = self.0 { Some(Sound(kernel)) } else { None }
    }

    /// Returns the item as a tile function, if it is one.
    pub fn function(self) -> Option<Sound<Function<'db>>> {
        if let Item::Function(function) = self.0 { Some(Sound(function)) } else { None }
    }
}

/// Returns the items that the names of a signature and body mean, and the `use` items that import these names. Each item occurs
/// once; the imports come last.
#[salsa::tracked]
fn uses<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<ItemKey> {
    let signature = &signature_names(db, item).names;
    let mut seen: HashSet<&ItemKey> = HashSet::new();
    let mut found: Vec<ItemKey> = Vec::new();
    for names in [signature, body_names(db, item)] {
        let meanings = names.exprs.values().chain(names.types.values());
        let keys = meanings.filter_map(|meaning| meaning.item());
        found.extend(keys.filter(|key| seen.insert(key)).cloned());
    }
    let mut first = first_names(&body_of(db, item).store);
    match item {
        Item::Kernel(it) => first.extend(first_names(&kernel_signature(db, it).store)),
        Item::Function(it) => first.extend(first_names(&fn_signature(db, it).store)),
        _ => {}
    }
    found.extend(importers(db, item.file(db), &first).map(|item| item.key(db)));
    found
}

/// Returns the items that the `tune` clause of a kernel names. They are no part of [`uses`], which lowering reads: an edit of the
/// clause must not lower the kernel again.
fn uses_in_tune<'db>(db: &'db dyn Db, item: Item<'db>) -> impl Iterator<Item = Item<'db>> {
    let names = if let Item::Kernel(kernel) = item { Some(tune_names(db, kernel)) } else { None };
    let meanings = names.into_iter().flat_map(|names| names.exprs.values());
    meanings.filter_map(|meaning| meaning.item()?.find(db))
}

/// Returns the first names of the paths of a store, which a `use` may have imported.
fn first_names(store: &ExprStore) -> BTreeSet<Name> {
    let exprs = store.exprs.values().filter_map(|expr| match expr {
        Expr::Path { path, .. } => Some(path),
        _ => None,
    });
    let types = store.types.values().filter_map(|ty| match ty {
        TypeRef::Named { path, .. } => Some(path),
        _ => None,
    });
    let first = |path: &Path| path.segments.first().cloned();
    exprs.chain(types).filter_map(first).collect()
}

/// Returns the items and everything that they use, directly or through others. Each item occurs once, nearest first.
fn reach<'db>(db: &'db dyn Db, from: impl IntoIterator<Item = Item<'db>>) -> Vec<Item<'db>> {
    let mut reached: Vec<Item<'db>> = from.into_iter().collect();
    let mut seen: HashSet<Item<'db>> = reached.iter().copied().collect();
    let mut next = 0;
    while let Some(&item) = reached.get(next) {
        db.unwind_if_revision_cancelled();
        let used = uses(db, item).iter().filter_map(|key| key.find(db)).chain(uses_in_tune(db, item));
        reached.extend(used.filter(|used| seen.insert(*used)));
        next += 1;
    }
    reached
}

/// Returns the tokens of an item and of the constants and functions that it uses, directly or through others, without comments and
/// blanks. Two texts with the same tokens have the same meaning, wherever the items stand in their files.
pub fn reached_tokens<'db>(db: &'db dyn Db, item: Item<'db>) -> String {
    let mut out = String::new();
    for item in reach(db, [item]) {
        // The meaning of an import is the imported item, which is reached itself.
        if matches!(item, Item::Use(_)) {
            continue;
        }
        let root = crate::item::item_syntax(db, item);
        let tokens = root.descendants_with_tokens().filter_map(|it| it.into_token());
        for token in tokens.filter(|token| !token.kind().is_trivia()) {
            out.push_str(token.text());
            out.push(' ');
        }
        out.push('\n');
    }
    out
}

/// Returns the errors that belong to an item: those of its names and types, syntax errors in it, and errors of the whole file
/// that concern it.
#[salsa::tracked]
fn own_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> =
        item_diagnostics(db, item).iter().filter(|found| found.is_error()).cloned().collect();
    let whole = errors_of_file(db, item.file(db));
    found.extend(whole.of_all.iter().chain(whole.of.get(&item.key(db)).into_iter().flatten()).cloned());
    sort_diagnostics(db, &mut found);
    found
}

/// Reports whether an item has errors of its own. It is a query of its own, because edits elsewhere may move the places in
/// [`own_errors`] but do not change this bit.
#[salsa::tracked(returns(copy))]
fn has_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    !own_errors(db, item).is_empty()
}

/// Reports whether neither an item nor anything that it uses has an error.
#[salsa::tracked(returns(copy))]
pub(crate) fn is_sound<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    if has_errors(db, item) {
        return false;
    }
    if let Item::Const(_) | Item::Function(_) = item {
        let standing = standing(db, item);
        if let Some(circle) = standing.circle.as_ref().and_then(|key| key.find(db)) {
            return is_sound_circle(db, circle);
        }
        soundness_of_strips(db, item.file(db), standing.strips_below());
    }
    let mut used = uses(db, item).iter().filter_map(|key| key.find(db)).chain(uses_in_tune(db, item));
    used.all(|used| is_sound(db, used))
}

/// Reports whether a circle is sound. All its items reach the same items, so the query is keyed by one of them.
#[salsa::tracked(returns(copy))]
fn is_sound_circle<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    !reach(db, [item]).into_iter().any(|item| has_errors(db, item))
}

/// Computes the soundness of the constants and functions in the first `strips` strips of a file, so that long chains do not
/// overflow the call stack.
#[salsa::tracked(returns(copy))]
fn soundness_of_strips(db: &dyn Db, file: SourceFile, strips: u32) {
    for step in steps_below(db, file, strips) {
        match step {
            Step::Strips(first) => soundness_of_strips(db, file, first),
            Step::Item(item) => {
                is_sound(db, item);
            }
        }
    }
}

/// Returns the errors of an item and of everything that it uses, in all files, ordered by place. Empty if the item is
/// [`Sound`].
#[salsa::tracked]
pub fn reached_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Diagnostic> {
    all_reached_errors(db, [item])
}

/// Returns the errors that several items reach, each once.
pub fn all_reached_errors<'db>(
    db: &'db dyn Db,
    items: impl IntoIterator<Item = Item<'db>>,
) -> Vec<Diagnostic> {
    let reached = reach(db, items).into_iter();
    let mut found: Vec<Diagnostic> = reached.flat_map(|item| own_errors(db, item).iter().cloned()).collect();
    sort_diagnostics(db, &mut found);
    found
}

/// The errors of a file that are not found within one item: syntax errors, and errors that concern its items together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct FileErrors {
    /// Errors that belong to certain items.
    of: HashMap<ItemKey, Vec<Diagnostic>>,
    /// Errors outside of all items. The text there may be the rest of any of them, so all items have these errors.
    of_all: Vec<Diagnostic>,
}

#[salsa::tracked]
fn errors_of_file(db: &dyn Db, file: SourceFile) -> FileErrors {
    let mut syntax = syntax_diagnostics(db, file).iter().filter(|found| found.is_error()).peekable();
    let mut whole = diagnostics::whole_file(db, file).iter().filter(|found| found.is_error()).peekable();
    let mut found = FileErrors::default();
    if syntax.peek().is_none() && whole.peek().is_none() {
        return found;
    }
    let places = Places::of(db, file);
    let errors = syntax.map(|error| (error, Touching::Before));
    for (error, touching) in errors.chain(whole.map(|error| (error, Touching::At))) {
        let items = places.of_error(error, touching);
        if items.is_empty() {
            found.of_all.push(error.clone());
        }
        for item in items {
            found.of.entry(item.key(db)).or_default().push(error.clone());
        }
    }
    found
}

/// The items of a file, each with the range from its first token to the end of its last.
struct Places<'db> {
    file: SourceFile,
    /// In the order of the text.
    items: Vec<(TextRange, Item<'db>)>,
    /// The statements of a cell, which lie between its items.
    cell: Option<(TextRange, Item<'db>)>,
}

impl<'db> Places<'db> {
    fn of(db: &'db dyn Db, file: SourceFile) -> Places<'db> {
        let place = |item: &Item<'db>| (crate::item::tokens_range(db, *item), *item);
        let (cells, items): (Vec<_>, Vec<_>) =
            file_items(db, file).items.iter().map(place).partition(|(_, item)| matches!(item, Item::Cell(_)));
        Places { file, items, cell: cells.into_iter().next() }
    }

    /// Returns the items that contain the places of a finding.
    fn of_error(&self, found: &Diagnostic, touching: Touching) -> Vec<Item<'db>> {
        let labels = std::iter::once(&found.primary).chain(&found.secondary);
        let own = labels.filter(|label| label.file == self.file);
        let mut seen = HashSet::new();
        let items = own.flat_map(|label| self.at(label.range.start(), touching));
        items.filter(|item| seen.insert(*item)).collect()
    }

    /// Returns the items whose tokens contain or touch an offset. With [`Touching::Before`], the item that ends before the offset replaces
    /// one that starts there.
    fn at(&self, offset: TextSize, touching: Touching) -> Vec<Item<'db>> {
        let mut found = Vec::new();
        let first = self.items.partition_point(|(tokens, _)| tokens.end() < offset);
        let touched = self.items[first..].iter().take_while(|(tokens, _)| tokens.start() <= offset);
        for (index, (tokens, item)) in (first..).zip(touched) {
            match index.checked_sub(1) {
                Some(before) if touching == Touching::Before && tokens.start() == offset => {
                    found.push(self.items[before].1);
                }
                _ => found.push(*item),
            }
        }
        let cell = self.cell.filter(|(tokens, _)| tokens.start() <= offset && offset <= tokens.end());
        found.extend(cell.map(|(_, item)| item));
        found
    }
}

/// Selects the item for an offset at the first token of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touching {
    /// The item that begins at the offset.
    At,
    /// The item before it. The parser notices there what that item lacks, such as the `;` in `const A = 1 const B = 2;`.
    Before,
}
