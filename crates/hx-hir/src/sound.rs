//! Which items have no errors, in themselves and in everything that they use.
//!
//! Compiling and running begin here: later stages take a [`Sound`] item, and only a query of this module makes one. So a
//! program of a text with errors cannot be written down. Whether an item is sound is one bit: an edit that only moves
//! text, or that changes what the item does not use, leaves the bit as it was and runs no later stage again.

use std::collections::{BTreeSet, HashSet};

use hx_base::{Diagnostic, SourceFile, TextRange, sort_diagnostics, syntax_diagnostics};
use text_size::TextSize;

use crate::{
    Body, Db, Expr, ExprStore, Function, Item, ItemKey, Kernel, Name, Names, Path, TypeRef, body_names,
    body_of, diagnostics, fn_signature, import::importers, item_diagnostics, kernel_signature,
    signature_names,
};

/// An item without errors that uses none with errors.
///
/// [`Sound::of`] and [`Sound::used`] are its only constructors. It is as good as the revision of the database that its
/// lifetime belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sound<T>(T);

impl<'db, T: Copy + Into<Item<'db>>> Sound<T> {
    /// The item as a sound one; nothing if it reaches an error. Then [`reached_errors`] tells which.
    pub fn of(db: &'db dyn Db, item: T) -> Option<Sound<T>> {
        is_sound(db, item.into()).then_some(Sound(item))
    }

    /// The item itself.
    pub fn get(self) -> T {
        self.0
    }

    /// The same as an item of any kind.
    pub fn item(self) -> Sound<Item<'db>> {
        Sound(self.0.into())
    }

    /// Its body.
    pub fn body(self, db: &'db dyn Db) -> &'db Body {
        body_of(db, self.0.into())
    }

    /// The meanings of the names of its body: every name has one.
    pub fn names(self, db: &'db dyn Db) -> &'db Names {
        body_names(db, self.0.into())
    }

    /// An item that a name of this one means. It is sound, because this one is.
    pub fn used(self, db: &'db dyn Db, key: &ItemKey) -> Option<Sound<Item<'db>>> {
        let used = uses(db, self.0.into()).contains(key).then(|| key.find(db)).flatten();
        used.map(Sound)
    }
}

impl<'db> Sound<Item<'db>> {
    /// The item as a kernel, if it is one.
    pub fn kernel(self) -> Option<Sound<Kernel<'db>>> {
        if let Item::Kernel(kernel) = self.0 { Some(Sound(kernel)) } else { None }
    }

    /// The item as a tile function, if it is one.
    pub fn function(self) -> Option<Sound<Function<'db>>> {
        if let Item::Function(function) = self.0 { Some(Sound(function)) } else { None }
    }
}

/// The items that the names of a signature and body mean, and the `use` items that names come through. Each once, in the
/// order of the text.
#[salsa::tracked]
fn uses<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<ItemKey> {
    let signature = &signature_names(db, item).names;
    let mut found: Vec<ItemKey> = Vec::new();
    for names in [signature, body_names(db, item)] {
        let meanings = names.exprs.values().chain(names.types.values());
        for key in meanings.filter_map(|meaning| meaning.item()) {
            if !found.contains(key) {
                found.push(key.clone());
            }
        }
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

/// The names that the paths of a store begin with: what a `use` may have brought in.
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

/// An item, and everything that it uses, directly or through others. Each once, nearest first.
#[salsa::tracked]
fn reach<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Item<'db>> {
    let (mut reached, mut seen) = (vec![item], HashSet::from([item]));
    let mut next = 0;
    while let Some(&item) = reached.get(next) {
        for used in uses(db, item).iter().filter_map(|key| key.find(db)) {
            if seen.insert(used) {
                reached.push(used);
            }
        }
        next += 1;
    }
    reached
}

/// The errors that belong to an item: those of its names and types, syntax errors in it, and what is wrong with it as a
/// part of its file. Syntax errors outside of all items belong to every item of the file: the text there may be the rest of
/// any of them.
#[salsa::tracked]
fn own_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Diagnostic> {
    let file = item.file(db);
    let mut found: Vec<Diagnostic> =
        item_diagnostics(db, item).iter().filter(|found| found.is_error()).cloned().collect();
    let errors = |found: &'db [Diagnostic]| found.iter().filter(|found| found.is_error());
    let syntax = errors(syntax_diagnostics(db, file));
    let whole = errors(diagnostics::whole_file(db, file));
    if syntax.clone().next().is_none() && whole.clone().next().is_none() {
        return found;
    }
    let places = Places::of(db, file);
    found.extend(syntax.filter(|error| places.belongs(db, error, item, Touching::Before)).cloned());
    found.extend(whole.filter(|error| places.belongs(db, error, item, Touching::At)).cloned());
    sort_diagnostics(db, &mut found);
    found
}

/// Whether errors belong to an item: the part of [`own_errors`] that an edit elsewhere does not change.
#[salsa::tracked(returns(copy))]
fn has_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    !own_errors(db, item).is_empty()
}

/// Whether neither an item nor anything that it uses has an error.
#[salsa::tracked(returns(copy))]
pub(crate) fn is_sound<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    !reach(db, item).iter().any(|item| has_errors(db, *item))
}

/// The errors of an item and of everything that it uses, in whatever files, ordered by place. Empty if the item is
/// [`Sound`].
#[salsa::tracked]
pub fn reached_errors<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> =
        reach(db, item).iter().flat_map(|item| own_errors(db, *item).iter().cloned()).collect();
    sort_diagnostics(db, &mut found);
    found
}

/// The items of a file in the order of the text, each from its first token to the end of its last.
struct Places<'db> {
    items: Vec<(TextRange, Item<'db>)>,
}

impl<'db> Places<'db> {
    fn of(db: &'db dyn Db, file: SourceFile) -> Places<'db> {
        let items = &crate::file_items(db, file).items;
        Places { items: items.iter().map(|item| (crate::item::tokens_range(db, *item), *item)).collect() }
    }

    /// Whether a finding of the file is about an item: one of its places is in it, or it is in none.
    fn belongs(&self, db: &dyn Db, found: &Diagnostic, item: Item<'db>, touching: Touching) -> bool {
        let own = |label: &&hx_base::Label| label.file == item.file(db);
        let labels = std::iter::once(&found.primary).chain(&found.secondary).filter(own);
        let items: Vec<Item<'db>> = labels.flat_map(|label| self.at(label.range.start(), touching)).collect();
        items.is_empty() || items.contains(&item)
    }

    /// The items that an offset is in or touches.
    fn at(&self, offset: TextSize, touching: Touching) -> Vec<Item<'db>> {
        let mut found = Vec::new();
        for (index, (tokens, item)) in self.items.iter().enumerate() {
            if touching == Touching::Before && tokens.start() == offset && index > 0 {
                found.push(self.items[index - 1].1);
            } else if tokens.start() <= offset && offset <= tokens.end() {
                found.push(*item);
            }
        }
        found
    }
}

/// Which item an offset at the first token of an item is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touching {
    /// The item that begins there.
    At,
    /// The item before it: the parser noticed there what that item lacks, as the `;` in `const A = 1 const B = 2;`.
    Before,
}
