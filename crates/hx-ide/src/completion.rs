//! Completion at an offset: members, names in scope, named arguments, compile-time parameters, imports, keywords.
//!
//! The syntax tree determines the context of the offset. Names and types come from the current text, which may be half-typed.

mod host;
mod words;

use std::collections::BTreeSet;

use hx_base::{Edit, FileKind, SourceFile, TextRange, TextSize, resolve_module};
use hx_compile::Db;
use hx_dtype::DType;
use hx_hir::{
    Builtin, Item, ItemKind, LayoutFn, Name, Need, Pat, Place, Ty, body_of, body_source_map, builtins,
    file_items, imports, infer_body, item_range, signature_names,
};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode, SyntaxToken, T};

use self::words::{
    BODY_SNIPPETS, DEVICE_SNIPPETS, HEADER_WORDS, HOST_SNIPPETS, TOP_SNIPPETS, TYPE_WORDS, WORDS,
};
use crate::callable::{Callable, call_at, callable, expr_at, of_item};
use crate::hover::place_at;
use crate::names::{generics_of, occurrence_at, params_of};
use crate::{Cancellable, catch, docs};

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    Keyword,
    Snippet,
    Kernel,
    Function,
    Builtin,
    Constant,
    Local,
    Parameter,
    TypeParameter,
    Dimension,
    Type,
    Module,
    Member,
    /// The name of an argument.
    Argument,
}

/// An entry of a completion list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    pub label: String,
    pub kind: CompletionKind,
    /// A line beside the label.
    pub detail: String,
    /// Markdown; empty if [`completion_docs`] supplies it on demand.
    pub docs: String,
    /// The range that the entry replaces.
    pub range: TextRange,
    pub insert: String,
    /// Whether `insert` is a snippet in the protocol's notation.
    pub is_snippet: bool,
    /// Entries with a lower rank come first in the list.
    pub rank: u8,
    /// Edits elsewhere in the file: the `use` that brings the name in.
    pub also: Vec<Edit>,
    /// The item that the entry names, as its file's path and its name. [`completion_docs`] finds the docs with it.
    pub item: Option<(String, String)>,
}

/// Returns the entries at an offset, ordered by rank and name.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn completions(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Vec<Completion>> {
    catch(|| {
        let mut cx = Completing::new(db, file, at);
        cx.fill();
        let mut seen = BTreeSet::new();
        let mut found = cx.found;
        // A local shadows other items of its name: it has a lower rank, so the duplicates after it are dropped.
        found.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| a.label.cmp(&b.label)));
        found.retain(|entry| seen.insert((entry.label.clone(), entry.kind == CompletionKind::Snippet)));
        found
    })
}

/// Returns the docs of an entry that names an item: its header and its doc comment.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn completion_docs(db: &dyn Db, path: &str, name: &str) -> Cancellable<Option<String>> {
    catch(|| {
        let file = db.workspace().file(db, path)?;
        let item = hx_hir::item_named(db, file, name.into())?;
        let header = docs::header(db, item)?;
        let text = docs::docs(db, item).unwrap_or_default();
        Some(format!("```hx\n{header}\n```\n\n{text}"))
    })
}

struct Completing<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    at: TextSize,
    root: SyntaxNode,
    /// The range of the word that is being typed.
    range: TextRange,
    /// The last non-trivia token before that word.
    before: Option<SyntaxToken>,
    found: Vec<Completion>,
}

impl<'db> Completing<'db> {
    fn new(db: &'db dyn Db, file: SourceFile, at: TextSize) -> Completing<'db> {
        let root = hx_base::parse(db, file).syntax_node();
        let at = at.min(root.text_range().end());
        let left = root.token_at_offset(at).left_biased();
        let word = left.clone().filter(|token| {
            token.kind() == SyntaxKind::IDENT || token.kind().is_keyword() || token.kind() == T![_]
        });
        let range = match &word {
            Some(token) => TextRange::new(token.text_range().start(), at),
            None => TextRange::empty(at),
        };
        let mut before = match word {
            Some(token) => token.prev_token(),
            None => left,
        };
        while let Some(token) = before.clone().filter(|token| token.kind().is_trivia()) {
            before = token.prev_token();
        }
        Completing { db, file, at, root, range, before, found: Vec::new() }
    }

    fn add(&mut self, label: &str, kind: CompletionKind, rank: u8) -> &mut Completion {
        self.found.push(Completion {
            label: label.to_owned(),
            kind,
            detail: String::new(),
            docs: String::new(),
            range: self.range,
            insert: label.to_owned(),
            is_snippet: false,
            rank,
            also: Vec::new(),
            item: None,
        });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn fill(&mut self) {
        // Offer nothing inside comments and strings.
        if let Some(token) = self.root.token_at_offset(self.at).left_biased() {
            let open = token.text_range().end() > self.at || token.kind() == SyntaxKind::COMMENT;
            if open && matches!(token.kind(), SyntaxKind::COMMENT | SyntaxKind::STRING) {
                return;
            }
        }
        let before = self.before.clone();
        let kind = before.as_ref().map(SyntaxToken::kind);
        if let Some(path) = self.module_path() {
            return self.path(&path);
        }
        if self.inside(SyntaxKind::USE) {
            return self.use_start();
        }
        if kind == Some(T![.])
            && let Some(dot) = before
        {
            return self.members(&dot);
        }
        if self.inside(SyntaxKind::ATTR) {
            self.add("unroll", CompletionKind::Keyword, 0).detail = "unroll the loop".to_owned();
            return;
        }
        if self.is_type_position() {
            return self.types();
        }
        let Some(place) = self.place() else { return };
        if self.in_header() {
            HEADER_WORDS.iter().for_each(|word| {
                self.add(word, CompletionKind::Keyword, 2);
            });
        }
        self.generic_arguments();
        self.named_arguments();
        self.scope();
        self.items();
        self.builtins(place);
        self.importable();
        self.words(place);
    }

    /// Returns the nodes around the last token before the word. The whitespace after a half-typed node counts as part of it.
    fn ancestors(&self) -> impl Iterator<Item = SyntaxNode> + use<> {
        self.before.clone().into_iter().flat_map(|token| token.parent_ancestors())
    }

    fn inside(&self, kind: SyntaxKind) -> bool {
        // A `use` or attribute that is closed before the offset is not around it.
        let node = self.ancestors().find(|node| node.kind() == kind);
        node.is_some_and(|node| {
            let last = node.last_token();
            let closed = last.is_some_and(|t| {
                matches!(t.kind(), T![;] | T![']']) && t.text_range().end() <= self.range.start()
            });
            !closed
        })
    }

    /// Returns the names before `::` at the offset.
    fn module_path(&self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut at = self.before.clone()?;
        if at.kind() == T!['{'] {
            // `use std::{matmul, |}`
            at = at.prev_token()?;
        }
        while at.kind() == SyntaxKind::COLON2 {
            let name = at.prev_token().filter(|token| token.kind() == SyntaxKind::IDENT)?;
            names.insert(0, name.text().to_owned());
            at = name.prev_token()?;
        }
        (!names.is_empty()).then_some(names)
    }

    /// Adds the items of a module, and its submodules.
    fn path(&mut self, path: &[String]) {
        let db = self.db;
        let mut full: Vec<String> = path.to_vec();
        if let Some(import) = imports(db, self.file).iter().find(|import| import.name == path[0]) {
            let prefix = import.path.segments.iter().map(ToString::to_string);
            full = prefix.chain(path[1..].iter().cloned()).collect();
        }
        let words: Vec<&str> = full.iter().map(String::as_str).collect();
        if let Some(module) = resolve_module(db, self.file, &words) {
            let in_use = self.inside(SyntaxKind::USE);
            for item in file_items(db, module).named() {
                self.item(item, 0, in_use);
            }
        }
        let prefix = format!("{}/", full.join("/"));
        let from_std = full.first().is_some_and(|first| first == "std");
        let mut modules = BTreeSet::new();
        for file in db.workspace().files(db) {
            if from_std != (file.kind(db) == FileKind::Std) {
                continue;
            }
            if let Some(rest) = file.path(db).strip_prefix(&prefix) {
                modules.insert(rest.split('/').next().unwrap_or(rest).trim_end_matches(".hx").to_owned());
            }
        }
        for module in modules {
            self.add(&module, CompletionKind::Module, 1);
        }
        for builtin in builtins().filter(|b| b.name().starts_with(&format!("{}::", path.join("::")))) {
            let name = builtin.name().rsplit("::").next().unwrap_or_default();
            let entry = self.add(name, CompletionKind::Builtin, 1);
            (entry.detail, entry.docs) = (builtin.signature(), builtin.doc().to_owned());
        }
    }

    fn use_start(&mut self) {
        self.add("std", CompletionKind::Module, 0).detail = "the standard library".to_owned();
        let mut modules = BTreeSet::new();
        let own = self.file.path(self.db);
        let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        for file in self.db.workspace().files(self.db) {
            let path = file.path(self.db);
            if file.kind(self.db) == FileKind::Std || *file == self.file {
                continue;
            }
            let inside = if folder.is_empty() {
                Some(path)
            } else {
                path.strip_prefix(folder).and_then(|p| p.strip_prefix('/'))
            };
            if let Some(rest) = inside.filter(|rest| !rest.starts_with('/')) {
                modules.insert(rest.split('/').next().unwrap_or(rest).trim_end_matches(".hx").to_owned());
            }
        }
        for module in modules {
            self.add(&module, CompletionKind::Module, 1);
        }
    }

    fn members(&mut self, dot: &SyntaxToken) {
        let base = dot.parent().and_then(|node| {
            let mut exprs = node.children().filter_map(ast::Expr::cast);
            exprs.find(|expr| expr.syntax().text_range().end() <= dot.text_range().start())
        });
        let ty = base.and_then(|base| self.type_of(base.syntax().text_range()));
        let place = place_at(self.db, self.file, dot.text_range().start());
        if place.or(self.is_cell().then_some(Place::Host)) == Some(Place::Host) {
            return self.host_members(ty.as_ref());
        }
        let tensor = !matches!(
            ty,
            Some(
                Ty::Int(_) | Ty::Bool | Ty::Str | Ty::Float(_) | Ty::Unit | Ty::Range { .. } | Ty::Layout(_)
            )
        );
        if tensor {
            let entry = self.add("T", CompletionKind::Member, 0);
            entry.detail = "the last two modes swapped".to_owned();
            entry.docs = "A view of the same elements with the last two modes swapped.".to_owned();
        }
        if matches!(ty, None | Some(Ty::Unknown | Ty::Error)) {
            for (name, detail) in [
                ("acquire", "waits until the next stage is free, and gives its index"),
                ("wait", "waits until the next stage is full, and gives its index"),
                ("release", "the stage may be refilled"),
                ("release_previous", "the stage before may be refilled"),
            ] {
                let entry = self.add(name, CompletionKind::Member, 1);
                entry.detail = format!("of a pipeline: {detail}");
                entry.insert = format!("{name}()");
            }
        }
    }

    fn type_of(&self, range: TextRange) -> Option<Ty> {
        let around = |item: &&Item<'_>| item_range(self.db, **item).contains_range(range);
        let item = *file_items(self.db, self.file).items.iter().find(around)?;
        let expr = expr_at(self.db, item, range)?;
        infer_body(self.db, item).exprs.get(expr).cloned()
    }

    fn is_type_position(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let parent = before.parent().map(|node| node.kind());
        match before.kind() {
            T![->] => true,
            T![mut] | T![shared] | T![register] | T![global] => true,
            T![:] => matches!(
                parent,
                Some(
                    SyntaxKind::PARAM | SyntaxKind::LET_STMT | SyntaxKind::GENERIC_PARAM | SyntaxKind::CONST
                )
            ),
            _ => false,
        }
    }

    fn types(&mut self) {
        for dtype in DType::ALL {
            self.add(&dtype.to_string(), CompletionKind::Type, 1);
        }
        if self.inside(SyntaxKind::GENERIC_PARAM_LIST) {
            for kind in ["int", "type", "layout", "bool"] {
                self.add(kind, CompletionKind::Type, 0);
            }
        }
        if let Some(item) = self.item_around() {
            for generic in generics_of(self.db, item) {
                self.add(&generic, CompletionKind::TypeParameter, 0);
            }
        }
        for word in TYPE_WORDS {
            self.add(word, CompletionKind::Keyword, 2);
        }
    }

    fn item_around(&self) -> Option<Item<'db>> {
        let around = |item: &&Item<'_>| item_range(self.db, **item).contains_inclusive(self.range.start());
        file_items(self.db, self.file).items.iter().find(around).copied()
    }

    fn in_header(&self) -> bool {
        let Some(item) = self.item_around() else { return false };
        let closers = [T![')'], T![>], T!['}']];
        // A list or block that is closed before the offset is not around it.
        let open = |node: &SyntaxNode| {
            let last = node.last_token().filter(|token| closers.contains(&token.kind()));
            last.is_none_or(|token| token.text_range().end() > self.range.start())
        };
        let kinds = [SyntaxKind::BLOCK, SyntaxKind::PARAM_LIST, SyntaxKind::GENERIC_PARAM_LIST];
        let inside = self.ancestors().any(|node| kinds.contains(&node.kind()) && open(&node));
        matches!(item.kind(), ItemKind::Kernel) && !inside
    }

    fn top(&mut self) {
        for (label, insert, detail) in TOP_SNIPPETS {
            self.snippet(label, insert, detail, 0);
        }
    }

    fn snippet(&mut self, label: &str, insert: &str, detail: &str, rank: u8) {
        let entry = self.add(label, CompletionKind::Snippet, rank);
        (entry.insert, entry.is_snippet) = (insert.to_owned(), true);
        entry.detail = detail.to_owned();
    }

    /// `matmul<|`: adds the compile-time parameters of the callee.
    fn generic_arguments(&mut self) {
        let Some(before) = self.before.clone() else { return };
        let open = match before.kind() {
            T![<] => Some(before),
            T![,] => {
                let list = before.parent().filter(|node| node.kind() == SyntaxKind::GENERIC_ARG_LIST);
                list.and_then(|list| list.first_token())
            }
            _ => None,
        };
        let Some(open) = open.filter(|token| token.kind() == T![<]) else { return };
        let mut name = open.prev_token();
        while let Some(token) = name.clone().filter(|token| token.kind().is_trivia()) {
            name = token.prev_token();
        }
        let Some(name) = name.filter(|token| token.kind() == SyntaxKind::IDENT) else { return };
        let Some(found) = occurrence_at(self.db, self.file, name.text_range().start()) else { return };
        let Some(callee) = callable(self.db, &found.def) else { return };
        let written: Vec<String> = open
            .parent()
            .and_then(ast::GenericArgList::cast)
            .map(|list| list.args().filter_map(|arg| Some(arg.name_ref()?.text())).collect())
            .unwrap_or_default();
        for generic in callee.generics.into_iter().filter(|generic| !written.contains(&generic.name)) {
            let entry = self.add(&generic.name, CompletionKind::TypeParameter, 0);
            entry.insert = format!("{} = ", generic.name);
            entry.detail = generic.text;
        }
    }

    fn named_arguments(&mut self) {
        // After a label the argument's value follows, so no label is offered.
        if self.before.as_ref().is_some_and(|token| token.kind() == T![:]) {
            return;
        }
        let Some(call) = call_at(self.db, self.file, self.at) else { return };
        for param in call.callable.params {
            let rank = match param.need {
                Need::Rest => continue,
                Need::Named => 0,
                Need::Optional => 1,
                // A required argument is usually passed by position, so its name comes late in the list.
                Need::Required => 6,
            };
            if !call.named.contains(&param.name) {
                let entry = self.add(&format!("{}:", param.name), CompletionKind::Argument, rank);
                entry.insert = format!("{}: ", param.name);
                entry.detail = format!("argument of `{}`", call.callable.name);
            }
        }
    }

    /// Adds the locals, parameters and dimensions that are in scope.
    fn scope(&mut self) {
        let Some(item) = self.item_around() else { return };
        let db = self.db;
        let types = infer_body(db, item);
        let (body, offset) = (body_of(db, item), item.offset(db));
        let scopes = self.binding_places();
        if let Some(map) = body_source_map(db, item) {
            let mut locals: Vec<(TextSize, Name, String)> = Vec::new();
            for (pat, found) in body.store.pats.iter() {
                let (Pat::Bind(name), Some(range)) = (found, map.pat(pat)) else { continue };
                let range = range + offset;
                if scopes.iter().any(|place| place.contains_range(range)) {
                    let ty = types.pats.get(pat).filter(|ty| !ty.is_quiet());
                    let ty = ty.map_or_else(String::new, ToString::to_string);
                    locals.push((range.start(), name.clone(), ty));
                }
            }
            // The nearest binding of a name shadows the others: put it first.
            locals.sort_by_key(|(start, _, _)| std::cmp::Reverse(*start));
            for (_, name, ty) in locals {
                self.add(&name, CompletionKind::Local, 1).detail = ty;
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
        for param in header.params {
            self.add(&param.name, CompletionKind::Parameter, 2).detail = param.text;
        }
        for generic in header.generics {
            self.add(&generic.name, CompletionKind::TypeParameter, 2).detail = generic.text;
        }
        for dim in &signature_names(db, item).dims {
            self.add(&dim.name, CompletionKind::Dimension, 2).detail = "dimension".to_owned();
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
                }
                _ => {}
            }
        }
        places
    }

    fn item(&mut self, item: Item<'_>, rank: u8, plain: bool) {
        let kind = match item.kind() {
            ItemKind::Kernel => CompletionKind::Kernel,
            ItemKind::Function => CompletionKind::Function,
            ItemKind::Const => CompletionKind::Constant,
            _ => return,
        };
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
    fn is_called(&self) -> bool {
        let next = self.root.token_at_offset(self.at).right_biased();
        let next = next.filter(|token| token.text_range().start() >= self.at);
        next.is_some_and(|token| matches!(token.kind(), T!['('] | T![<]))
    }

    /// Adds the items of the file, and the names that its `use` items import.
    fn items(&mut self) {
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

    fn builtins(&mut self, place: Place) {
        let calls = self.is_called();
        for builtin in builtins() {
            let fits = builtin.is_at(place) || place == Place::Both;
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
        for dtype in DType::ALL {
            self.add(&dtype.to_string(), CompletionKind::Type, 5);
        }
    }

    /// Adds items of the standard library and of other files, each with the `use` that imports it.
    fn importable(&mut self) {
        let typed =
            self.file.text(self.db).get(std::ops::Range::<usize>::from(self.range)).unwrap_or_default();
        // With fewer than two letters the list would contain most of the library.
        if typed.len() < 2 {
            return;
        }
        let typed = typed.to_owned();
        for &file in self.db.workspace().files(self.db) {
            if file == self.file {
                continue;
            }
            let path = file.path(self.db).trim_end_matches(".hx").to_owned();
            // Files outside the folder cannot be imported, because they have no path in the language.
            if path.starts_with('/') {
                continue;
            }
            let segments: Vec<&str> = path.split('/').collect();
            if resolve_module(self.db, self.file, &segments) != Some(file) {
                continue;
            }
            for item in file_items(self.db, file).named() {
                let name = item.name(self.db).clone();
                if name.starts_with('_') || crate::fuzzy::score(&typed, &name).is_none() {
                    continue;
                }
                let before = self.found.len();
                self.item(item, 7, false);
                let line = format!("use {}::{name};", segments.join("::"));
                let edit = self.import(&line);
                if let Some(entry) = self.found.get_mut(before) {
                    entry.also = vec![edit];
                    entry.detail = format!("{line} {}", entry.detail);
                }
            }
        }
    }

    /// Returns the insertion of a new `use` after the last one, or before the first item.
    fn import(&self, line: &str) -> Edit {
        let last = self.root.children().filter(|node| node.kind() == SyntaxKind::USE).last();
        let (at, text) = match last {
            Some(node) => (node.text_range().end(), format!("\n{line}")),
            None => {
                let first = self.root.children().next();
                let at = first.map_or(TextSize::new(0), |node| crate::symbols::code_range(&node).start());
                // Insert before the docs of the first item, because they belong to it.
                let docs = self.root.children().next().and_then(|node| {
                    let tokens = node.children_with_tokens().filter_map(|it| it.into_token());
                    let mut comments = tokens.filter(|token| token.kind() == SyntaxKind::COMMENT);
                    comments.find(|t| t.text().starts_with("///")).map(|t| t.text_range().start())
                });
                (docs.unwrap_or(at), format!("{line}\n\n"))
            }
        };
        Edit { file: self.file, range: TextRange::empty(at), text }
    }

    fn words(&mut self, place: Place) {
        for (label, insert, detail) in BODY_SNIPPETS {
            self.snippet(label, insert, detail, 5);
        }
        let own = if place == Place::Host { HOST_SNIPPETS } else { DEVICE_SNIPPETS };
        for (label, insert, detail) in own {
            self.snippet(label, insert, detail, 6);
        }
        for word in WORDS {
            self.add(word, CompletionKind::Keyword, 6);
        }
    }
}

/// `copy(${1:src}, ${2:dst})$0`
fn call_snippet<'a>(name: &str, params: impl Iterator<Item = &'a str>) -> String {
    let places: Vec<String> = params.enumerate().map(|(i, p)| format!("${{{}:{p}}}", i + 1)).collect();
    if places.is_empty() { format!("{name}()$0") } else { format!("{name}({})$0", places.join(", ")) }
}
