//! Completion in the lists of a call: compile-time arguments and named arguments.

use hx_hir::Need;
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, T};

use super::{Completing, CompletionKind};
use crate::callable::{call_at, callable};
use crate::names::occurrence_at;

impl Completing<'_> {
    /// `matmul<|`: adds the compile-time parameters of the callee.
    pub(super) fn generic_arguments(&mut self) {
        let Some(before) = self.before.clone() else { return };
        let open = match before.kind() {
            T![<] => Some(before),
            T![,] => {
                let list = before.parent().filter(|node| node.kind() == SyntaxKind::GENERIC_ARG_LIST);
                list.and_then(|list| list.first_token())
            }
            _ => None,
        };
        let Some(open) = open.filter(|token| token.kind() == T![<]) else { return };
        let mut name = open.prev_token();
        while let Some(token) = name.clone().filter(|token| token.kind().is_trivia()) {
            name = token.prev_token();
        }
        let Some(name) = name.filter(|token| token.kind() == SyntaxKind::IDENT) else { return };
        let Some(found) = occurrence_at(self.db, self.file, name.text_range().start()) else { return };
        let Some(callee) = callable(self.db, &found.def) else { return };
        let written: Vec<String> = open
            .parent()
            .and_then(ast::GenericArgList::cast)
            .map(|list| list.args().filter_map(|arg| Some(arg.name_ref()?.text())).collect())
            .unwrap_or_default();
        for generic in callee.generics.into_iter().filter(|generic| !written.contains(&generic.name)) {
            let entry = self.add(&generic.name, CompletionKind::TypeParameter, 0);
            entry.insert = format!("{} = ", generic.name);
            entry.detail = generic.text;
        }
    }

    pub(super) fn named_arguments(&mut self) {
        // After a label the argument's value follows, so no label is offered.
        if self.before.as_ref().is_some_and(|token| token.kind() == T![:]) {
            return;
        }
        let Some(call) = call_at(self.db, self.file, self.at) else { return };
        for param in call.callable.params {
            let rank = match param.need {
                Need::Rest => continue,
                // A value that fits comes before names of arguments that may be left out.
                Need::Named if self.wanted.is_some() => 2,
                Need::Named => 0,
                Need::Optional => 1,
                // A required argument is usually passed by position, so its name comes late in the list.
                Need::Required => 6,
            };
            if !call.named.contains(&param.name) {
                let entry = self.add(&format!("{}:", param.name), CompletionKind::Argument, rank);
                entry.insert = format!("{}: ", param.name);
                entry.detail = format!("argument of `{}`", call.callable.name);
            }
        }
    }
}
