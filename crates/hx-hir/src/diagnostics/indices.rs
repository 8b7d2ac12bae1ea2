//! Explains a tensor that has too many modes, or modes of the wrong extent: the number of its modes, the number of indices
//! given, and where the tensor was made.

use hx_base::Diagnostic;

use super::{Reporter, count};
use crate::{
    Expr, ExprId, ExprStore, Extent, PatId, Resolution, StmtKind, Ty, body_names, body_of, infer_body,
    shape_text,
};

/// A tensor with an index that does not cover all of its modes.
pub(super) struct Indexed<'a> {
    base: ExprId,
    shape: &'a [Extent],
    given: usize,
}

impl Reporter<'_> {
    /// Returns the tensor and the index behind an expression of the body, if the index leaves modes out. Follows a local to its
    /// value. `None` for any other expression, and in a signature.
    pub(super) fn indexed(&self, expr: ExprId) -> Option<Indexed<'_>> {
        if self.in_signature {
            return None;
        }
        let store = &body_of(self.db, self.item).store;
        let Expr::Index { base, args } = &store[self.source(store, expr)] else { return None };
        let Some(Ty::Tensor(t)) = infer_body(self.db, self.item).exprs.get(*base) else { return None };
        let given = args.iter().filter(|arg| !matches!(store[**arg], Expr::New)).count();
        (given < t.shape.len()).then_some(Indexed { base: *base, shape: &t.shape, given })
    }

    /// Adds the modes of the tensor, the number of indices, and where the tensor was made.
    pub(super) fn explain_indexed(&self, found: Diagnostic, indexed: &Indexed<'_>) -> Diagnostic {
        let (modes, given) = (indexed.shape.len(), indexed.given);
        let verb = if given == 1 { "is" } else { "are" };
        let found = found.also(
            self.file(),
            self.expr(indexed.base),
            format!(
                "this has {}, `{}`, and {} {verb} given",
                count(modes, "mode"),
                shape_text(indexed.shape),
                index_count(given)
            ),
        );
        self.made(found, indexed.base)
            .help("a mode without an index stays whole: an integer in its place drops it, as in `t[.., i]`")
    }

    /// Adds the place where a local was bound to its value.
    pub(super) fn made(&self, found: Diagnostic, expr: ExprId) -> Diagnostic {
        if self.in_signature {
            return found;
        }
        let source = self.source(&body_of(self.db, self.item).store, expr);
        if source == expr { found } else { found.also(self.file(), self.expr(source), "made here") }
    }

    /// Returns the value that a local was bound to; any other expression is its own source.
    fn source(&self, store: &ExprStore, expr: ExprId) -> ExprId {
        match body_names(self.db, self.item).exprs.get(expr) {
            Some(Resolution::Local(pat)) => bound_value(store, *pat).unwrap_or(expr),
            _ => expr,
        }
    }
}

fn bound_value(store: &ExprStore, local: PatId) -> Option<ExprId> {
    store.stmts.iter().find_map(|(_, stmt)| match &stmt.kind {
        StmtKind::Let { pat, value, .. } if *pat == local => Some(*value),
        _ => None,
    })
}

/// Formats a count: `1 index`, `2 indices`.
pub(super) fn index_count(n: usize) -> String {
    if n == 1 { "1 index".to_owned() } else { format!("{n} indices") }
}
