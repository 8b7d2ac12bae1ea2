//! Classifies each word for colouring: by its definition if it resolves, otherwise by its spelling.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{ItemKind, Place};
use hx_syntax::{NodeOrToken, SyntaxKind, SyntaxToken, T};

use crate::names::{Def, Occurrence, Role, occurrences};
use crate::{Cancellable, catch};

/// The type of a token, with the standard names of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum TokenType {
    Keyword,
    Comment,
    String,
    Number,
    Operator,
    Function,
    Variable,
    Parameter,
    TypeParameter,
    Type,
    Namespace,
    Property,
    Decorator,
    Macro,
    EnumMember,
}

impl TokenType {
    /// Every type, in the order of the protocol's legend.
    pub const ALL: [TokenType; 15] = [
        TokenType::Keyword,
        TokenType::Comment,
        TokenType::String,
        TokenType::Number,
        TokenType::Operator,
        TokenType::Function,
        TokenType::Variable,
        TokenType::Parameter,
        TokenType::TypeParameter,
        TokenType::Type,
        TokenType::Namespace,
        TokenType::Property,
        TokenType::Decorator,
        TokenType::Macro,
        TokenType::EnumMember,
    ];

    /// Returns the type's name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            TokenType::Keyword => "keyword",
            TokenType::Comment => "comment",
            TokenType::String => "string",
            TokenType::Number => "number",
            TokenType::Operator => "operator",
            TokenType::Function => "function",
            TokenType::Variable => "variable",
            TokenType::Parameter => "parameter",
            TokenType::TypeParameter => "typeParameter",
            TokenType::Type => "type",
            TokenType::Namespace => "namespace",
            TokenType::Property => "property",
            TokenType::Decorator => "decorator",
            TokenType::Macro => "macro",
            TokenType::EnumMember => "enumMember",
        }
    }
}

/// A set of further properties of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Modifiers(pub u32);

impl Modifiers {
    /// The occurrence declares the name.
    pub const DECLARATION: Modifiers = Modifiers(1);
    /// The name is a constant, a dimension, a compile-time parameter or a built-in value: it cannot be assigned to.
    pub const READONLY: Modifiers = Modifiers(1 << 1);
    /// The occurrence changes the value.
    pub const MODIFICATION: Modifiers = Modifiers(1 << 2);
    /// The comment documents an item.
    pub const DOCUMENTATION: Modifiers = Modifiers(1 << 3);
    /// The name is a part of the language: a built-in name, an element type or another word for a type.
    pub const DEFAULT_LIBRARY: Modifiers = Modifiers(1 << 4);
    /// The item is a constant or a kernel.
    pub const STATIC: Modifiers = Modifiers(1 << 5);
    /// The title of a test. The protocol has no such modifier.
    pub const TEST: Modifiers = Modifiers(1 << 6);
    /// The title of a bench. The protocol has no such modifier.
    pub const BENCH: Modifiers = Modifiers(1 << 7);
    /// The modifiers' names in the protocol, in the order of the bits.
    pub const NAMES: [&'static str; 8] = [
        "declaration",
        "readonly",
        "modification",
        "documentation",
        "defaultLibrary",
        "static",
        "test",
        "bench",
    ];

    /// Reports whether the other set is a subset of this one.
    pub fn contains(self, other: Modifiers) -> bool {
        self.0 & other.0 == other.0
    }

    fn with(self, other: Modifiers) -> Modifiers {
        Modifiers(self.0 | other.0)
    }
}

/// A coloured piece of text. It may span several lines, as a comment can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemanticToken {
    pub range: TextRange,
    pub kind: TokenType,
    pub modifiers: Modifiers,
}

/// Returns the tokens of a range of a file, in text order and without overlaps.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn semantic_tokens(db: &dyn Db, file: SourceFile, range: TextRange) -> Cancellable<Vec<SemanticToken>> {
    catch(|| {
        let meanings: BTreeMap<TextSize, Occurrence> =
            occurrences(db, file).into_iter().map(|o| (o.range.start(), o)).collect();
        let root = hx_base::parse(db, file).syntax_node();
        let tokens = root.descendants_with_tokens().filter_map(NodeOrToken::into_token);
        let inside =
            tokens.filter(|token| token.text_range().intersect(range).is_some_and(|r| !r.is_empty()));
        let coloured = inside.filter_map(|token| {
            let (kind, modifiers) = match meanings.get(&token.text_range().start()) {
                Some(occurrence) => meant(occurrence)?,
                None => spelled(&token)?,
            };
            Some(SemanticToken { range: token.text_range(), kind, modifiers })
        });
        coloured.collect()
    })
}

fn meant(occurrence: &Occurrence) -> Option<(TokenType, Modifiers)> {
    let none = Modifiers::default();
    let (kind, own) = match &occurrence.def {
        Def::Local { .. } | Def::Binding(_) => (TokenType::Variable, none),
        Def::Param { .. } => (TokenType::Parameter, none),
        Def::Generic { .. } => (TokenType::TypeParameter, Modifiers::READONLY),
        Def::Dim { .. } => (TokenType::EnumMember, Modifiers::READONLY),
        Def::Result(_) => (TokenType::Variable, Modifiers::READONLY),
        Def::Item(key) => match key.kind {
            ItemKind::Const => (TokenType::Variable, Modifiers::READONLY.with(Modifiers::STATIC)),
            ItemKind::Kernel => (TokenType::Function, Modifiers::STATIC),
            _ => (TokenType::Function, none),
        },
        Def::Module(_) => (TokenType::Namespace, none),
        Def::Builtin(builtin) => match builtin.params() {
            Some(_) => (TokenType::Function, Modifiers::DEFAULT_LIBRARY),
            None => (TokenType::Variable, Modifiers::DEFAULT_LIBRARY.with(Modifiers::READONLY)),
        },
        Def::DType(_) | Def::Kind(_) => (TokenType::Type, Modifiers::DEFAULT_LIBRARY),
        Def::Member(_) => (TokenType::Property, none),
    };
    let role = match occurrence.role {
        Role::Definition => Modifiers::DECLARATION,
        Role::Write => Modifiers::MODIFICATION,
        Role::Read | Role::Label => none,
    };
    Some((kind, own.with(role)))
}

fn spelled(token: &SyntaxToken) -> Option<(TokenType, Modifiers)> {
    let none = Modifiers::default();
    let parent = token.parent().map(|node| node.kind());
    Some(match token.kind() {
        SyntaxKind::COMMENT => {
            let doc = token.text().starts_with("///") || token.text().starts_with("//!");
            (TokenType::Comment, if doc { Modifiers::DOCUMENTATION } else { none })
        }
        SyntaxKind::STRING => {
            let title = match parent {
                Some(SyntaxKind::TEST) => Modifiers::TEST,
                Some(SyntaxKind::BENCH) => Modifiers::BENCH,
                _ => none,
            };
            (TokenType::String, title)
        }
        SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER => (TokenType::Number, none),
        SyntaxKind::IDENT => unknown_name(token)?,
        T![#] => (TokenType::Decorator, none),
        T!['['] | T![']'] if parent == Some(SyntaxKind::ATTR) => (TokenType::Decorator, none),
        kind if kind.is_keyword() => (TokenType::Keyword, none),
        T!['('] | T![')'] | T!['['] | T![']'] | T!['{'] | T!['}'] | T![,] | T![;] | T![:] => return None,
        SyntaxKind::WHITESPACE | SyntaxKind::ERROR => return None,
        _ => (TokenType::Operator, none),
    })
}

/// Classifies a name that does not resolve: in an attribute, before `::`, or as the label of an argument; `None` for a
/// misspelled one.
fn unknown_name(token: &SyntaxToken) -> Option<(TokenType, Modifiers)> {
    let none = Modifiers::default();
    let in_attribute = token.parent_ancestors().any(|node| node.kind() == SyntaxKind::ATTR);
    if in_attribute {
        return Some((TokenType::Decorator, none));
    }
    // A name before `::` is a namespace, as in a vendor's baseline.
    let mut after = token.next_token();
    while let Some(next) = after.clone().filter(|next| next.kind().is_trivia()) {
        after = next.next_token();
    }
    if after.is_some_and(|next| next.kind() == SyntaxKind::COLON2) {
        return Some((TokenType::Namespace, none));
    }
    match token.parent()?.parent()?.kind() {
        SyntaxKind::ARG | SyntaxKind::GENERIC_ARG | SyntaxKind::TUPLE_FIELD => {
            Some((TokenType::Property, none))
        }
        _ => None,
    }
}

/// Returns where the code of an item of this kind runs: on the host, on the device, or on both.
pub(crate) fn place_of(kind: ItemKind) -> Place {
    match kind {
        ItemKind::Kernel | ItemKind::Function => Place::Device,
        ItemKind::Test | ItemKind::Bench | ItemKind::Main | ItemKind::Cell => Place::Host,
        ItemKind::Const | ItemKind::Use => Place::Both,
    }
}
