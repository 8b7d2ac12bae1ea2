//! Callable things: the parameters, header and docs of kernels, functions and built-in names.

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Builtin, Expr, ExprId, ExprStore, Item, Need, body_source_map, fn_signature, kernel_signature};
use hx_hir::{SignatureSourceMap, TypeRefId, signature_source_map};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode, T};

use crate::names::{Def, occurrence_at};

/// A parameter of a kernel, function or built-in name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallParam {
    pub(crate) name: String,
    /// The parameter's text in the label.
    pub(crate) text: String,
    pub(crate) need: Need,
}

/// A kernel, function or built-in name that can be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Callable {
    pub(crate) name: String,
    /// Compile-time parameters, each as `BM = 64`.
    pub(crate) generics: Vec<CallParam>,
    pub(crate) params: Vec<CallParam>,
    /// The text after the parameters: ` -> f32[M, N]`.
    pub(crate) tail: String,
    pub(crate) docs: Option<String>,
}

impl Callable {
    /// Returns the header in one line, and the range of each run-time parameter in it.
    pub(crate) fn label(&self) -> (String, Vec<TextRange>) {
        let mut text = self.name.clone();
        if !self.generics.is_empty() {
            let generics: Vec<&str> = self.generics.iter().map(|g| g.text.as_str()).collect();
            text.push_str(&format!("<{}>", generics.join(", ")));
        }
        text.push('(');
        let mut ranges = Vec::new();
        for (i, param) in self.params.iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            let start = TextSize::of(text.as_str());
            text.push_str(&param.text);
            ranges.push(TextRange::new(start, TextSize::of(text.as_str())));
        }
        text.push(')');
        text.push_str(&self.tail);
        (text, ranges)
    }
}

/// Returns the callable that a definition names; `None` if it cannot be called.
pub(crate) fn callable(db: &dyn Db, def: &Def) -> Option<Callable> {
    match def {
        Def::Builtin(builtin) => of_builtin(*builtin),
        Def::Item(key) => of_item(db, key.find(db)?),
        _ => None,
    }
}

fn of_builtin(builtin: Builtin) -> Option<Callable> {
    let param = |param: &hx_hir::BuiltinParam| CallParam {
        name: param.name.to_owned(),
        text: match param.need {
            Need::Required => param.name.to_owned(),
            Need::Optional => format!("{}?", param.name),
            Need::Named => format!("{}: …", param.name),
            Need::Rest => format!("{}, …", param.name),
        },
        need: param.need,
    };
    Some(Callable {
        name: builtin.name().to_owned(),
        generics: Vec::new(),
        params: builtin.params()?.iter().map(param).collect(),
        tail: String::new(),
        docs: Some(builtin.doc().to_owned()),
    })
}

pub(crate) fn of_item(db: &dyn Db, item: Item<'_>) -> Option<Callable> {
    let map = signature_source_map(db, item)?;
    let written = Written { text: item.file(db).text(db), offset: item.offset(db), map };
    let (generics, params, ret) = match item {
        Item::Kernel(it) => {
            let sig = kernel_signature(db, it);
            (&sig.generics, &sig.params, None)
        }
        Item::Function(it) => {
            let sig = fn_signature(db, it);
            (&sig.generics, &sig.params, sig.ret)
        }
        _ => return None,
    };
    let generic = |generic: &hx_hir::GenericParam| {
        let ty = generic.ty.and_then(|ty| written.ty(ty)).map_or_else(String::new, |ty| format!(": {ty}"));
        let default = generic.default.and_then(|e| written.expr(e));
        CallParam {
            name: generic.name.to_string(),
            text: match &default {
                Some(default) => format!("{}{ty} = {default}", generic.name),
                None => format!("{}{ty}", generic.name),
            },
            need: if default.is_some() { Need::Named } else { Need::Required },
        }
    };
    let param = |param: &hx_hir::Param| CallParam {
        name: param.name.to_string(),
        text: match written.ty(param.ty) {
            Some(ty) => format!("{}: {ty}", param.name),
            None => param.name.to_string(),
        },
        need: Need::Required,
    };
    let tail = ret.and_then(|ret| written.ty(ret)).map_or_else(String::new, |ty| format!(" -> {ty}"));
    Some(Callable {
        name: item.name(db).to_string(),
        generics: generics.iter().map(generic).collect(),
        params: params.iter().map(param).collect(),
        tail,
        docs: crate::docs::docs(db, item),
    })
}

/// Reads parts of a header from its text, and joins them to one line.
struct Written<'a> {
    text: &'a str,
    offset: TextSize,
    map: &'a SignatureSourceMap,
}

impl Written<'_> {
    fn at(&self, range: TextRange) -> Option<String> {
        let range = range + self.offset;
        let written = self.text.get(usize::from(range.start())..usize::from(range.end()))?;
        Some(written.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn ty(&self, ty: TypeRefId) -> Option<String> {
        self.at(self.map.map.type_ref(ty)?)
    }

    fn expr(&self, expr: ExprId) -> Option<String> {
        self.at(self.map.map.expr(expr)?)
    }
}

/// The call whose argument list contains an offset.
pub(crate) struct CallAt {
    /// The function or kernel.
    pub(crate) def: Def,
    pub(crate) callable: Callable,
    /// Index in `callable.params` of the parameter that receives the argument at the offset; `None` if no parameter is left.
    pub(crate) active: Option<usize>,
    /// The parameters that the call already names.
    pub(crate) named: Vec<String>,
}

/// Returns the innermost call around an offset, even if it is half-typed. `None` if the callee does not resolve, or if the
/// offset is in no argument list.
pub(crate) fn call_at(db: &dyn Db, file: SourceFile, at: TextSize) -> Option<CallAt> {
    let root = hx_base::parse(db, file).syntax_node();
    let mut token = root.token_at_offset(at.min(root.text_range().end())).left_biased()?;
    // Whitespace at the end of a half-typed call belongs to the call.
    while token.kind().is_trivia() {
        token = token.prev_token()?;
    }
    for node in token.parent_ancestors() {
        let Some(list) = ast::ArgList::cast(node.clone()) else { continue };
        let Some((open, close)) = parentheses(&node) else { continue };
        if at < open || close.is_some_and(|close| at > close) {
            continue;
        }
        let Some(call) = node.parent().and_then(ast::CallExpr::cast) else { continue };
        let Some(ast::Expr::PathExpr(path)) = call.callee() else { continue };
        let Some(name) = path.path().and_then(|path| path.last_segment()) else { continue };
        let Some(found) = occurrence_at(db, file, name.syntax().text_range().start()) else { continue };
        let Some(callable) = callable(db, &found.def) else { continue };
        let active = active(&callable, &list, &node, at);
        let named = list.args().filter_map(|arg| Some(arg.name_ref()?.text())).collect();
        return Some(CallAt { def: found.def, callable, active, named });
    }
    None
}

/// Returns the end of `(` and, if the list is closed, the start of `)`. `None` if there is no `(`.
fn parentheses(list: &SyntaxNode) -> Option<(TextSize, Option<TextSize>)> {
    let token =
        |kind| list.children_with_tokens().filter_map(|it| it.into_token()).find(|t| t.kind() == kind);
    let open = token(T!['('])?.text_range().end();
    Some((open, token(T![')']).map(|close| close.text_range().start())))
}

/// Returns the index of the parameter that receives the argument at an offset: the parameter that the argument names,
/// otherwise the next positional one, otherwise the first parameter that must be named and is not; `None` if there is none.
fn active(callable: &Callable, list: &ast::ArgList, node: &SyntaxNode, at: TextSize) -> Option<usize> {
    // A label without a value yet ends before the spaces behind its colon.
    let awaits_value = |arg: &ast::Arg| {
        arg.syntax().text_range().end() <= at
            && arg.syntax().last_token().is_some_and(|token| token.kind() == T![:])
    };
    let around =
        list.args().find(|arg| arg.syntax().text_range().contains_inclusive(at) || awaits_value(arg));
    if let Some(label) = around.and_then(|arg| arg.name_ref()) {
        return callable.params.iter().position(|param| param.name == label.text());
    }
    let labels: Vec<(TextSize, String)> = list
        .args()
        .filter_map(|arg| Some((arg.syntax().text_range().start(), arg.name_ref()?.text().to_string())))
        .collect();
    let tokens = node.children_with_tokens().filter_map(|it| it.into_token());
    let commas =
        tokens.filter(|token| token.kind() == SyntaxKind::COMMA && token.text_range().end() <= at).count();
    // Named arguments do not take a positional parameter.
    let turn = commas.saturating_sub(labels.iter().filter(|(start, _)| *start < at).count());
    let is_free = |i: &usize| labels.iter().all(|(_, label)| *label != callable.params[*i].name);
    let free = |named: bool| {
        let of_kind = move |i: &usize| (callable.params[*i].need == Need::Named) == named;
        (0..callable.params.len()).filter(of_kind).filter(is_free)
    };
    let rest = free(false).next_back().filter(|i| callable.params[*i].need == Need::Rest);
    free(false).nth(turn).or(rest).or_else(|| free(true).next())
}

/// Returns the expression of a body that has exactly this range; `None` if there is none.
pub(crate) fn expr_at(db: &dyn Db, item: Item<'_>, range: TextRange) -> Option<ExprId> {
    let map = body_source_map(db, item)?;
    let offset = item.offset(db);
    map.exprs.iter().find(|(_, found)| **found + offset == range).map(|(expr, _)| expr)
}

/// Returns the callee of a call; `None` for another expression.
pub(crate) fn callee_of(store: &ExprStore, expr: ExprId) -> Option<ExprId> {
    match &store[expr] {
        Expr::Call { callee, .. } => Some(*callee),
        _ => None,
    }
}

/// The signature that an editor shows while a call is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureHelp {
    pub label: String,
    /// Byte ranges of the parameters in the label.
    pub params: Vec<TextRange>,
    pub active: Option<usize>,
    pub docs: Option<String>,
}

/// Returns the header of the callable whose call is around an offset; `None` outside of calls.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn signature_help(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
) -> crate::Cancellable<Option<SignatureHelp>> {
    crate::catch(|| {
        let call = call_at(db, file, at)?;
        let (label, params) = call.callable.label();
        Some(SignatureHelp { label, params, active: call.active, docs: call.callable.docs })
    })
}
