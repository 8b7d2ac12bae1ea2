//! The syntax of `.hx`: text to a lossless tree, a typed view of that tree, and syntax errors as plain data.
//!
//! Invariant: every text has a tree, and the text of the tree is exactly the input, broken and half-typed code included.
//! The crate knows no file, no type, no query and no editor, and of a name only its spelling.
//!
//! Start at [`parse`] and [`ast::SourceFile`]; [`reparse()`] parses a text after an edit. The grammar is `grammar/hx.ungram`;
//! `grammar.rs` has one function for each of its rules.

use std::{collections::BTreeSet, fmt, marker::PhantomData, sync::Arc};

mod builder;
mod completeness;
mod error;
mod foreign;
mod grammar;
mod kind;
mod lexer;
mod parser;
mod reparse;
mod validation;

pub mod ast;

pub use rowan::{Direction, GreenNode, NodeOrToken, TextRange, TextSize, TokenAtOffset, WalkEvent};

pub use crate::{
    ast::{AstNode, SourceFile},
    completeness::{Completeness, completeness, open_brackets},
    error::{SyntaxError, codes},
    foreign::{Foreign, ForeignPlace, foreign, foreign_words, is_known_elsewhere},
    kind::{SyntaxKind, T},
    lexer::{Token, is_identifier, lex},
    reparse::reparse,
};

/// The language tag that ties rowan's trees to [`SyntaxKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hx {}

impl rowan::Language for Hx {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::from_raw(raw.0)
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

/// A node of the tree, with its position and its parent. It is not `Send`: query results keep green nodes or an [`AstPtr`]
/// instead.
pub type SyntaxNode = rowan::SyntaxNode<Hx>;
/// A token of the tree.
pub type SyntaxToken = rowan::SyntaxToken<Hx>;
/// A node or a token.
pub type SyntaxElement = rowan::SyntaxElement<Hx>;
/// A pointer to a node: its kind and its range. It finds the node again in a tree of the same text.
pub type SyntaxNodePtr = rowan::ast::SyntaxNodePtr<Hx>;
/// A [`SyntaxNodePtr`] that remembers the type of the node.
pub type AstPtr<N> = rowan::ast::AstPtr<N>;

/// The result of parsing, which always exists: a tree, and the errors ordered by position.
pub struct Parse<T = SourceFile> {
    green: GreenNode,
    errors: Arc<[SyntaxError]>,
    root: PhantomData<fn() -> T>,
}

impl<T> Parse<T> {
    fn new(green: GreenNode, errors: Vec<SyntaxError>) -> Self {
        Parse { green, errors: errors.into(), root: PhantomData }
    }

    /// Returns the tree without positions. It is `Send`, compares by content and is cheap to clone.
    pub fn green(&self) -> &GreenNode {
        &self.green
    }

    /// Returns the root of the tree. Each call makes a new root; nodes of two roots are not equal.
    pub fn syntax_node(&self) -> SyntaxNode {
        SyntaxNode::new_root(self.green.clone())
    }

    /// Returns the syntax errors, ordered by position.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    /// Reports whether the text has no syntax error.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty()
    }
}

impl<T: AstNode<Language = Hx>> Parse<T> {
    /// Returns the typed root.
    ///
    /// # Panics
    /// Never: each entry point of this crate gives its tree the root that its type names.
    #[allow(clippy::expect_used, reason = "the root kind is fixed by the entry point")]
    pub fn tree(&self) -> T {
        T::cast(self.syntax_node()).expect("the root has the kind that its parser gave it")
    }
}

impl<T> Clone for Parse<T> {
    fn clone(&self) -> Self {
        Parse { green: self.green.clone(), errors: Arc::clone(&self.errors), root: PhantomData }
    }
}

impl<T> PartialEq for Parse<T> {
    fn eq(&self, other: &Self) -> bool {
        self.errors == other.errors && is_same_tree(&self.green, &other.green)
    }
}

impl<T> Eq for Parse<T> {}

impl<T> fmt::Debug for Parse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.syntax_node();
        f.debug_struct("Parse").field("root", &root).field("errors", &self.errors).finish()
    }
}

/// Reports whether two trees are equal. The trees of a text before and after an edit share the nodes of unchanged items, and this
/// function does not walk shared nodes.
pub fn is_same_tree(a: &rowan::GreenNodeData, b: &rowan::GreenNodeData) -> bool {
    if std::ptr::eq(a, b) {
        return true;
    }
    let is_same = |(a, b)| match (a, b) {
        (NodeOrToken::Node(a), NodeOrToken::Node(b)) => is_same_tree(a, b),
        (NodeOrToken::Token(a), NodeOrToken::Token(b)) => a == b,
        _ => false,
    };
    a.kind() == b.kind()
        && a.text_len() == b.text_len()
        && a.children().len() == b.children().len()
        && a.children().zip(b.children()).all(is_same)
}

/// Yields the tokens of a tree in text order, trivia included. It is faster than a walk of a [`SyntaxNode`], because it needs no
/// positions.
pub fn tokens(tree: &GreenNode) -> impl Iterator<Item = (SyntaxKind, &str)> {
    let mut stack = vec![tree.children()];
    std::iter::from_fn(move || {
        loop {
            match stack.last_mut()?.next() {
                None => drop(stack.pop()),
                Some(NodeOrToken::Node(node)) => stack.push(node.children()),
                Some(NodeOrToken::Token(token)) => {
                    return Some((SyntaxKind::from_raw(token.kind().0), token.text()));
                }
            }
        }
    })
}

/// Parses the text of a file.
pub fn parse(text: &str) -> Parse {
    let (green, errors) = parse_with(text, grammar::source_file);
    Parse::new(green, errors)
}

/// Parses an entry of the REPL: items and statements in any order. No `;` is needed at the end of a line.
pub fn parse_cell(text: &str) -> Parse<ast::Cell> {
    let (green, errors) = parse_with(text, grammar::cell);
    Parse::new(green, errors)
}

/// Parses an entry of the REPL as a file: the root of the tree holds one [`ast::Cell`]. Code that reads files can then read
/// accepted cells too.
pub fn parse_cell_file(text: &str) -> Parse {
    let (green, errors) = parse_with(text, grammar::cell_file);
    Parse::new(green, errors)
}

/// Removes "unexpected token" errors of the parser at places where the lexer has already reported an error.
fn drop_echoes(errors: &mut Vec<SyntaxError>, lexical: &[SyntaxError]) {
    let key = |range: TextRange| (range.start(), range.end());
    let reported: BTreeSet<_> = lexical.iter().map(|error| key(error.range)).collect();
    let open_strings = lexical.iter().filter(|error| error.code == codes::UNTERMINATED_STRING);
    let string_ends: BTreeSet<_> = open_strings.map(|error| error.range.end()).collect();
    errors.retain(|error| {
        let is_echo = reported.contains(&key(error.range)) || string_ends.contains(&error.range.start());
        error.code != codes::UNEXPECTED || !is_echo
    });
}

fn parse_with(text: &str, entry: fn(&mut parser::Parser<'_>)) -> (GreenNode, Vec<SyntaxError>) {
    let lexed = lexer::lex_with_errors(text);
    let mut parser = parser::Parser::new(text, &lexed.tokens);
    entry(&mut parser);
    let (green, mut errors) = builder::build(text, &lexed.tokens, parser.finish());
    drop_echoes(&mut errors, &lexed.errors);
    errors.extend(lexed.errors);
    validation::validate(&SyntaxNode::new_root(green.clone()), &mut errors);
    errors.sort_by_key(|error| (error.range.start(), error.range.end()));
    errors.dedup();
    (green, errors)
}
