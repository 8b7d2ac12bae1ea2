//! The text forms that tests compare.

use std::fmt::Write;

use hx_syntax::{AstNode, Hx, NodeOrToken, Parse, SyntaxElement, SyntaxError, SyntaxNode};

/// The tree with its ranges and tokens, then the errors.
pub(crate) fn dump<T: AstNode<Language = Hx>>(parse: &Parse<T>) -> String {
    let mut out = String::new();
    dump_node(&parse.syntax_node(), 0, &mut out);
    out.push_str(&errors(parse.errors()));
    out
}

fn dump_node(node: &SyntaxNode, depth: usize, out: &mut String) {
    let _ = writeln!(out, "{:indent$}{:?}@{:?}", "", node.kind(), node.text_range(), indent = 2 * depth);
    for child in node.children_with_tokens() {
        match child {
            NodeOrToken::Node(node) => dump_node(&node, depth + 1, out),
            NodeOrToken::Token(token) => {
                let indent = 2 * (depth + 1);
                let _ = writeln!(
                    out,
                    "{:indent$}{:?}@{:?} {:?}",
                    "",
                    token.kind(),
                    token.text_range(),
                    token.text()
                );
            }
        }
    }
}

/// One line for each error.
pub(crate) fn errors(errors: &[SyntaxError]) -> String {
    let mut out = String::new();
    for error in errors {
        let _ = writeln!(out, "{} {:?}: {}", error.code, error.range, error.message);
    }
    out
}

/// The tree as an S-expression without trivia: short enough to read what a rule gives.
pub(crate) fn sketch(node: &SyntaxNode) -> String {
    let mut out = String::new();
    sketch_into(node, &mut out);
    out
}

fn sketch_into(node: &SyntaxNode, out: &mut String) {
    let children: Vec<SyntaxElement> =
        node.children_with_tokens().filter(|it| !it.kind().is_trivia()).collect();
    let name = format!("{:?}", node.kind()).to_lowercase();
    // A name in a path in an expression is shown as the name.
    if let ("path_expr" | "path" | "name_ref" | "name" | "literal" | "name_pat", [only]) =
        (&*name, &children[..])
    {
        return element(only, out);
    }
    let _ = write!(out, "({name}");
    for child in &children {
        out.push(' ');
        element(child, out);
    }
    out.push(')');
}

fn element(element: &SyntaxElement, out: &mut String) {
    match element {
        NodeOrToken::Node(node) => sketch_into(node, out),
        NodeOrToken::Token(token) => out.push_str(token.text()),
    }
}
