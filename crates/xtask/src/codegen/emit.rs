//! Generates Rust text from the model: `kind/generated.rs` and `ast/generated.rs` of `hx-syntax`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::model::{Enum, Field, Model, Node, Token, snake};

const HEADER: &str = "// Written by `cargo xtask codegen` from grammar/hx.ungram. Do not edit.\n\n";

/// Writes a line to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

/// Returns the text of `kind/generated.rs`: the enum `SyntaxKind`, its tables, and the macro `T!`.
pub(super) fn kinds(model: &Model) -> String {
    let mut out = String::from(HEADER);
    put!(out, "/// The kind of a node or a token.");
    put!(out, "#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]");
    put!(out, "#[allow(non_camel_case_types, missing_docs)]\n#[repr(u16)]\npub enum SyntaxKind {{");
    let mut all = vec!["EOF".to_owned(), "ERROR".to_owned(), "WHITESPACE".to_owned(), "COMMENT".to_owned()];
    for tokens in [&model.punctuation, &model.keywords, &model.contextual, &model.classes] {
        all.extend(tokens.iter().map(|token| token.kind.clone()));
    }
    all.extend(model.nodes.iter().map(|node| snake(&node.name).to_uppercase()));
    for kind in &all {
        put!(out, "    {kind},");
    }
    put!(out, "}}\n\nuse SyntaxKind::*;\n");
    put!(out, "impl SyntaxKind {{");
    put!(out, "    /// Every kind, in the order of its number.");
    put!(
        out,
        "    pub const ALL: &'static [SyntaxKind] = &[\n        {},\n    ];\n",
        all.join(",\n        ")
    );
    kind_predicates(&mut out, model);
    put!(out, "}}\n");
    put!(
        out,
        "/// The kind of a punctuation, a keyword or a token class, by its spelling.\n#[doc(hidden)]\n#[macro_export]"
    );
    put!(out, "macro_rules! T_ {{");
    for token in
        model.punctuation.iter().chain(&model.keywords).chain(&model.contextual).chain(&model.classes)
    {
        put!(out, "    [{}] => {{ $crate::SyntaxKind::{} }};", macro_spelling(&token.text), token.kind);
    }
    put!(out, "}}\n\npub use T_ as T;");
    out
}

/// Quotes brackets and characters that are not Rust tokens, as in `T!['(']`.
fn macro_spelling(text: &str) -> String {
    match text {
        "(" | ")" | "[" | "]" | "{" | "}" | "∘" => format!("'{text}'"),
        _ => text.to_owned(),
    }
}

fn kind_predicates(out: &mut String, model: &Model) {
    put!(out, "    /// The keyword that a word always is.");
    word_table(out, "from_keyword", &model.keywords);
    put!(out, "\n    /// The keyword that a word is in one place only.");
    word_table(out, "from_contextual_keyword", &model.contextual);
    put!(out, "\n    /// The spelling of a punctuation or a keyword.");
    put!(out, "    pub fn text(self) -> Option<&'static str> {{\n        Some(match self {{");
    for token in model.punctuation.iter().chain(&model.keywords).chain(&model.contextual) {
        put!(out, "            {} => \"{}\",", token.kind, token.text);
    }
    put!(out, "            _ => return None,\n        }})\n    }}");
    put!(out, "\n    /// Whether the kind is that of a keyword, contextual ones included.");
    put!(out, "    pub fn is_keyword(self) -> bool {{\n        matches!(\n            self,");
    let words: Vec<&str> = model.keywords.iter().chain(&model.contextual).map(|token| &*token.kind).collect();
    put!(out, "            {}\n        )\n    }}", words.join("\n                | "));
}

fn word_table(out: &mut String, name: &str, words: &[Token]) {
    put!(out, "    pub fn {name}(word: &str) -> Option<SyntaxKind> {{\n        Some(match word {{");
    for word in words {
        put!(out, "            \"{}\" => {},", word.text, word.kind);
    }
    put!(out, "            _ => return None,\n        }})\n    }}");
}

/// Returns the text of `ast/generated.rs`: a struct for each node, and an enum for each rule of alternatives.
pub(super) fn ast(model: &Model) -> String {
    let mut out = String::from(HEADER);
    put!(out, "use crate::{{");
    put!(out, "    Hx,\n    SyntaxKind::{{self, *}},\n    SyntaxNode, SyntaxToken,");
    put!(out, "    ast::{{AstChildren, AstNode, support}},\n}};");
    for node in &model.nodes {
        node_struct(&mut out, node);
    }
    let leaves = leaves(model);
    for node in &model.enums {
        node_enum(&mut out, node, &leaves);
    }
    shared_traits(&mut out, model);
    out
}

fn node_struct(out: &mut String, node: &Node) {
    let name = &node.name;
    let kind = snake(name).to_uppercase();
    put!(out, "\n/// A node of kind `{kind}`.");
    put!(
        out,
        "#[derive(Debug, Clone, PartialEq, Eq, Hash)]\npub struct {name} {{\n    syntax: SyntaxNode,\n}}\n"
    );
    put!(out, "#[allow(missing_docs)]\nimpl {name} {{");
    for field in &node.fields {
        match field {
            Field::Token { name, kind } => {
                put!(out, "    pub fn {name}(&self) -> Option<SyntaxToken> {{");
                put!(out, "        support::token(&self.syntax, {kind})\n    }}");
            }
            Field::One { name, ty, nth: 0 } => {
                put!(out, "    pub fn {name}(&self) -> Option<{ty}> {{");
                put!(out, "        support::child(&self.syntax)\n    }}");
            }
            Field::One { name, ty, nth } => {
                put!(out, "    pub fn {name}(&self) -> Option<{ty}> {{");
                put!(out, "        support::children(&self.syntax).nth({nth})\n    }}");
            }
            Field::Many { name, ty } => {
                put!(out, "    pub fn {name}(&self) -> AstChildren<{ty}> {{");
                put!(out, "        support::children(&self.syntax)\n    }}");
            }
        }
    }
    put!(out, "}}\n\nimpl AstNode for {name} {{\n    type Language = Hx;\n");
    put!(out, "    fn can_cast(kind: SyntaxKind) -> bool {{\n        kind == {kind}\n    }}\n");
    put!(out, "    fn cast(syntax: SyntaxNode) -> Option<Self> {{");
    put!(out, "        Self::can_cast(syntax.kind()).then_some(Self {{ syntax }})\n    }}\n");
    put!(out, "    fn syntax(&self) -> &SyntaxNode {{\n        &self.syntax\n    }}\n}}");
}

/// For each variant of each enum, returns the struct nodes that it can hold; a variant may be an enum itself.
fn leaves(model: &Model) -> BTreeMap<&str, BTreeMap<&str, Vec<&str>>> {
    let enums: BTreeMap<&str, &Enum> = model.enums.iter().map(|it| (it.name.as_str(), it)).collect();
    fn walk<'a>(enums: &BTreeMap<&'a str, &'a Enum>, name: &'a str, out: &mut Vec<&'a str>) {
        match enums.get(name) {
            Some(inner) => inner.variants.iter().for_each(|variant| walk(enums, variant, out)),
            None => out.push(name),
        }
    }
    let mut result = BTreeMap::new();
    for node in &model.enums {
        let mut variants = BTreeMap::new();
        for variant in &node.variants {
            let mut below = Vec::new();
            walk(&enums, variant, &mut below);
            variants.insert(variant.as_str(), below);
        }
        result.insert(node.name.as_str(), variants);
    }
    result
}

fn node_enum(out: &mut String, node: &Enum, leaves: &BTreeMap<&str, BTreeMap<&str, Vec<&str>>>) {
    let name = &node.name;
    let below = &leaves[name.as_str()];
    let kinds = |variant: &str| -> String {
        let kinds: Vec<String> = below[variant].iter().map(|leaf| snake(leaf).to_uppercase()).collect();
        kinds.join(" | ")
    };
    put!(out, "\n/// One of the alternatives of `{name}`.");
    put!(out, "#[derive(Debug, Clone, PartialEq, Eq, Hash)]\n#[allow(missing_docs)]\npub enum {name} {{");
    for variant in &node.variants {
        put!(out, "    {variant}({variant}),");
    }
    put!(out, "}}\n\nimpl AstNode for {name} {{\n    type Language = Hx;\n");
    put!(out, "    fn can_cast(kind: SyntaxKind) -> bool {{\n        matches!(\n            kind,");
    let all: Vec<String> = node.variants.iter().map(|variant| kinds(variant)).collect();
    put!(out, "            {}\n        )\n    }}\n", all.join("\n                | "));
    put!(out, "    fn cast(syntax: SyntaxNode) -> Option<Self> {{\n        match syntax.kind() {{");
    for variant in &node.variants {
        put!(out, "            {} => {variant}::cast(syntax).map(Self::{variant}),", kinds(variant));
    }
    put!(out, "            _ => None,\n        }}\n    }}\n");
    put!(out, "    fn syntax(&self) -> &SyntaxNode {{\n        match self {{");
    for variant in &node.variants {
        put!(out, "            Self::{variant}(it) => it.syntax(),");
    }
    put!(out, "        }}\n    }}\n}}");
    for variant in &node.variants {
        put!(out, "\nimpl From<{variant}> for {name} {{\n    fn from(node: {variant}) -> {name} {{");
        put!(out, "        {name}::{variant}(node)\n    }}\n}}");
    }
}

/// Implements `HasName`, `HasAttrs` and the other shared traits for the nodes whose fields have the accessors of the trait.
fn shared_traits(out: &mut String, model: &Model) {
    let with_accessor = |wanted: &str| -> BTreeSet<&str> {
        let has = |node: &&Node| {
            node.fields.iter().any(|field| match field {
                Field::One { name, .. } | Field::Many { name, .. } => name == wanted,
                Field::Token { .. } => false,
            })
        };
        model.nodes.iter().filter(has).map(|node| node.name.as_str()).collect()
    };
    for (wanted, implemented) in [("name", "HasName"), ("attrs", "HasAttrs")] {
        put!(out, "");
        for node in with_accessor(wanted) {
            put!(out, "impl super::{implemented} for {node} {{}}");
        }
    }
    put!(out, "");
    for node in model.enums.iter().filter(|node| node.name == "Item").flat_map(|node| &node.variants) {
        put!(out, "impl super::HasDocs for {node} {{}}");
    }
    put!(out, "impl super::HasDocs for Item {{}}\nimpl super::HasAttrs for Item {{}}");
}
