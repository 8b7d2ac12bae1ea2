//! Gives the selected expression a name: a local before its statement, or a function before its kernel.

use hx_base::{Edit, TextRange, TextSize};
use hx_hir::{Elem, Extent, ItemKind, MemorySpace, Ty, infer_body};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode};

use super::{ActionKind, Draft, Selected, fresh, indentation, statement_of};
use crate::callable::expr_at;
use crate::names::{Def, occurrences};

/// Replaces the selected expression by a local that holds it. `None` if a local cannot hold it.
pub(super) fn variable(selected: &Selected<'_>) -> Option<Draft> {
    let (node, ty) = expression(selected)?;
    let named =
        matches!(ty, Ty::Int(_) | Ty::Float(_) | Ty::Bool | Ty::Layout(_) | Ty::Tensor(_) | Ty::DType(_));
    if !named {
        return None;
    }
    let statement = statement_of(&node)?;
    // A loop computes its condition again in every round.
    let once = matches!(
        statement.kind(),
        SyntaxKind::LET_STMT | SyntaxKind::EXPR_STMT | SyntaxKind::ASSIGN_STMT | SyntaxKind::FOR_STMT
    );
    if !once || is_whole_value(&node) {
        return None;
    }
    let text = selected.file.text(selected.db);
    let name = fresh(text, "value");
    let start = crate::node::code_range(&statement).start();
    let line = format!("let {name} = {};\n{}", &text[selected.range], indentation(text, start));
    let insert = Edit { file: selected.file, range: TextRange::empty(start), text: line };
    let replace = Edit { file: selected.file, range: selected.range, text: name.clone() };
    let title = format!("extract into a local `{name}`");
    Some(Draft { title, kind: ActionKind::Extract, edits: vec![insert, replace] })
}

/// Replaces the selected expression by a call of a function that computes it. The function takes the locals of the
/// expression; the extents of their tiles are dimensions that the arguments bind. `None` if the result is no register tensor,
/// or if a name in the expression cannot be passed.
pub(super) fn function(selected: &Selected<'_>) -> Option<Draft> {
    let (node, ty) = expression(selected)?;
    if !matches!(selected.item.kind(), ItemKind::Kernel | ItemKind::Function) || statement_of(&node).is_none()
    {
        return None;
    }
    let Ty::Tensor(result) = &ty else { return None };
    let result = element_and_shape(result)?;
    let text = selected.file.text(selected.db);
    let mut params: Vec<(String, String)> = Vec::new();
    for occurrence in occurrences(selected.db, selected.file) {
        if !selected.range.contains_range(occurrence.range) {
            continue;
        }
        let ty = match &occurrence.def {
            Def::Local { pat, .. } => infer_body(selected.db, selected.item).pats.get(*pat)?.clone(),
            Def::Item(_) | Def::Module(_) | Def::Builtin(_) | Def::DType(_) | Def::Member(_) => continue,
            Def::Binding(_)
            | Def::Param { .. }
            | Def::Generic { .. }
            | Def::Dim { .. }
            | Def::Result(_)
            | Def::Kind(_) => {
                return None;
            }
        };
        let ty = match ty {
            Ty::Tensor(tensor) => format!("register {}", element_and_shape(&tensor)?),
            Ty::Float(Some(Elem::Known(dtype))) => dtype.to_string(),
            _ => return None,
        };
        let name = text[occurrence.range].to_owned();
        if !params.iter().any(|(known, _)| *known == name) {
            params.push((name, ty));
        }
    }
    if params.is_empty() {
        return None;
    }
    let name = fresh(text, "extracted");
    let list: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
    let body = &text[selected.range];
    let function = format!("fn {name}({}) -> {result} {{\n    {body}\n}}\n\n", list.join(", "));
    let item = crate::names::item_node(selected.db, &selected.root, selected.item)?;
    let before = Edit { file: selected.file, range: TextRange::empty(start_of(text, &item)), text: function };
    let call = format!("{name}({})", names.join(", "));
    let replace = Edit { file: selected.file, range: selected.range, text: call };
    let title = format!("extract into a function `{name}`");
    Some(Draft { title, kind: ActionKind::Extract, edits: vec![before, replace] })
}

/// Returns the start of an item, before its doc comment.
fn start_of(text: &str, item: &SyntaxNode) -> TextSize {
    let mut start = crate::node::code_range(item).start();
    loop {
        let above = text[..usize::from(start)].trim_end_matches(['\n', ' ']);
        let line = above.rfind('\n').map_or(0, |end| end + 1);
        let blank = text[above.len()..usize::from(start)].matches('\n').count() > 1;
        if blank || !above[line..].starts_with("///") {
            return start;
        }
        start = TextSize::of(&text[..line]);
    }
}

/// Returns the type of a tile as a parameter declares it; `None` for a tensor that no parameter can be declared as.
fn element_and_shape(tensor: &hx_hir::TensorTy) -> Option<String> {
    let Elem::Known(dtype) = &tensor.elem else { return None };
    if tensor.space != MemorySpace::Register || tensor.shape.is_empty() {
        return None;
    }
    let extent = |extent: &Extent| {
        let text = extent.as_ref()?.to_string();
        // A parameter's extent can be a name, which the argument binds, or a number, which is compared. It cannot be another
        // expression.
        text.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(text)
    };
    let shape: Option<Vec<String>> = tensor.shape.iter().map(extent).collect();
    Some(format!("{dtype}[{}]", shape?.join(", ")))
}

/// Returns the expression that is selected as a whole, with its type; `None` if the selection is no expression that can get a
/// name.
fn expression(selected: &Selected<'_>) -> Option<(SyntaxNode, Ty)> {
    if selected.range.is_empty() {
        return None;
    }
    let covering = selected.root.covering_element(selected.range);
    let start = covering
        .into_node()
        .or_else(|| selected.root.token_at_offset(selected.range.start()).right_biased()?.parent())?;
    let is_it = |node: &SyntaxNode| {
        ast::Expr::can_cast(node.kind()) && crate::node::code_range(node) == selected.range
    };
    let node = start.ancestors().chain(start.descendants()).find(is_it)?;
    if matches!(node.kind(), SyntaxKind::PATH_EXPR | SyntaxKind::BLOCK) || is_place(&node) {
        return None;
    }
    let expr = expr_at(selected.db, selected.item, selected.range)?;
    let ty = infer_body(selected.db, selected.item).exprs.get(expr)?.clone();
    (!ty.is_quiet()).then_some((node, ty))
}

/// Reports whether an expression is called, or assigned to.
fn is_place(node: &SyntaxNode) -> bool {
    let Some(parent) = node.parent() else { return false };
    matches!(parent.kind(), SyntaxKind::CALL_EXPR | SyntaxKind::ASSIGN_STMT)
        && parent.first_child().as_ref() == Some(node)
}

/// Reports whether an expression has a name already, or is a statement of its own.
fn is_whole_value(node: &SyntaxNode) -> bool {
    let parent = node.parent().map(|parent| parent.kind());
    matches!(parent, Some(SyntaxKind::LET_STMT | SyntaxKind::EXPR_STMT))
}
