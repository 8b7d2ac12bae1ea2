//! Completion at an offset: members, names in scope, named arguments, compile-time parameters, imports, keywords.
//!
//! The syntax tree determines the context of the offset. Names and types come from the current text, which may be half-typed.

mod arguments;
mod expected;
mod host;
mod imports;
mod members;
mod scope;
mod types;
mod words;

use std::collections::BTreeSet;

use hx_base::{Edit, SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Item, ItemKind, Place, file_items, item_range};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode, SyntaxToken, T};

use self::expected::Class;
use self::words::{
    BODY_SNIPPETS, DEVICE_SNIPPETS, HEADER_WORDS, HOST_SNIPPETS, PTX_SNIPPET, TOP_SNIPPETS, WORDS,
};
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
    /// The item that the entry names, as its file's path and its name; `None` for an entry that names no item.
    /// [`completion_docs`] finds the docs with it.
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

/// Returns the docs of an entry that names an item: its header and its doc comment. `None` if the item is not found.
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
    /// The last non-trivia token before that word; `None` at the start of the file.
    before: Option<SyntaxToken>,
    /// The class of values that the argument at the offset takes, if it is known.
    wanted: Option<Class>,
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
        let mut cx = Completing { db, file, at, root, range, before, wanted: None, found: Vec::new() };
        cx.wanted = cx.expected();
        cx
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
            return self.attribute();
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

    /// Offers attributes, and the options of the one around.
    fn attribute(&mut self) {
        let attr = self.ancestors().find_map(ast::Attr::cast);
        let is_in_args = self.ancestors().any(|node| node.kind() == SyntaxKind::ARG_LIST);
        if is_in_args && attr.and_then(|attr| attr.text()).as_deref() == Some("ptx") {
            let detail = "the text reads a special register, so every call runs it";
            self.add("volatile", CompletionKind::Keyword, 0).detail = detail.to_owned();
            return;
        }
        const ACCEPT: (&str, &str) = ("accept", "accept the performance notes of one code, with a reason");
        let is_in_body = self.ancestors().any(|node| node.kind() == SyntaxKind::BLOCK);
        let further = if is_in_args || is_in_body {
            [("peel", "split the loop where an `if` on its counter changes"), ("unroll", "unroll the loop")]
        } else {
            let (name, insert, detail) = PTX_SNIPPET;
            self.snippet(name, insert, detail, 0);
            [
                ("exact", "keep the kernel's arithmetic exact where results are rounded to 16 bits"),
                ("family", "list the kernels among which a launch chooses"),
            ]
        };
        for (name, detail) in std::iter::once(ACCEPT).chain(further) {
            self.add(name, CompletionKind::Keyword, 0).detail = detail.to_owned();
        }
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
