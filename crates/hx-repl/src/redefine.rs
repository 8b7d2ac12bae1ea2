//! Updates definitions after a definition that they use is replaced.
//!
//! A new definition shadows the old one, and accepted code keeps the old meaning. But a person who fixes a function expects the
//! kernels that call it to use the fix. So the definitions that depend on it, and no others, are entered again after the new
//! definition, in a separate cell. All other definitions stay compiled.
//!
//! The definitions of a loaded file see that file and no cell, so they keep the old meaning. A remark names them.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, FileKind, Scope, SourceFile};
use hx_hir::{
    Db, Item, ItemKey, ItemKind, Name, Names, Path, PathTarget, Resolution, body_names, family_names,
    file_items, item_range, names_in_scope, resolve_path, signature_names, tune_names,
};

use crate::screen::Screen;
use crate::session::{self, Session};

/// Maximal number of names in a remark about loaded definitions.
const NAMED: usize = 5;

impl Session {
    /// Enters again, in a separate cell, the definitions that depend on definitions which `cell` has replaced. `before` is the
    /// scope that `cell` saw. If they do not fit the new definitions, they keep the old ones, and the screen shows why.
    pub(crate) fn carry_along(&mut self, cell: SourceFile, before: Option<Scope>, screen: &mut Screen<'_>) {
        let db = &self.db;
        let redefined: Vec<Name> = file_items(db, cell).named().map(|item| item.name(db).clone()).collect();
        if redefined.is_empty() || before.is_none() {
            return;
        }
        if let Some(text) = unreached(db, before, cell, &redefined) {
            screen.remark(&text);
        }
        let found = dependents(db, before, cell, &redefined);
        if found.is_empty() {
            return;
        }
        let names: Vec<String> = found.iter().map(called).collect();
        let text: Vec<&str> = found.iter().filter_map(|key| text_of(db, key)).collect();
        let file = SourceFile::cell(db, self.next_path(), text.join("\n\n"), self.scope);
        let machines = self.machines.clone();
        let deadline = self.deadline();
        let checked = self.work(screen, deadline, move |db, _| session::check(db, file, &machines));
        let (uses, keeps) = if names.len() == 1 { ("uses", "keeps") } else { ("use", "keep") };
        match checked {
            Ok(Ok(_)) => {
                self.accept(file);
                screen.remark(&format!("{} {uses} the new definition", names.join(", ")));
            }
            Ok(Err(errors)) => {
                let errors: Vec<Diagnostic> = errors.into_iter().filter(Diagnostic::is_error).collect();
                screen.diagnostics(&self.db, &errors);
                let names = names.join(", ");
                screen.remark(&format!(
                    "{names} {keeps} the definition from before, as the new one does not fit"
                ));
            }
            Err(_) => {
                screen.remark(&format!("{} {keeps} the definition from before", names.join(", ")));
            }
        }
    }
}

/// Formats `` `k` `` or `test "t"`.
fn called(key: &ItemKey) -> String {
    match key.kind {
        ItemKind::Test | ItemKind::Bench => format!("{} {:?}", key.kind.word(), key.name),
        ItemKind::Main => "`main`".to_owned(),
        _ => format!("`{}`", key.name),
    }
}

fn text_of<'db>(db: &'db dyn Db, key: &ItemKey) -> Option<&'db str> {
    let range = item_range(db, key.find(db)?);
    Some(key.file.text(db).get(std::ops::Range::<usize>::from(range))?.trim())
}

/// Describes which visible definitions of loaded files keep using a redefined name of a loaded file, and how to change that.
/// Considers the first such name only. `None` if there are no such definitions.
fn unreached(db: &dyn Db, before: Option<Scope>, cell: SourceFile, redefined: &[Name]) -> Option<String> {
    let scratch = SourceFile::cell(db, "entry", "", before);
    let meaning = |name: &Name| match resolve_path(db, scratch, &Path::from_name(name.clone())) {
        Some(PathTarget::Item(item)) => Some(item.key(db)),
        _ => None,
    };
    let old = redefined.iter().filter_map(meaning).find(|key| key.file.kind(db) != FileKind::Cell)?;
    let others = names_in_scope(db, scratch, false).into_iter().filter(|name| !redefined.contains(name));
    let mut keeping: Vec<ItemKey> = others.filter_map(|name| meaning(&name)).collect();
    keeping.retain(|key| key.file.kind(db) != FileKind::Cell && uses(db, key, &old));
    // Leave out definitions that the cell replaces as well.
    keeping.retain(|key| !file_items(db, cell).named().any(|item| *item.name(db) == key.name));
    keeping.sort_by_key(called);
    keeping.dedup();
    let names: Vec<String> = keeping.iter().take(NAMED).map(called).collect();
    let more = match keeping.len().saturating_sub(NAMED) {
        _ if names.is_empty() => return None,
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (keeps, them) = if keeping.len() == 1 { ("keeps", "it") } else { ("keep", "them") };
    let (path, name) = (old.file.path(db), called(&old));
    let way = match old.file.kind(db) {
        FileKind::Std => format!("enter {them} here to use the new one"),
        _ => format!("change the file and enter `:reload`, or enter {them} here"),
    };
    Some(format!(
        "{}{more} {keeps} {name} of `{path}`, because files see no entries: {way}",
        names.join(", ")
    ))
}

/// Reports whether an item of a loaded file uses another one, directly or through others.
fn uses(db: &dyn Db, key: &ItemKey, used: &ItemKey) -> bool {
    let (mut open, mut seen) = (vec![key.clone()], Vec::new());
    while let Some(key) = open.pop() {
        let Some(item) = key.find(db).filter(|_| !seen.contains(&key)) else { continue };
        seen.push(key);
        open.extend(used_items(db, item));
        if open.contains(used) {
            return true;
        }
    }
    false
}

/// Returns the visible definitions of earlier cells that depend, directly or indirectly, on the old definition of one of the
/// names, in the order in which they were entered. Definitions of loaded files cannot depend on cells.
fn dependents(db: &dyn Db, before: Option<Scope>, cell: SourceFile, redefined: &[Name]) -> Vec<ItemKey> {
    let scratch = SourceFile::cell(db, "entry", "", before);
    let meaning = |name: &Name| match resolve_path(db, scratch, &Path::from_name(name.clone())) {
        Some(PathTarget::Item(item)) => Some(item.key(db)),
        _ => None,
    };
    let mut changed: Vec<ItemKey> = redefined.iter().filter_map(meaning).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let seen = seen_items(db, before, cell);
    let mut found: BTreeSet<usize> = BTreeSet::new();
    loop {
        let leads = |(at, item): (usize, &Item<'_>)| {
            let used = used_items(db, *item);
            (!found.contains(&at) && used.iter().any(|key| changed.contains(key))).then(|| (at, item.key(db)))
        };
        let more: Vec<(usize, ItemKey)> = seen.iter().enumerate().filter_map(leads).collect();
        if more.is_empty() {
            break;
        }
        for (at, key) in more {
            found.insert(at);
            changed.push(key);
        }
    }
    found.into_iter().map(|at| seen[at].key(db)).collect()
}

/// Returns the definitions of earlier cells that no later one shadows, oldest first.
fn seen_items<'db>(db: &'db dyn Db, before: Option<Scope>, cell: SourceFile) -> Vec<Item<'db>> {
    let identity = |item: &Item<'db>| {
        // Constants, functions and kernels share one namespace.
        let kind = match item.kind() {
            ItemKind::Const | ItemKind::Function | ItemKind::Kernel => ItemKind::Kernel,
            other => other,
        };
        (kind, item.name(db).clone())
    };
    let mut hidden: BTreeSet<(ItemKind, Name)> = file_items(db, cell).items.iter().map(identity).collect();
    let mut out = Vec::new();
    for file in Scope::files(db, before) {
        for &item in file_items(db, file).items.iter().rev() {
            if matches!(item, Item::Use(_) | Item::Cell(_)) {
                continue;
            }
            if hidden.insert(identity(&item)) && file.kind(db) == FileKind::Cell {
                out.push(item);
            }
        }
    }
    out.reverse();
    out
}

/// Returns the items that an item's names refer to.
fn used_items<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<ItemKey> {
    let of = |names: &Names| {
        let all = names.exprs.values().chain(names.types.values());
        all.filter_map(|r| if let Resolution::Item(key) = r { Some(key.clone()) } else { None })
            .collect::<Vec<_>>()
    };
    let mut out = of(body_names(db, item));
    out.extend(of(&signature_names(db, item).names));
    if let Item::Kernel(kernel) = item {
        out.extend(of(tune_names(db, kernel)));
        out.extend(of(family_names(db, kernel)));
    }
    out
}
