//! Places of hints that survive edits around them: an anchor is the text at the place, and its number among equal texts.

use std::collections::BTreeMap;

use hx_base::TextRange;
use hx_compile::Db;
use hx_hir::{Item, Kernel, Pat, StmtId, StmtKind, body_of, body_source_map, item_text};

/// The name of a `let`, or a statement, in a kernel.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Anchor {
    pub(crate) kind: AnchorKind,
    /// The name, or the statement's text without spaces.
    pub(crate) text: String,
    /// Index among the anchors of this kind with the same text, from 0.
    pub(crate) nth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum AnchorKind {
    Name,
    Statement,
}

/// The anchors of a body, each with its range from the beginning of the item. Bodies with errors have anchors, too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Anchors {
    /// In text order.
    pub(crate) all: Vec<(Anchor, TextRange)>,
}

/// Returns the anchors of a kernel. They do not depend on the text outside of the kernel.
#[salsa::tracked]
pub(crate) fn anchors<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Anchors {
    Anchors::of(db, kernel)
}

impl Anchors {
    fn of(db: &dyn Db, kernel: Kernel<'_>) -> Anchors {
        let item = Item::Kernel(kernel);
        let Some(map) = body_source_map(db, item) else { return Anchors::default() };
        let body = body_of(db, item);
        let text = item_text(db, item);
        let mut found: Vec<(AnchorKind, String, TextRange)> = Vec::new();
        let mut add = |kind: AnchorKind, range: TextRange| {
            let written = text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or_default();
            let words = written.chars().filter(|c| !c.is_whitespace()).collect();
            found.push((kind, words, range));
        };
        let simple = |stmt: StmtId| {
            !matches!(
                body.store[stmt].kind,
                StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::WarpGroups(_)
            )
        };
        for (stmt, range) in map.stmts.iter().filter(|(stmt, _)| simple(*stmt)) {
            add(AnchorKind::Statement, *range);
            if let StmtKind::Let { pat, .. } = body.store[stmt].kind {
                names(&body.store, pat, &mut |bind| {
                    if let Some(range) = map.pat(bind) {
                        add(AnchorKind::Name, range);
                    }
                });
            }
        }
        if let hx_hir::Expr::Block(block) = &body.store[body.root]
            && let Some(tail) = block.tail.and_then(|tail| map.expr(tail))
        {
            add(AnchorKind::Statement, tail);
        }
        found.sort_by_key(|(kind, _, range)| (range.start(), *kind));
        let mut seen: BTreeMap<(AnchorKind, String), usize> = BTreeMap::new();
        let numbered = found.into_iter().map(|(kind, text, range)| {
            let count = seen.entry((kind, text.clone())).or_default();
            let anchor = Anchor { kind, text, nth: *count };
            *count += 1;
            (anchor, range)
        });
        Anchors { all: numbered.collect() }
    }

    /// Returns the anchor of the name at exactly this range; `None` if no name has the range.
    pub(crate) fn name_at(&self, range: TextRange) -> Option<&Anchor> {
        let found = self.all.iter().find(|(a, at)| a.kind == AnchorKind::Name && *at == range)?;
        Some(&found.0)
    }

    /// Returns the innermost statement around a range; `None` outside of all statements.
    pub(crate) fn statement_around(&self, range: TextRange) -> Option<&(Anchor, TextRange)> {
        let around =
            |(a, at): &&(Anchor, TextRange)| a.kind == AnchorKind::Statement && at.contains_range(range);
        self.all.iter().filter(around).min_by_key(|(_, at)| at.len())
    }
}

fn names(store: &hx_hir::ExprStore, pat: hx_hir::PatId, found: &mut dyn FnMut(hx_hir::PatId)) {
    match &store[pat] {
        Pat::Bind(_) => found(pat),
        Pat::Tuple(parts) | Pat::Array(parts) => parts.iter().for_each(|part| names(store, *part, found)),
        Pat::Missing | Pat::Wildcard => {}
    }
}
