//! Kinds of nodes and tokens. The list is generated from `grammar/hx.ungram`.

#[rustfmt::skip]
mod generated;

pub use generated::{SyntaxKind, T};

impl SyntaxKind {
    /// Reports whether the kind is whitespace or a comment, which the grammar does not see.
    pub fn is_trivia(self) -> bool {
        matches!(self, SyntaxKind::WHITESPACE | SyntaxKind::COMMENT)
    }

    /// Returns the kind with this number, or `ERROR` if there is none.
    pub(crate) fn from_raw(raw: u16) -> SyntaxKind {
        SyntaxKind::ALL.get(usize::from(raw)).copied().unwrap_or(SyntaxKind::ERROR)
    }
}
