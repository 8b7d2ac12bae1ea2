//! Completion where a type stands.

use hx_dtype::DType;
use hx_syntax::{SyntaxKind, T};

use super::words::TYPE_WORDS;
use super::{Completing, CompletionKind};
use crate::names::generics_of;

impl Completing<'_> {
    pub(super) fn is_type_position(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let parent = before.parent().map(|node| node.kind());
        match before.kind() {
            T![->] => true,
            T![mut] | T![shared] | T![register] | T![global] => true,
            T![:] => matches!(
                parent,
                Some(
                    SyntaxKind::PARAM | SyntaxKind::LET_STMT | SyntaxKind::GENERIC_PARAM | SyntaxKind::CONST
                )
            ),
            _ => false,
        }
    }

    pub(super) fn types(&mut self) {
        for dtype in DType::ALL {
            self.add(&dtype.to_string(), CompletionKind::Type, 1);
        }
        if self.inside(SyntaxKind::GENERIC_PARAM_LIST) {
            for kind in ["int", "type", "layout", "bool"] {
                self.add(kind, CompletionKind::Type, 0);
            }
        }
        if let Some(item) = self.item_around() {
            for generic in generics_of(self.db, item) {
                self.add(&generic, CompletionKind::TypeParameter, 0);
            }
        }
        for word in TYPE_WORDS {
            self.add(word, CompletionKind::Keyword, 2);
        }
    }
}
