//! HX0233: functions whose PTX is wrong, and functions without a body.

use std::ops::Range;

use hx_base::{Diagnostic, TextRange, codes};
use hx_dtype::DType;
use hx_syntax::ast::{self, AstNode as _, StringLit};
use hx_target::{InlineFaultKind, InlineOperand, inline_families};

use super::{Reporter, nearest};
use crate::collect::node_range;
use crate::ptx::{PTX, RESULT, VOLATILE, Written, is_volatile, part, place_in, written};
use crate::{
    Expr, FnSignature, Function, GenericParam, Item, Kind, PtxPart, Resolution, StmtKind, TypeRef, TypeRefId,
    body_of, fn_signature, signature_names,
};

/// The types of operands, each of which has a class of registers.
const TYPES: &[DType] =
    &[DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::U32, DType::I64, DType::U64];

pub(super) fn report(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let Item::Function(function) = at.item else { return };
    let Some(node) = function.syntax(at.db) else { return };
    let mut found = Found { at, node: &node, function, signature: fn_signature(at.db, function), out };
    let Some(attr) = node.ptx() else { return found.body_is_missing() };
    let text = written(&attr);
    found.attributes(&attr, &text);
    found.header();
    if let Some(literal) = &text.literal {
        found.text(literal, &text);
        if text.text.instructions > 0 {
            found.operands(literal, &text);
        }
    }
    found.meaning();
}

struct Found<'a, 'db> {
    at: &'a Reporter<'db>,
    node: &'a ast::Fn,
    function: Function<'db>,
    signature: &'db FnSignature,
    out: &'a mut Vec<Diagnostic>,
}

impl Found<'_, '_> {
    fn add(&mut self, range: TextRange, message: impl Into<String>, help: Option<&str>) {
        let found = self.at.diagnostic(&codes::BAD_PTX, range, message);
        self.out.push(match help {
            Some(help) => found.help(help),
            None => found,
        });
    }

    fn place(&self, node: &impl ast::AstNode<Language = hx_syntax::Hx>) -> TextRange {
        self.at.absolute(Some(node_range(node)))
    }

    fn generic_place(&self, index: usize) -> TextRange {
        self.at.absolute(self.at.signature.and_then(|s| s.generics.get(index)).copied())
    }

    fn param_place(&self, index: usize) -> TextRange {
        self.at.absolute(self.at.signature.and_then(|s| s.params.get(index)).copied())
    }

    /// Returns the place of bytes of a string's value; that of the whole string for no bytes.
    fn within(&self, literal: &StringLit, bytes: &Range<usize>) -> TextRange {
        self.at.absolute(Some(place_in(literal, bytes)))
    }

    /// Reports a function that ends with `;` although nothing but a body says what it does.
    fn body_is_missing(&mut self) {
        if self.node.body().is_none()
            && let Some(end) = self.node.semicolon_token()
        {
            let range = self.at.absolute(Some(end.text_range()));
            let help = "only a function with `#[ptx(\"…\")]` has no body";
            self.add(range, "found `;`, expected `{` and the body of the function", Some(help));
        }
    }

    fn attributes(&mut self, attr: &ast::Attr, text: &Written) {
        let name = |attr: &ast::Attr| attr.path().map_or_else(|| node_range(attr), |path| node_range(&path));
        for other in self.node.attrs().filter(|attr| attr.text().as_deref() == Some(PTX)).skip(1) {
            let range = self.at.absolute(Some(name(&other)));
            self.add(range, "a function has one `#[ptx(…)]`", Some("one text may have several instructions"));
        }
        if text.literal.is_none() {
            let range = self.at.absolute(Some(name(attr)));
            let help = "for example `#[ptx(\"rcp.approx.f32 {result}, {x};\")]`";
            self.add(range, "`#[ptx(…)]` takes PTX in quotes", Some(help));
        }
        for arg in attr.arg_list().into_iter().flat_map(|list| list.args()).skip(1) {
            if !is_volatile(&arg) {
                let message = format!("found `{}`, expected `{VOLATILE}`", arg.syntax().text());
                self.add(self.place(&arg), message, Some("it is the only option of `#[ptx(…)]`"));
            }
        }
    }

    /// Reports parameters and results that are no numbers in registers.
    fn header(&mut self) {
        for (i, generic) in self.signature.generics.iter().enumerate() {
            if !self.is_int(generic) {
                let range = self.generic_place(i);
                let message = format!("`{}` is no integer, and PTX is given integers only", generic.name);
                self.add(range, message, Some("write a function for each type"));
            }
        }
        for (i, param) in self.signature.params.iter().enumerate() {
            if param.name == RESULT {
                let range = self.param_place(i);
                self.add(
                    range,
                    format!("`{RESULT}` is the name of the result in PTX"),
                    Some("rename the parameter"),
                );
            }
            self.number(param.ty);
        }
        match self.signature.ret {
            Some(ty) => self.number(ty),
            None => self.add(
                self.at.name(),
                "a function with `#[ptx(…)]` returns a number",
                Some("write its type, as in `-> f32`"),
            ),
        }
        if self.signature.params.is_empty() {
            let help = "the text is applied to each element of its operands: `fn now(of: i32) -> u32` has one for each";
            self.add(self.at.name(), "a function with `#[ptx(…)]` needs a parameter", Some(help));
        }
    }

    fn is_int(&self, generic: &GenericParam) -> bool {
        let names = &signature_names(self.at.db, self.at.item).names;
        generic.ty.is_none_or(|ty| names.types.get(ty) == Some(&Resolution::Kind(Kind::Int)))
    }

    fn number(&mut self, ty: TypeRefId) {
        let names = &signature_names(self.at.db, self.at.item).names;
        let is_scalar = matches!(self.signature.store[ty], TypeRef::Named { shape: None, space: None, .. });
        let found = names.types.get(ty);
        if found.is_none() && is_scalar {
            // An unknown name is reported as one.
            return;
        }
        if is_scalar && matches!(found, Some(Resolution::DType(dtype)) if TYPES.contains(dtype)) {
            return;
        }
        let range = self.at.absolute(self.at.signature.and_then(|s| s.map.type_ref(ty)));
        let message =
            format!("found `{}`, expected a number that a register of PTX holds", self.at.text(range));
        let types: Vec<String> = TYPES.iter().map(|dtype| format!("`{dtype}`")).collect();
        let help = format!("the text is applied to each element; the types are {}", types.join(", "));
        self.add(range, message, Some(&help));
    }

    /// Reports instructions that do more than compute.
    fn text(&mut self, literal: &StringLit, text: &Written) {
        for fault in &text.text.faults {
            let range = self.within(literal, &fault.at);
            let near = match &fault.kind {
                InlineFaultKind::Instruction(name, None) => nearest(name, inline_families()),
                _ => None,
            };
            let near = near.map(|near| format!("perhaps `{near}` is meant"));
            self.add(range, fault.kind.to_string(), near.as_deref().or(fault.kind.help()));
        }
        if text.is_volatile {
            return;
        }
        for special in &text.text.special {
            let range = self.within(literal, special);
            let message =
                format!("`{}` is a special register, which may differ between runs", self.at.text(range));
            let help = format!("write `{VOLATILE}` after the text, so that every call reads it");
            self.add(range, message, Some(&help));
        }
    }

    /// Reports names in braces that mean nothing, and operands that the text does not use.
    fn operands(&mut self, literal: &StringLit, text: &Written) {
        let mut used = Vec::new();
        for InlineOperand { name, at, is_written } in &text.text.operands {
            match part(self.signature, name) {
                Some(part) => {
                    self.written(literal, (&part, name, at), *is_written, !used.contains(&part));
                    used.push(part);
                }
                None => {
                    let params = self.signature.params.iter().map(|param| param.name.as_str());
                    let known =
                        params.chain(self.signature.generics.iter().map(|g| g.name.as_str())).chain([RESULT]);
                    let help = match nearest(name, known.clone()) {
                        Some(near) => format!("`{{{near}}}` is near in spelling"),
                        None => {
                            let known: Vec<String> = known.map(|name| format!("`{{{name}}}`")).collect();
                            format!("the operands are {}", known.join(", "))
                        }
                    };
                    let range = self.within(literal, at);
                    self.add(range, format!("the function has no parameter `{name}`"), Some(&help));
                }
            }
        }
        let whole = self.within(literal, &(0..0));
        if !used.contains(&PtxPart::Result) {
            let help = "`{result}` is the register that the instruction writes";
            self.add(whole, "the text does not name its result", Some(help));
        }
        for (i, param) in self.signature.params.iter().enumerate() {
            if !used.contains(&PtxPart::Param(i as u32)) && !text.is_volatile && param.name != RESULT {
                let range = self.param_place(i);
                let help = format!("its value is `{{{}}}` in the text", param.name);
                self.add(range, format!("the PTX does not use `{}`", param.name), Some(&help));
            }
        }
        for (i, generic) in self.signature.generics.iter().enumerate() {
            if !used.contains(&PtxPart::Generic(i as u32)) && self.is_int(generic) {
                let range = self.generic_place(i);
                let help = format!("its value is `{{{}}}` in the text", generic.name);
                self.add(range, format!("the PTX does not use `{}`", generic.name), Some(&help));
            }
        }
    }

    /// Reports an operand that the text may only read, and a result that it reads before it writes it.
    fn written(
        &mut self,
        literal: &StringLit,
        (part, name, at): (&PtxPart, &str, &Range<usize>),
        is_written: bool,
        is_first: bool,
    ) {
        let range = self.within(literal, at);
        match part {
            PtxPart::Result if is_first && !is_written => {
                let help = "the first operand of an instruction is the register that it writes";
                self.add(range, "the text reads the result before it writes it", Some(help));
            }
            PtxPart::Param(_) | PtxPart::Generic(_) if is_written => {
                let help = "an instruction writes `{result}`, or a register that the text declares: `{{ .reg .b32 t; … }}`";
                self.add(range, format!("the text writes the operand `{name}`"), Some(help));
            }
            PtxPart::Result | PtxPart::Param(_) | PtxPart::Generic(_) | PtxPart::Text(_) => {}
        }
    }

    /// Reports statements of the body that are no part of an expression.
    fn meaning(&mut self) {
        if self.node.body().is_none() {
            return;
        }
        let body = body_of(self.at.db, Item::Function(self.function));
        let Expr::Block(block) = &body.store[body.root] else { return };
        for id in &block.stmts {
            if !matches!(body.store[*id].kind, StmtKind::Let { .. }) {
                let range = self.at.stmt_word(*id);
                let help = "the body is an expression of the parameters; `let` names parts of it, and `where` chooses";
                self.add(range, "found a statement in the meaning of an instruction", Some(help));
            }
        }
    }
}
