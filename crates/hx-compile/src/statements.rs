//! Finds statements of a body by their place in the text.

use std::collections::BTreeSet;

use hx_base::TextRange;
use hx_hir::{Expr, ExprStore, Item, Name, Pat, PatId, StmtId, StmtKind, body_of, body_source_map};

use crate::Db;

/// Returns the innermost statement of an item's body that contains a range; `None` if there is none. Both are relative to the
/// item.
pub(crate) fn statement<'db>(db: &'db dyn Db, item: Item<'db>, range: TextRange) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let around = map.stmts.iter().filter(|(_, found): &(StmtId, _)| found.contains_range(range));
    around.map(|(_, found)| *found).min_by_key(|found| found.len())
}

/// Returns the innermost statement of an item's body that contains another statement; `None` if there is none. Both are
/// relative to the item.
pub(crate) fn statement_around<'db>(db: &'db dyn Db, item: Item<'db>, stmt: TextRange) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let around = map.stmts.iter().map(|(_, found)| *found);
    around
        .filter(|found| found.contains_range(stmt) && found.len() > stmt.len())
        .min_by_key(|found| found.len())
}

/// Returns the statements of an item's body in a range, in the order of the text. All ranges are relative to the item.
pub(crate) fn statements_in<'db>(db: &'db dyn Db, item: Item<'db>, range: TextRange) -> Vec<TextRange> {
    let Some(map) = body_source_map(db, item) else { return Vec::new() };
    let mut found: Vec<TextRange> =
        map.stmts.iter().map(|(_, found)| *found).filter(|found| range.contains_range(*found)).collect();
    found.sort_by_key(|found| (found.start(), found.end()));
    found
}

/// Returns the names that a `let` of an item's body binds; `None` if another statement is at the range. The range is relative to the
/// item.
pub(crate) fn bound_names<'db>(db: &'db dyn Db, item: Item<'db>, range: TextRange) -> Option<BTreeSet<Name>> {
    fn add(store: &ExprStore, pat: PatId, names: &mut BTreeSet<Name>) {
        match &store[pat] {
            Pat::Bind(name) => drop(names.insert(name.clone())),
            Pat::Tuple(parts) | Pat::Array(parts) => parts.iter().for_each(|part| add(store, *part, names)),
            Pat::Missing | Pat::Wildcard => {}
        }
    }
    let mut stmts = body_source_map(db, item)?.stmts.iter();
    let (stmt, _) = stmts.find(|(_, found)| **found == range)?;
    let store = &body_of(db, item).store;
    let StmtKind::Let { pat, .. } = store[stmt].kind else { return None };
    let mut names = BTreeSet::new();
    add(store, pat, &mut names);
    Some(names)
}

/// Returns the names that the expressions of an item's body in a range mention. The range is relative to the item.
pub(crate) fn mentioned_names<'db>(db: &'db dyn Db, item: Item<'db>, range: TextRange) -> BTreeSet<Name> {
    let Some(map) = body_source_map(db, item) else { return BTreeSet::new() };
    let exprs = body_of(db, item).store.exprs.iter();
    let inside = exprs.filter(|(id, _)| map.expr(*id).is_some_and(|at| range.contains_range(at)));
    let first = |expr: &Expr| match expr {
        Expr::Path { path, .. } => path.segments.first().cloned(),
        _ => None,
    };
    inside.filter_map(|(_, expr)| first(expr)).collect()
}

/// Returns the last statement of an item's body, relative to the item; `None` if the body is empty.
pub(crate) fn last_statement<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let all = map.stmts.iter().map(|(_, found)| *found);
    all.max_by_key(|found| (found.end(), found.len()))
}
