//! Ranges of nodes of the syntax tree.

use hx_syntax::{SyntaxNode, TextRange};

/// Returns the range of a node without the whitespace and comments before its first token.
pub(crate) fn code_range(node: &SyntaxNode) -> TextRange {
    let tokens = node.descendants_with_tokens().filter_map(|it| it.into_token());
    let first = tokens.into_iter().find(|token| !token.kind().is_trivia());
    let start = first.map_or(node.text_range().start(), |token| token.text_range().start());
    TextRange::new(start, node.text_range().end())
}
