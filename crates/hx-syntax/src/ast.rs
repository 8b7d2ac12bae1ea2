//! The typed view of the tree: one struct per node, one enum per choice, written by `cargo xtask codegen`.
//!
//! Every accessor of a child returns an `Option` or an iterator, because half-typed code is the normal case. [`ops`],
//! [`tokens`] and `ext` have the accessors that no grammar rule can express: which operator a node has, which value a literal
//! has.

mod ext;
#[rustfmt::skip]
mod generated;
pub mod ops;
pub mod tokens;

pub use rowan::ast::{AstChildren, AstNode, support};

pub use self::{
    ext::{LiteralKind, MeasureKind, MemorySpace, RoleKind},
    generated::*,
    ops::{ArithOp, AssignOp, BinaryOp, CmpOp, LogicOp, UnaryOp},
    tokens::{Comment, CommentKind, FloatNumber, IntNumber, StringLit},
};

use crate::{Hx, SyntaxKind};

/// A node that introduces a name, such as a `fn` or a parameter.
pub trait HasName: AstNode<Language = Hx> {
    /// Returns the introduced name; `None` if it is missing in broken code.
    fn name(&self) -> Option<Name> {
        support::child(self.syntax())
    }
}

/// A node that may carry attributes.
pub trait HasAttrs: AstNode<Language = Hx> {
    /// Returns the attributes, in order.
    fn attrs(&self) -> AstChildren<Attr> {
        support::children(self.syntax())
    }

    /// Returns the first attribute of this name, such as `unroll` for `#[unroll(4)]`; `None` without one.
    fn attr(&self, name: &str) -> Option<Attr> {
        self.attrs().find(|attr| attr.path().is_some_and(|path| path.text() == name))
    }
}

/// A node that `///` comments before it may document.
pub trait HasDocs: AstNode<Language = Hx> {
    /// Returns the text of the doc comments, one line each, without the slashes and the space after them. `None` without doc
    /// comments.
    fn doc_text(&self) -> Option<String> {
        let comments = self
            .syntax()
            .children_with_tokens()
            .take_while(|it| it.kind().is_trivia() || it.kind() == SyntaxKind::ATTR)
            .filter_map(|it| Comment::cast(it.into_token()?));
        tokens::doc_text(comments, CommentKind::ItemDoc)
    }
}

impl SourceFile {
    /// Returns the text of the `//!` comments before the first item, which document the file. `None` without such comments.
    pub fn doc_text(&self) -> Option<String> {
        let comments = self
            .syntax()
            .children_with_tokens()
            .filter_map(|it| it.into_token())
            .take_while(|it| it.kind().is_trivia())
            .filter_map(Comment::cast);
        tokens::doc_text(comments, CommentKind::FileDoc)
    }
}
