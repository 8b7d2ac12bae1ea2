//! Completion behind a dot in device code.

use hx_base::TextRange;
use hx_hir::{Builtin, Item, Method, Place, Ty, file_items, infer_body, item_range};
use hx_syntax::SyntaxToken;
use hx_syntax::ast::{self, AstNode as _};

use super::scope::call_snippet;
use super::{Completing, CompletionKind};
use crate::callable::expr_at;
use crate::hover::place_at;

impl Completing<'_> {
    pub(super) fn members(&mut self, dot: &SyntaxToken) {
        let base = dot.parent().and_then(|node| {
            let mut exprs = node.children().filter_map(ast::Expr::cast);
            exprs.find(|expr| expr.syntax().text_range().end() <= dot.text_range().start())
        });
        let ty = base.and_then(|base| self.type_of(base.syntax().text_range()));
        let place = place_at(self.db, self.file, dot.text_range().start());
        if place.or(self.is_cell().then_some(Place::Host)) == Some(Place::Host) {
            return self.host_members(ty.as_ref());
        }
        let tensor = !matches!(
            ty,
            Some(
                Ty::Int(_)
                    | Ty::Bool
                    | Ty::Str
                    | Ty::Float(_)
                    | Ty::Unit
                    | Ty::Range { .. }
                    | Ty::Layout(_)
                    | Ty::Function(_)
                    | Ty::Pipeline
                    | Ty::Turns
                    | Ty::Barrier
                    | Ty::Counter
            )
        );
        if tensor {
            let entry = self.add("T", CompletionKind::Member, 0);
            entry.detail = "the last two modes swapped".to_owned();
            entry.docs = "A view of the same elements with the last two modes swapped.".to_owned();
        }
        let methods = match &ty {
            Some(ty) if !ty.is_quiet() => Method::all_of(ty),
            _ => Method::all_of(&Ty::Pipeline),
        };
        for method in methods {
            let builtin = Builtin::Method(*method);
            let names = builtin.params().unwrap_or_default().iter().map(|param| param.name);
            let insert = call_snippet(builtin.name(), names);
            let entry = self.add(builtin.name(), CompletionKind::Member, 1);
            (entry.detail, entry.docs) = (builtin.signature(), builtin.doc().to_owned());
            (entry.insert, entry.is_snippet) = (insert, true);
        }
    }

    fn type_of(&self, range: TextRange) -> Option<Ty> {
        let around = |item: &&Item<'_>| item_range(self.db, **item).contains_range(range);
        let item = *file_items(self.db, self.file).items.iter().find(around)?;
        let expr = expr_at(self.db, item, range)?;
        infer_body(self.db, item).exprs.get(expr).cloned()
    }
}
