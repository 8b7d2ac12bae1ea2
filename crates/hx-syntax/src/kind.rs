//! Kinds of nodes and tokens. The list is generated from `grammar/hx.ungram`.

#[rustfmt::skip]
mod generated;

pub use generated::{SyntaxKind, T};

impl SyntaxKind {
    /// Whitespace and comments: what the grammar does not see.
    pub fn is_trivia(self) -> bool {
        matches!(self, SyntaxKind::WHITESPACE | SyntaxKind::COMMENT)
    }

    /// The kind of that number. A number that no kind has is an error token.
    pub(crate) fn from_raw(raw: u16) -> SyntaxKind {
        SyntaxKind::ALL.get(usize::from(raw)).copied().unwrap_or(SyntaxKind::ERROR)
    }
}
