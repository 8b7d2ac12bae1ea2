//! The calls of the text that are operations, and edits of their arguments.

use hx_base::{Edit, SourceFile, TextRange, TextSize, parse};
use hx_lower::Lowered;
use hx_syntax::SyntaxNode;
use hx_syntax::ast::{AstNode, CallExpr};
use hx_tile::OpId;

use super::Places;

/// Returns the syntax tree of a file.
pub(super) fn root(places: &Places<'_>, file: SourceFile) -> SyntaxNode {
    parse(places.db, file).syntax_node()
}

/// Returns the call whose text is exactly this place; `None` if there is none.
pub(super) fn call_at(places: &Places<'_>, (file, range): (SourceFile, TextRange)) -> Option<CallExpr> {
    let root = root(places, file);
    root.descendants().filter_map(CallExpr::cast).find(|call| call.syntax().text_range() == range)
}

/// Returns the call that an operation is.
pub(super) fn call_of(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<(SourceFile, CallExpr)> {
    let at = places.op(lowered, op)?;
    Some((at.0, call_at(places, at)?))
}

/// Returns the function of a `wait`, and the edit that makes it leave another number of groups.
pub(super) fn leaves(
    places: &Places<'_>,
    lowered: &Lowered,
    wait: OpId,
    groups: u32,
) -> Option<(String, Edit)> {
    let (file, call) = call_of(places, lowered, wait)?;
    let list = call.arg_list()?.syntax().text_range();
    let paren = TextSize::of('(');
    let range = TextRange::new(list.start() + paren, list.end() - paren);
    let edit = Edit { file, range, text: groups.to_string() };
    Some((call.callee()?.syntax().text().to_string(), edit))
}
