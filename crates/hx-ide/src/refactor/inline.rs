//! Replaces a local by its value.

use hx_base::{Edit, TextRange, TextSize};
use hx_hir::{ItemKind, Ty, infer_body};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode};

use super::{ActionKind, Draft, Selected, statement_of};
use crate::names::{Def, Occurrence, Role, occurrence_at, occurrences};

/// Replaces the uses of the local at the cursor by its value, and removes its `let`. `None` for a value that may differ
/// between the uses: it must be a number, a layout or a view, made of names that nobody assigns.
pub(super) fn variable(selected: &Selected<'_>) -> Option<Draft> {
    if !matches!(selected.item.kind(), ItemKind::Kernel | ItemKind::Function) {
        return None;
    }
    let found = occurrence_at(selected.db, selected.file, selected.range.start())?;
    let Def::Local { pat, .. } = &found.def else { return None };
    let all = occurrences(selected.db, selected.file);
    let definition = all.iter().find(|o| o.def == found.def && o.role == Role::Definition)?;
    let statement = let_of(selected, definition.range)?;
    let value = statement.initializer()?;
    let ty = infer_body(selected.db, selected.item).pats.get(*pat)?.clone();
    if !is_stable(&ty, value.syntax()) || !reads_constants(selected, &all, value.syntax()) {
        return None;
    }
    let text = selected.file.text(selected.db);
    let name = &text[definition.range];
    let uses: Vec<&Occurrence> =
        all.iter().filter(|o| o.def == found.def && o.range != definition.range).collect();
    // Another definition of the name could be the one that a use would see.
    let others = all.iter().filter(|o| o.role == Role::Definition && &text[o.range] == name).count();
    if uses.is_empty() || others > 1 || uses.iter().any(|o| o.role != Role::Read) {
        return None;
    }
    let written = &text[crate::node::code_range(value.syntax())];
    let replacement =
        if is_closed(value.syntax().kind()) { written.to_owned() } else { format!("({written})") };
    let mut edits =
        vec![Edit { file: selected.file, range: line_of(text, statement.syntax()), text: String::new() }];
    edits.extend(uses.iter().map(|o| Edit {
        file: selected.file,
        range: o.range,
        text: replacement.clone(),
    }));
    let title = format!("inline `{name}`");
    Some(Draft { title, kind: ActionKind::Inline, edits })
}

/// Returns the `let` whose whole pattern is the name at a range, without a declared type; `None` for another binding.
fn let_of(selected: &Selected<'_>, name: TextRange) -> Option<ast::LetStmt> {
    let token = selected.root.token_at_offset(name.start()).right_biased()?;
    let statement = ast::LetStmt::cast(statement_of(&token.parent()?)?)?;
    let plain = statement.ty().is_none() && crate::node::code_range(statement.pattern()?.syntax()) == name;
    plain.then_some(statement)
}

/// Reports whether a value is the same whenever it is computed, if its names are.
fn is_stable(ty: &Ty, value: &SyntaxNode) -> bool {
    let reads_memory = || {
        value.descendants().any(|node| {
            matches!(
                node.kind(),
                SyntaxKind::INDEX_EXPR | SyntaxKind::METHOD_CALL_EXPR | SyntaxKind::CLOSURE_EXPR
            )
        })
    };
    match ty {
        Ty::Int(_) | Ty::Float(_) | Ty::Bool | Ty::Layout(_) => {
            !reads_memory() && !calls(value, &["scalar", "load"])
        }
        // A view of a parameter reads nothing by itself.
        Ty::Tensor(tensor) => tensor.param.is_some() && tensor.space == hx_hir::MemorySpace::Global,
        _ => false,
    }
}

fn calls(value: &SyntaxNode, names: &[&str]) -> bool {
    let mut callees = value.descendants().filter(|node| node.kind() == SyntaxKind::CALL_EXPR);
    callees.any(|call| {
        call.first_child().is_some_and(|callee| names.contains(&callee.text().to_string().trim()))
    })
}

/// Reports whether every name in a value means the same everywhere in the item: the item defines no second thing of that name
/// and never assigns it.
fn reads_constants(selected: &Selected<'_>, all: &[Occurrence], value: &SyntaxNode) -> bool {
    let text = selected.file.text(selected.db);
    let inside = all.iter().filter(|o| value.text_range().contains_range(o.range));
    let item = selected.item.key(selected.db);
    inside.filter(|o| o.role != Role::Label).all(|name| {
        let other = |o: &Occurrence| {
            o.role == Role::Definition
                && o.def != name.def
                && !matches!(o.def, Def::Item(_))
                && o.def.item() == Some(&item)
                && text[o.range] == text[name.range]
        };
        !all.iter().any(|o| other(o) || o.def == name.def && o.role == Role::Write)
    })
}

/// Reports whether an expression keeps its meaning beside any operator.
fn is_closed(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        SyntaxKind::PATH_EXPR
            | SyntaxKind::LITERAL
            | SyntaxKind::CALL_EXPR
            | SyntaxKind::INDEX_EXPR
            | SyntaxKind::PAREN_EXPR
            | SyntaxKind::ARRAY_EXPR
    )
}

/// Returns the range of a statement with the spaces before it, and with its line if it has one for itself.
fn line_of(text: &str, statement: &SyntaxNode) -> TextRange {
    let range = crate::node::code_range(statement);
    let before = &text[..usize::from(range.start())];
    let spaces = before.len() - before.trim_end_matches([' ', '\t']).len();
    let start = range.start() - TextSize::try_from(spaces).unwrap_or_default();
    let is_first = text[..usize::from(start)].ends_with('\n');
    let is_last = text[usize::from(range.end())..].starts_with('\n');
    let end = if is_first && is_last { range.end() + TextSize::of('\n') } else { range.end() };
    TextRange::new(start, end)
}
