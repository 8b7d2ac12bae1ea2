//! Diagnostics of names, types and shapes: converts facts about ids to text, labels and fixes.
//!
//! Each family has a module. Only these modules read source maps, so an edit of whitespace changes the diagnostics and not the
//! results behind them.

mod broken;
mod calls;
mod dtypes;
mod family;
mod imports;
mod indices;
mod items;
mod names;
mod ptx;
mod recursion;
mod shapes;
mod tune;
mod types;

pub use shapes::GEMM_SHAPES;

use std::sync::LazyLock;

use hx_base::{Code, Diagnostic, SourceFile, TextRange, TextSize, sort_diagnostics};

use crate::{
    Db, ExprId, ExprStore, Item, Kernel, Names, PatId, SignatureSourceMap, SourceMap, StmtId, TypeProblem,
    TypeRefId, body_names, body_of, body_source_map, family_names, family_of, family_source_map, file_items,
    fn_signature, infer_body, kernel_family, kernel_signature, kernel_tune, signature_names,
    signature_source_map, signature_types, tune_names, tune_source_map, tune_types,
};

/// Returns the diagnostics of one item, ordered by place.
#[salsa::tracked]
pub fn item_diagnostics<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(at) = Reporter::signature(db, item) {
        names::report(&at, &signature_names(db, item).names.problems, &mut found);
        report_types(&at, &signature_types(db, item).problems, &mut found);
        recursion::report(&at, &mut found);
        if let Item::Kernel(kernel) = item {
            // A kernel without a clause or a list may lack the values of what is `auto`, or have too many of them.
            if tune_source_map(db, kernel).is_none() {
                tune::report(&at, &tune_types(db, kernel).faults, &mut found);
            }
            if family_source_map(db, kernel).is_none() {
                family::report(&at, &family_of(db, kernel).faults, &mut found);
            }
        }
    }
    if let Some((at, kernel)) = Reporter::tune(db, item) {
        let types = tune_types(db, kernel);
        names::report(&at, &tune_names(db, kernel).problems, &mut found);
        report_types(&at, &types.problems, &mut found);
        tune::report(&at, &types.faults, &mut found);
    }
    if let Some((at, kernel)) = Reporter::family(db, item) {
        let family = family_of(db, kernel);
        names::report(&at, &family_names(db, kernel).problems, &mut found);
        report_types(&at, &family.problems, &mut found);
        family::report(&at, &family.faults, &mut found);
    }
    let at = Reporter::body(db, item);
    names::report(&at, &body_names(db, item).problems, &mut found);
    report_types(&at, &infer_body(db, item).problems, &mut found);
    items::report(&at, &mut found);
    ptx::report(&at, &mut found);
    recursion::report(&at, &mut found);
    sort_diagnostics(db, &mut found);
    found
}

/// Returns the diagnostics of the names and types of a file, ordered by place. Syntax errors are not included.
#[salsa::tracked]
pub fn file_diagnostics(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let items = &file_items(db, file).items;
    let mut found: Vec<Diagnostic> =
        items.iter().flat_map(|item| item_diagnostics(db, *item).clone()).collect();
    found.extend(whole_file(db, file).iter().cloned());
    broken::report(db, file, &mut found);
    sort_diagnostics(db, &mut found);
    found
}

/// Returns the diagnostics that concern the items of a file together, and its imports.
#[salsa::tracked]
pub(crate) fn whole_file(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    items::report_file(db, file, &mut found);
    found
}

fn report_types(at: &Reporter<'_>, problems: &[TypeProblem], out: &mut Vec<Diagnostic>) {
    for problem in problems {
        let found = calls::diagnostic(at, problem)
            .or_else(|| shapes::diagnostic(at, problem))
            .or_else(|| types::diagnostic(at, problem));
        out.extend(found);
    }
}

/// Finds the places of the ids of one store.
struct Reporter<'db> {
    db: &'db dyn Db,
    item: Item<'db>,
    map: &'db SourceMap,
    signature: Option<&'db SignatureSourceMap>,
    in_signature: bool,
    /// The part of the signature, if its ids have a store of their own.
    clause: Option<Clause>,
}

/// A part of a kernel's header with a store of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Tune,
    Family,
}

/// The source map of an item without a body.
static NOWHERE: LazyLock<SourceMap> = LazyLock::new(SourceMap::default);

impl<'db> Reporter<'db> {
    /// Makes a reporter for the body of an item.
    fn body(db: &'db dyn Db, item: Item<'db>) -> Reporter<'db> {
        let map = body_source_map(db, item).unwrap_or(&NOWHERE);
        Reporter {
            db,
            item,
            map,
            signature: signature_source_map(db, item),
            in_signature: false,
            clause: None,
        }
    }

    /// Makes a reporter for the signature of an item, if it has one.
    fn signature(db: &'db dyn Db, item: Item<'db>) -> Option<Reporter<'db>> {
        let signature = signature_source_map(db, item)?;
        let map = &signature.map;
        Some(Reporter { db, item, map, signature: Some(signature), in_signature: true, clause: None })
    }

    /// Makes a reporter for the `tune` clause of a kernel, if the item is a kernel with one.
    fn tune(db: &'db dyn Db, item: Item<'db>) -> Option<(Reporter<'db>, Kernel<'db>)> {
        let Item::Kernel(kernel) = item else { return None };
        let map = tune_source_map(db, kernel)?;
        let signature = signature_source_map(db, item);
        Some((Reporter { db, item, map, signature, in_signature: true, clause: Some(Clause::Tune) }, kernel))
    }

    /// Makes a reporter for the family of a kernel, if the item is a kernel with one.
    fn family(db: &'db dyn Db, item: Item<'db>) -> Option<(Reporter<'db>, Kernel<'db>)> {
        let Item::Kernel(kernel) = item else { return None };
        let map = family_source_map(db, kernel)?;
        let signature = signature_source_map(db, item);
        Some((
            Reporter { db, item, map, signature, in_signature: true, clause: Some(Clause::Family) },
            kernel,
        ))
    }
}

impl<'db> Reporter<'db> {
    /// Returns the store that this reporter's ids refer to, and the meanings of its names.
    fn contents(&self) -> (&'db ExprStore, &'db Names) {
        let (db, item) = (self.db, self.item);
        let names = || &signature_names(db, item).names;
        match item {
            Item::Kernel(it) if self.clause == Some(Clause::Tune) => {
                (&kernel_tune(db, it).store, tune_names(db, it))
            }
            Item::Kernel(it) if self.clause == Some(Clause::Family) => {
                (&kernel_family(db, it).store, family_names(db, it))
            }
            Item::Kernel(it) if self.in_signature => (&kernel_signature(db, it).store, names()),
            Item::Function(it) if self.in_signature => (&fn_signature(db, it).store, names()),
            _ => (&body_of(db, item).store, body_names(db, item)),
        }
    }
}

impl Reporter<'_> {
    fn file(&self) -> SourceFile {
        self.item.file(self.db)
    }

    fn absolute(&self, range: Option<TextRange>) -> TextRange {
        let range = range.or_else(|| self.signature?.name).unwrap_or_default();
        range + self.item.offset(self.db)
    }

    /// Returns the range of an expression; that of the item's name if the text lacks the expression.
    fn expr(&self, id: ExprId) -> TextRange {
        self.absolute(self.map.expr(id))
    }

    fn pat(&self, id: PatId) -> TextRange {
        self.absolute(self.map.pat(id))
    }

    /// Returns the range of the first word of a statement.
    fn stmt_word(&self, id: StmtId) -> TextRange {
        let whole = self.absolute(self.map.stmt(id));
        let text = self.text(whole);
        let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        TextRange::at(whole.start(), TextSize::new(word as u32))
    }

    fn type_ref(&self, id: TypeRefId) -> TextRange {
        self.absolute(self.map.type_ref(id))
    }

    fn label(&self, id: ExprId, index: usize) -> TextRange {
        self.absolute(self.map.label(id, index).or_else(|| self.map.expr(id)))
    }

    fn name(&self) -> TextRange {
        self.absolute(None)
    }

    fn text(&self, range: TextRange) -> &str {
        let text = self.file().text(self.db);
        text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or_default()
    }

    fn diagnostic(&self, code: &'static Code, range: TextRange, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.file(), range, message)
    }
}

/// Returns the candidate that is near in spelling, if exactly one is.
fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().filter(|c| *c != name).collect();
    let found = hx_base::nearest(name, candidates.iter().copied())?;
    let others = candidates.iter().copied().filter(|c| *c != found);
    hx_base::nearest(name, others).is_none().then_some(found)
}

/// Formats a count: `1 argument`, `2 arguments`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_neighbour_is_offered() {
        assert_eq!(nearest("regster_tensor", ["register_tensor", "shared_tensor"]), Some("register_tensor"));
        assert_eq!(nearest("kn", ["bn", "x"]), Some("bn"));
        assert_eq!(nearest("bx", ["bn", "bm"]), None);
        assert_eq!(nearest("x", ["register_tensor", "y"]), None);
        assert_eq!(nearest("syn", ["sync"]), Some("sync"));
    }
}
