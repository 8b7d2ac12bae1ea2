//! Completion of names in scope: locals, parameters, the items of the file, and built-ins.

use hx_base::{TextRange, TextSize};
use hx_dtype::DType;
use hx_hir::{
    Builtin, Item, ItemKind, LayoutFn, Name, Need, Pat, Place, RESULT, Ty, body_of, body_source_map,
    builtins, file_items, imports, infer_body, signature_names, signature_types,
};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, T};

use super::expected::Class;
use super::{Completing, CompletionKind};
use crate::callable::{Callable, of_item};
use crate::names::params_of;

impl Completing<'_> {
    /// Adds the locals, parameters and dimensions that are in scope.
    pub(super) fn scope(&mut self) {
        let Some(item) = self.item_around() else { return };
        let db = self.db;
        let types = infer_body(db, item);
        let (body, offset) = (body_of(db, item), item.offset(db));
        let scopes = self.binding_places();
        if let Some(map) = body_source_map(db, item) {
            let mut locals: Vec<(TextSize, Name, Option<&Ty>)> = Vec::new();
            for (pat, found) in body.store.pats.iter() {
                let (Pat::Bind(name), Some(range)) = (found, map.pat(pat)) else { continue };
                let range = range + offset;
                if scopes.iter().any(|place| place.contains_range(range)) {
                    let ty = types.pats.get(pat).filter(|ty| !ty.is_quiet());
                    locals.push((range.start(), name.clone(), ty));
                }
            }
            // The nearest binding of a name shadows the others: put it first.
            locals.sort_by_key(|(start, _, _)| std::cmp::Reverse(*start));
            for (_, name, ty) in locals {
                let rank = self.ranked(1, ty.and_then(Class::of));
                self.add(&name, CompletionKind::Local, rank).detail =
                    ty.map_or_else(String::new, ToString::to_string);
            }
        }
        let header = of_item(db, item).unwrap_or(Callable {
            name: String::new(),
            generics: Vec::new(),
            params: Vec::new(),
            tail: String::new(),
            docs: None,
        });
        debug_assert_eq!(header.params.len(), params_of(db, item).len());
        let declared = signature_types(db, item);
        for (param, index) in header.params.into_iter().zip(0..) {
            let rank = self.ranked(2, declared.params.get(index).and_then(Class::of));
            self.add(&param.name, CompletionKind::Parameter, rank).detail = param.text;
        }
        for (generic, index) in header.generics.into_iter().zip(0..) {
            let rank = self.ranked(2, declared.generics.get(index).and_then(Class::of));
            self.add(&generic.name, CompletionKind::TypeParameter, rank).detail = generic.text;
        }
        let rank = self.ranked(2, Some(Class::Number));
        for dim in &signature_names(db, item).dims {
            self.add(&dim.name, CompletionKind::Dimension, rank).detail = "dimension".to_owned();
        }
        let in_where = self.ancestors().any(|node| node.kind() == SyntaxKind::WHERE_CLAUSE);
        if let (Item::Function(_), Some(ret), true) = (item, &declared.ret, in_where) {
            let rank = self.ranked(2, Class::of(ret));
            self.add(RESULT, CompletionKind::Local, rank).detail = ret.to_string();
        }
    }

    /// Returns the ranges of the bindings that are in scope at the offset.
    fn binding_places(&self) -> Vec<TextRange> {
        let mut places = Vec::new();
        let at = self.range.start();
        for node in self.ancestors() {
            // A block that is closed before the offset binds nothing here.
            let closed = node.last_token().is_some_and(|token| token.kind() == SyntaxKind::R_BRACE);
            if closed && node.text_range().end() <= at {
                continue;
            }
            match node.kind() {
                SyntaxKind::BLOCK => {
                    let lets = node.children().filter_map(ast::LetStmt::cast);
                    let done = lets.filter(|stmt| stmt.syntax().text_range().end() <= at);
                    places.extend(done.filter_map(|stmt| Some(stmt.pattern()?.syntax().text_range())));
                }
                SyntaxKind::CLOSURE_EXPR => {
                    let list = node.children().filter_map(ast::ClosureParamList::cast);
                    places.extend(list.map(|list| list.syntax().text_range()));
                }
                SyntaxKind::FOR_STMT | SyntaxKind::WARP_ROLE => {
                    let body = node.children().filter_map(ast::Block::cast).last();
                    if body.is_some_and(|body| body.syntax().text_range().contains_inclusive(at)) {
                        places.extend(
                            node.children().filter_map(ast::Pattern::cast).map(|p| p.syntax().text_range()),
                        );
                        let binder = node.children().filter_map(ast::RoleBinder::cast);
                        places.extend(binder.map(|binder| binder.syntax().text_range()));
                    }
                }
                SyntaxKind::TEST | SyntaxKind::BENCH => {
                    let clause = node.children().filter_map(ast::CaseClause::cast);
                    places.extend(clause.filter_map(|clause| Some(clause.pattern()?.syntax().text_range())));
                    let drawn = node.children().filter_map(ast::ForallClause::cast);
                    let drawn = drawn.flat_map(|clause| clause.variables());
                    // Between the variables of the clause only those before the offset are known.
                    let known = drawn.filter_map(|variable| {
                        let done = variable.syntax().text_range().end() <= at;
                        Some(variable.pattern()?.syntax().text_range()).filter(|_| done)
                    });
                    places.extend(known);
                }
                _ => {}
            }
        }
        places
    }

    /// Adds the items of the file, and the names that its `use` items import.
    pub(super) fn items(&mut self) {
        let around = self.item_around();
        for item in file_items(self.db, self.file).named() {
            if Some(item) != around {
                self.item(item, 3, false);
            }
        }
        for import in imports(self.db, self.file) {
            match hx_hir::absolute_path(self.db, self.file, &import.path.segments) {
                Some(hx_hir::PathTarget::Item(item)) => {
                    self.item(item, 3, false);
                    // Offer the item under the name that it has in this file.
                    if let Some(last) =
                        self.found.last_mut().filter(|last| last.label != import.name.as_str())
                    {
                        last.insert = last.insert.replacen(&last.label.clone(), &import.name, 1);
                        last.label = import.name.to_string();
                    }
                }
                Some(hx_hir::PathTarget::Module(_)) => {
                    self.add(&import.name, CompletionKind::Module, 3);
                }
                None => {}
            }
        }
        self.add("std", CompletionKind::Module, 5);
    }

    pub(super) fn item(&mut self, item: Item<'_>, rank: u8, plain: bool) {
        let kind = match item.kind() {
            ItemKind::Kernel => CompletionKind::Kernel,
            ItemKind::Function => CompletionKind::Function,
            ItemKind::Const => CompletionKind::Constant,
            _ => return,
        };
        let class = (kind == CompletionKind::Function).then_some(Class::Function);
        let rank = self.ranked(rank, class);
        let name = item.name(self.db).clone();
        if name.is_empty() {
            return;
        }
        let callee = of_item(self.db, item);
        let path = item.file(self.db).path(self.db).to_owned();
        let calls = self.is_called();
        let entry = self.add(&name, kind, rank);
        entry.item = Some((path, name.to_string()));
        if let Some(callee) = callee {
            entry.detail = callee.label().0;
            if !plain && !calls {
                let names = callee.params.iter().map(|p| p.name.as_str());
                (entry.insert, entry.is_snippet) = (call_snippet(&name, names), true);
            }
        }
    }

    /// Reports whether the word is already followed by arguments.
    pub(super) fn is_called(&self) -> bool {
        let next = self.root.token_at_offset(self.at).right_biased();
        let next = next.filter(|token| token.text_range().start() >= self.at);
        next.is_some_and(|token| matches!(token.kind(), T!['('] | T![<]))
    }

    pub(super) fn builtins(&mut self, place: Place) {
        let calls = self.is_called();
        for builtin in builtins() {
            let fits = builtin.is_at(place) || place == Place::Both && builtin.place() != Place::Member;
            if !fits || builtin.name().contains("::") {
                continue;
            }
            let entry = self.add(builtin.name(), CompletionKind::Builtin, 4);
            (entry.detail, entry.docs) = (builtin.signature(), builtin.doc().to_owned());
            let Some(params) = builtin.params().filter(|_| !calls) else { continue };
            // `swizzle` takes compile-time arguments only.
            if builtin == Builtin::Layout(LayoutFn::Swizzle) {
                entry.insert = "swizzle<${1:3}, ${2:3}, ${3:3}>$0".to_owned();
            } else {
                let names = params.iter().filter(|p| p.need == Need::Required).map(|p| p.name);
                entry.insert = call_snippet(builtin.name(), names);
            }
            entry.is_snippet = true;
        }
        let rank = self.ranked(5, Some(Class::DType));
        for dtype in DType::ALL {
            self.add(&dtype.to_string(), CompletionKind::Type, rank);
        }
    }
}

/// `copy(${1:src}, ${2:dst})$0`
pub(super) fn call_snippet<'a>(name: &str, params: impl Iterator<Item = &'a str>) -> String {
    let places: Vec<String> = params.enumerate().map(|(i, p)| format!("${{{}:{p}}}", i + 1)).collect();
    if places.is_empty() { format!("{name}()$0") } else { format!("{name}({})$0", places.join(", ")) }
}
