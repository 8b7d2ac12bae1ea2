//! Names that mean an item of another file which has an error, so that nothing here can be built with it.
//!
//! The error is reported in its own file, which may not be open. The first use in this file therefore points to it, under the
//! code of the error.

use std::collections::HashSet;

use hx_base::{Diagnostic, SourceFile, TextRange};

use super::Reporter;
use super::names::range_of_path;
use crate::sound::is_sound;
use crate::{Db, Expr, Item, ItemKey, Resolution, TypeRef, file_items, reached_errors};

pub(super) fn report(db: &dyn Db, file: SourceFile, out: &mut Vec<Diagnostic>) {
    let mut seen: HashSet<ItemKey> = HashSet::new();
    for &item in &file_items(db, file).items {
        for (key, range) in uses_of_other_files(db, item) {
            let used = key.find(db).filter(|used| !is_sound(db, *used));
            if seen.insert(key) {
                out.extend(used.and_then(|used| diagnostic(db, file, range, used)));
            }
        }
    }
}

/// Returns the items of other files that an item names, with the places of the names.
fn uses_of_other_files<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<(ItemKey, TextRange)> {
    let reporters = Reporter::signature(db, item).into_iter().chain([Reporter::body(db, item)]);
    let mut found: Vec<(ItemKey, TextRange)> = reporters.flat_map(|at| named(&at)).collect();
    let file = item.file(db);
    found.retain(|(key, _)| key.file != file);
    found
}

/// Returns the items that the names of a signature or body mean, with the places of the names.
fn named(at: &Reporter<'_>) -> Vec<(ItemKey, TextRange)> {
    let (store, names) = at.contents();
    let mut found: Vec<(ItemKey, TextRange)> = Vec::new();
    for (id, meaning) in names.exprs.iter() {
        if let (Resolution::Item(key), Expr::Path { path, .. }) = (meaning, &store[id]) {
            found.push((key.clone(), range_of_path(at, at.expr(id), path)));
        }
    }
    for (id, meaning) in names.types.iter() {
        if let (Resolution::Item(key), TypeRef::Named { path, .. }) = (meaning, &store[id]) {
            found.push((key.clone(), range_of_path(at, at.type_ref(id), path)));
        }
    }
    found.sort_by_key(|(_, range)| range.start());
    found
}

fn diagnostic<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    range: TextRange,
    used: Item<'db>,
) -> Option<Diagnostic> {
    // Modules may use each other. An error of this file is already reported at its place, so it is left out here.
    let mut foreign = reached_errors(db, used).iter().filter(|error| error.primary.file != file);
    let first = foreign.next()?;
    let message = format!(
        "`{}` cannot be used, because of an error in `{}`",
        used.name(db),
        first.primary.file.path(db)
    );
    let found = Diagnostic::new(first.code, file, range, message);
    let found = found.also(first.primary.file, first.primary.range, first.message.clone());
    Some(match foreign.count() {
        0 => found,
        1 => found.note("it has one more error"),
        n => found.note(format!("it has {n} more errors")),
    })
}
