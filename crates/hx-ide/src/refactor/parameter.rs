//! Makes an extent that is written as a number a compile-time parameter.

use hx_base::{Edit, TextRange};
use hx_hir::Item;
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{NodeOrToken, SyntaxKind, SyntaxToken};

use super::{ActionKind, Draft, Selected, fresh};

/// Replaces the number at the cursor, and all equal extents of its kernel, by a new compile-time parameter with that default:
/// the default instance stays as it is. `None` if the number is no extent.
pub(super) fn extent(selected: &Selected<'_>) -> Option<Draft> {
    let Item::Kernel(_) = selected.item else { return None };
    let at = selected.root.token_at_offset(selected.range.start());
    let token = at.clone().right_biased().filter(is_number).or_else(|| at.left_biased().filter(is_number))?;
    if !is_extent(&token) {
        return None;
    }
    let node = crate::names::item_node(selected.db, &selected.root, selected.item)?;
    let kernel = ast::Kernel::cast(node.clone())?;
    let text = selected.file.text(selected.db);
    let name = fresh(text, "TILE");
    let same = node.descendants_with_tokens().filter_map(NodeOrToken::into_token);
    let same = same.filter(|other| is_number(other) && other.text() == token.text() && is_extent(other));
    let mut edits: Vec<Edit> = same
        .map(|other| Edit { file: selected.file, range: other.text_range(), text: name.clone() })
        .collect();
    let declared = format!("{name} = {}", token.text());
    let (at, declared) = match kernel.generic_param_list() {
        Some(list) => {
            let last = list.params().last()?;
            (crate::node::code_range(last.syntax()).end(), format!(", {declared}"))
        }
        None => {
            let params = kernel.param_list()?;
            (crate::node::code_range(params.syntax()).start(), format!("<{declared}>"))
        }
    };
    edits.push(Edit { file: selected.file, range: TextRange::empty(at), text: declared });
    let title = format!("make the extent {} a parameter `{name}`", token.text());
    Some(Draft { title, kind: ActionKind::Extract, edits })
}

fn is_number(token: &SyntaxToken) -> bool {
    token.kind() == SyntaxKind::INT_NUMBER
}

/// Reports whether a number is an extent: an element of a shape `[64, 16]` of a call, or the divisor of `cdiv` in the grid.
fn is_extent(token: &SyntaxToken) -> bool {
    let Some(literal) = token.parent() else { return false };
    let Some(parent) = literal.parent() else { return false };
    let is_shape = parent.kind() == SyntaxKind::ARRAY_EXPR
        && parent.parent().is_some_and(|arg| arg.kind() == SyntaxKind::ARG);
    let divides = || {
        let call = parent.ancestors().find(|node| node.kind() == SyntaxKind::CALL_EXPR);
        let is_cdiv = |call: &hx_syntax::SyntaxNode| {
            call.first_child().is_some_and(|callee| callee.text().to_string().trim() == "cdiv")
        };
        parent.kind() == SyntaxKind::ARG && call.as_ref().is_some_and(is_cdiv)
    };
    is_shape || divides()
}
