//! Completion of paths and imports: modules, their items, and the `use` that brings a name in.

use std::collections::BTreeSet;

use hx_base::{Edit, FileKind, TextRange, TextSize, resolve_module};
use hx_hir::{builtins, file_items, imports};
use hx_syntax::{SyntaxKind, T};

use super::{Completing, CompletionKind};

impl Completing<'_> {
    /// Returns the names of the path before the offset: those before `::`, or before the `::{` of a `use`. `None` if no such
    /// path ends there.
    pub(super) fn module_path(&self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut at = self.before.clone()?;
        if at.kind() == T!['{'] {
            // `use std::{|}`
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
    pub(super) fn path(&mut self, path: &[String]) {
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

    pub(super) fn use_start(&mut self) {
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

    /// Adds items of the standard library and of other files, each with the `use` that imports it.
    pub(super) fn importable(&mut self) {
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
                let at = first.map_or(TextSize::new(0), |node| crate::node::code_range(&node).start());
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
}
