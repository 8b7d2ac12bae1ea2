//! Turns repairs that the solver found into edits of the text.

mod bytes;
pub(crate) mod widths;

use hx_base::{Applicability, Edit, Fix, SourceFile, TextRange};
use hx_hir::{Item, kernel_signature, signature_source_map};
use hx_layout::ComposedLayout;
use hx_lower::Lowered;
use hx_syntax::ast::{self, AstNode, CallExpr, Kernel, ThreadsClause};
use hx_synth::Repair;
use hx_tile::{OpId, OpKind, TensorId};

use super::calls::{call_at, call_of, root};
use super::{Places, sync};
use crate::unsolved::{OtherValue, written};

/// Returns the edit that makes a repair; `None` if the source is written in a way that has no such edit.
pub(super) fn fix(places: &Places<'_>, lowered: &Lowered, repair: &Repair) -> Option<Fix> {
    let program = &lowered.program;
    let name = |tensor: TensorId| program.tensor(tensor).name.clone();
    let (title, file, range, text) = match repair {
        Repair::Bytes(tensors) => return bytes::fix(places, lowered, tensors),
        Repair::Unpin(tensor) => {
            let (file, range, text) = layout_argument(places, lowered, *tensor, None)?;
            (format!("leave the layout of `{}` to the compiler", name(*tensor)), file, range, text)
        }
        Repair::Pin { tensor, layout } => {
            let (file, range, text) =
                layout_argument(places, lowered, *tensor, Some(&spaced(&written(layout))))?;
            (format!("pin `{}` to `{}`", name(*tensor), written(layout)), file, range, text)
        }
        Repair::Warps { op, warps } => {
            let (file, call) = call_of(places, lowered, *op)?;
            let range = argument(&call, "warps")?.expr()?.syntax().text_range();
            let OpKind::Gemm { c, .. } = lowered.program.op(*op)?.kind else { return None };
            let text = lowered.program.warps_text(c, *warps);
            (format!("arrange the warps as `{text}`"), file, range, text)
        }
        Repair::FreeWarps(op) => {
            let (file, call) = call_of(places, lowered, *op)?;
            let range = with_comma(&argument(&call, "warps")?);
            ("leave the arrangement of the warps to the compiler".to_owned(), file, range, String::new())
        }
        Repair::Synchronous(op) => {
            let (file, call) = call_of(places, lowered, *op)?;
            let range = call.callee()?.syntax().text_range();
            // Several copies may have the same repair, so the title names the line.
            let line = file.text(places.db)[..range.start().into()].matches('\n').count() + 1;
            (format!("`copy` through registers in line {line}"), file, range, "copy".to_owned())
        }
        Repair::Rearrange { op, tensor, layout } => {
            let (file, range) = operand(places, lowered, *op, *tensor)?;
            let old = &file.text(places.db)[range];
            let title = format!("rearrange `{}` to `{layout}` for this", name(*tensor));
            (title, file, range, format!("rearrange({old}, {})", spaced(&layout.to_string())))
        }
        Repair::Barrier(op) => {
            let mut stmt = sync::statement_of(places, lowered, *op)?;
            while let Some(around) = places.statement_around(stmt) {
                stmt = around;
            }
            let Edit { file, range, text } = sync::lines_before(places, stmt, &["sync()".to_owned()])?;
            let title =
                "insert `sync()`: what is used before it and what is used behind it take turns".to_owned();
            (title, file, range, text)
        }
        Repair::Threads(threads) => {
            let (file, range) = threads_clause(places)?;
            (format!("run it with {threads} threads"), file, range, threads.to_string())
        }
        Repair::Divisible { dim, by } => {
            let wanted = format!("{dim} % {by} == 0");
            let (file, range, text) = where_clause(places, &wanted)?;
            (format!("require `{wanted}` of every launch"), file, range, text)
        }
    };
    let edits = vec![Edit { file, range, text }];
    Some(Fix { title, edits, applicability: Applicability::Maybe })
}

/// Describes [`Repair::Bytes`], which may have no edit; `None` for other repairs.
pub(super) fn advice(lowered: &Lowered, repair: &Repair) -> Option<String> {
    match repair {
        Repair::Bytes(tensors) => Some(bytes::title(lowered, tensors)),
        _ => None,
    }
}

/// Returns the fix that gives a compile-time parameter another default; `None` if it has none, or the instance does not use it.
pub(super) fn other_default(places: &Places<'_>, value: &OtherValue) -> Option<Fix> {
    let Places { db, instance } = *places;
    let kernel = instance.kernel(db);
    let generic = kernel_signature(db, kernel).generics.iter().find(|generic| generic.name == value.name)?;
    if instance.args(db).contains_key(&value.name) {
        return None;
    }
    let map = signature_source_map(db, Item::Kernel(kernel))?;
    let range = map.map.exprs.get(generic.default?).copied()? + kernel.offset(db);
    let title = format!("let `{}` be {}", value.name, value.new);
    let edits = vec![Edit { file: kernel.file(db), range, text: value.new.to_string() }];
    Some(Fix { title, edits, applicability: Applicability::Maybe })
}

/// Returns the place of a gemm's `warps` argument; `None` without one.
pub(super) fn warps_argument(
    places: &Places<'_>,
    lowered: &Lowered,
    op: OpId,
) -> Option<(SourceFile, TextRange)> {
    let (file, call) = call_of(places, lowered, op)?;
    Some((file, argument(&call, "warps")?.syntax().text_range()))
}

fn argument(call: &CallExpr, name: &str) -> Option<ast::Arg> {
    let is_named = |arg: &ast::Arg| arg.name_ref().is_some_and(|found| found.syntax().text() == name);
    call.arg_list()?.args().find(is_named)
}

/// Returns the range of an argument together with the separator before it.
fn with_comma(arg: &ast::Arg) -> TextRange {
    let range = arg.syntax().text_range();
    let before = arg.syntax().prev_sibling();
    TextRange::new(before.map_or(range.start(), |before| before.text_range().end()), range.end())
}

/// Returns the place of the layout that a tensor is pinned to, and the text to write there for another layout or for none;
/// `None` if no call declares the tensor with a layout.
fn layout_argument(
    places: &Places<'_>,
    lowered: &Lowered,
    tensor: TensorId,
    layout: Option<&str>,
) -> Option<(SourceFile, TextRange, String)> {
    let at = places.tensor(lowered, tensor)?;
    let call = call_at(places, at)?;
    if let Some(arg) = argument(&call, "layout") {
        return Some(match layout {
            Some(layout) => (at.0, arg.expr()?.syntax().text_range(), layout.to_owned()),
            None => (at.0, with_comma(&arg), String::new()),
        });
    }
    // The tensor is declared by `rearrange(t, layout)`.
    let arg = call.arg_list()?.args().nth(1)?.expr()?;
    Some((at.0, arg.syntax().text_range(), layout.unwrap_or("auto").to_owned()))
}

/// Returns the edit that pins a tensor where it is declared; `None` if it is pinned, or if its declaration takes no layout.
pub(crate) fn pin(
    places: &Places<'_>,
    lowered: &Lowered,
    tensor: TensorId,
    layout: &ComposedLayout,
) -> Option<Edit> {
    let file = places.kernel().0;
    let at = places.own(lowered, lowered.program.tensor(tensor).origin)?;
    let call = call_at(places, (file, at))?;
    let callee = call.callee()?.syntax().text().to_string();
    let is_auto = |expr: &ast::Expr| expr.syntax().text() == "auto";
    let text = spaced(&written(layout));
    let (range, text) = match callee.as_str() {
        "register_tensor" | "shared_tensor" => match argument(&call, "layout") {
            Some(arg) => (arg.expr().filter(is_auto)?.syntax().text_range(), text),
            None => {
                let last = call.arg_list()?.args().last()?.syntax().text_range().end();
                (TextRange::empty(last), format!(", layout: {text}"))
            }
        },
        "rearrange" => {
            let target = call.arg_list()?.args().nth(1)?.expr().filter(is_auto)?;
            (target.syntax().text_range(), text)
        }
        _ => return None,
    };
    Some(Edit { file, range, text })
}

/// Returns the edit by which an operation takes a tensor in a layout of its own; `None` if the kernel itself does not write the
/// operation with the tensor's name.
pub(crate) fn rearranged(places: &Places<'_>, lowered: &Lowered, op: OpId, tensor: TensorId) -> Option<Edit> {
    places.own(lowered, lowered.program.op(op)?.origin)?;
    let (file, range) = operand(places, lowered, op, tensor)?;
    let old = &file.text(places.db)[range];
    // An operand that is not a name is a value of its own, whose layout is free already.
    (old == lowered.program.tensor(tensor).name).then(|| Edit {
        file,
        range,
        text: format!("rearrange({old}, auto)"),
    })
}

/// Formats a layout with the spaces of the formatter.
fn spaced(layout: &str) -> String {
    layout.replace(", ", ",").replace(',', ", ").replace(':', " : ")
}

/// Returns the place where an operation names a tensor that it reads; `None` if its text names the tensor several times or not
/// at all.
fn operand(
    places: &Places<'_>,
    lowered: &Lowered,
    op: OpId,
    tensor: TensorId,
) -> Option<(SourceFile, TextRange)> {
    let (file, range) = places.op(lowered, op)?;
    let program = &lowered.program;
    if let OpKind::Gemm { a, .. } = &program.op(op)?.kind {
        let call = call_at(places, (file, range))?;
        let position = if a.tensor() == Some(tensor) { 1 } else { 2 };
        return Some((file, call.arg_list()?.args().nth(position)?.expr()?.syntax().text_range()));
    }
    let name = &program.tensor(tensor).name;
    let root = root(places, file);
    let paths = root.descendants().filter_map(ast::PathExpr::cast).map(|path| path.syntax().clone());
    let mut named =
        paths.filter(|path| range.contains_range(path.text_range()) && path.text() == name.as_str());
    let first = named.next()?;
    // If the tensor is named several times, each name would have to change.
    named.next().is_none().then(|| (file, first.text_range()))
}

/// Reports whether the kernel's header has a literal number of threads, so that an edit can replace it.
pub(super) fn has_literal_threads(places: &Places<'_>) -> bool {
    threads_clause(places).is_some_and(|(file, range)| file.text(places.db)[range].parse::<u32>().is_ok())
}

/// Returns the kernel in the syntax tree, and its file; `None` if the tree lacks it.
fn header(places: &Places<'_>) -> Option<(SourceFile, Kernel)> {
    let (file, name) = places.kernel();
    let mut kernels = root(places, file).descendants().filter_map(Kernel::cast);
    Some((file, kernels.find(|kernel| kernel.syntax().text_range().contains_range(name))?))
}

/// Returns the place of the number of threads in the kernel's header; `None` if it has none.
fn threads_clause(places: &Places<'_>) -> Option<(SourceFile, TextRange)> {
    let (file, kernel) = header(places)?;
    let clause = kernel.syntax().children().find_map(ThreadsClause::cast)?;
    Some((file, clause.count()?.syntax().text_range()))
}

/// Returns the place in the kernel's header for one more requirement, and the text to insert there; `None` if the header has no
/// parameters in parentheses.
fn where_clause(places: &Places<'_>, predicate: &str) -> Option<(SourceFile, TextRange, String)> {
    let (file, kernel) = header(places)?;
    if let Some(last) = kernel.where_clause().and_then(|clause| clause.predicates().last()) {
        let end = last.syntax().text_range().end();
        return Some((file, TextRange::empty(end), format!(", {predicate}")));
    }
    // The clause follows the parameters, on a line of its own if the other clauses have lines of their own.
    let params = kernel.param_list()?.syntax().text_range().end();
    let rest = &file.text(places.db)[params.into()..];
    let space = &rest[..rest.len() - rest.trim_start().len()];
    let space = if space.is_empty() { " " } else { space };
    Some((file, TextRange::empty(params), format!("{space}where {predicate}")))
}
