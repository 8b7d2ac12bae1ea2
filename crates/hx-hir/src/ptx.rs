//! The PTX of a function: `#[ptx("rcp.approx.ftz.f32 {result}, {x};")]` before it. The body of the function is the meaning of the text.

use std::ops::Range;

use hx_base::{TextRange, TextSize};
use hx_syntax::ast::{self, StringLit};
use hx_target::{InlineOperand, InlineText, inline_text};

use crate::{Db, FnSignature, Function, fn_signature};

/// The name of the attribute.
pub(crate) const PTX: &str = "ptx";
/// The name of the result in the text.
pub(crate) const RESULT: &str = "result";
/// The option of a text whose runs may differ.
pub(crate) const VOLATILE: &str = "volatile";

/// The PTX that a function stands for, without positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ptx {
    /// The text as the source writes it, without escapes of strings.
    pub text: String,
    pub parts: Vec<PtxPart>,
    pub is_volatile: bool,
    /// Whether the function has a body, which is the meaning of the text.
    pub has_meaning: bool,
    /// The number of instructions of the text.
    pub instructions: u32,
}

/// A part of a text of PTX.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PtxPart {
    /// PTX, in which `{{` and `}}` are braces.
    Text(String),
    Result,
    /// A parameter, by position.
    Param(u32),
    /// A compile-time parameter, by position.
    Generic(u32),
}

/// The attribute as written.
pub(crate) struct Written {
    /// Nothing if the first argument is no string.
    pub(crate) literal: Option<StringLit>,
    pub(crate) text: InlineText,
    pub(crate) is_volatile: bool,
}

/// Returns the PTX of a function; `None` if it has none. Names that mean nothing are reported elsewhere, and left out.
#[salsa::tracked]
pub fn fn_ptx<'db>(db: &'db dyn Db, function: Function<'db>) -> Option<Ptx> {
    let node = function.syntax(db)?;
    let Written { literal, text, is_volatile } = written(&node.ptx()?);
    let value = literal?.value();
    let signature = fn_signature(db, function);
    let (mut parts, mut from) = (Vec::new(), 0);
    for InlineOperand { name, at, .. } in &text.operands {
        parts.push(PtxPart::Text(value[from..at.start - 1].to_owned()));
        parts.extend(part(signature, name));
        from = at.end + 1;
    }
    parts.push(PtxPart::Text(value[from..].to_owned()));
    parts.retain(|part| !matches!(part, PtxPart::Text(text) if text.is_empty()));
    let (has_meaning, instructions) = (node.body().is_some(), text.instructions);
    Some(Ptx { text: value, parts, is_volatile, has_meaning, instructions })
}

/// Returns the parameters that the PTX of a function names, with their places relative to the function.
pub fn ptx_operands<'db>(db: &'db dyn Db, function: Function<'db>) -> Vec<(TextRange, PtxPart)> {
    let attr = function.syntax(db).and_then(|node| node.ptx());
    let Some(Written { literal: Some(literal), text, .. }) = attr.as_ref().map(written) else {
        return Vec::new();
    };
    let signature = fn_signature(db, function);
    let named =
        |operand: &InlineOperand| Some((place_in(&literal, &operand.at), part(signature, &operand.name)?));
    text.operands.iter().filter_map(named).collect()
}

/// Returns the place of bytes of a string's value, relative to the function; that of the whole string for no bytes.
pub(crate) fn place_in(literal: &StringLit, bytes: &Range<usize>) -> TextRange {
    let written = literal.written(bytes.clone());
    let start = literal.syntax().text_range().start();
    let at = |byte: usize| start + TextSize::new(byte as u32);
    TextRange::new(at(written.start), at(written.end))
}

/// Reads an attribute.
pub(crate) fn written(attr: &ast::Attr) -> Written {
    let literal = attr.string();
    let text = literal.as_ref().map(|literal| inline_text(&literal.value())).unwrap_or_default();
    let options = attr.arg_list().into_iter().flat_map(|list| list.args()).skip(1);
    let is_volatile = options.into_iter().any(|option| is_volatile(&option));
    Written { literal, text, is_volatile }
}

/// Reports whether an argument of the attribute is the word `volatile`.
pub(crate) fn is_volatile(arg: &ast::Arg) -> bool {
    matches!(arg.expr(), Some(ast::Expr::PathExpr(path)) if path.path().is_some_and(|path| path.text() == VOLATILE))
        && arg.name_ref().is_none()
}

/// Returns the meaning of a name in braces; `None` if it has none.
pub(crate) fn part(signature: &FnSignature, name: &str) -> Option<PtxPart> {
    if name == RESULT {
        return Some(PtxPart::Result);
    }
    let param = signature.params.iter().position(|param| param.name == name);
    let generic = || signature.generics.iter().position(|generic| generic.name == name);
    param.map(|at| PtxPart::Param(at as u32)).or_else(|| generic().map(|at| PtxPart::Generic(at as u32)))
}
