//! The text forms that the tests compare.

use std::fmt::Write;

use hx_syntax::{NodeOrToken, SyntaxElement, SyntaxError, SyntaxNode};

/// Formats one line for each error.
pub(crate) fn errors(errors: &[SyntaxError]) -> String {
    let mut out = String::new();
    for error in errors {
        let _ = writeln!(out, "{} {:?}: {}", error.code, error.range, error.message);
    }
    out
}

/// Formats the tree as an S-expression without trivia, with one node on a line if a single line is too short.
pub(crate) fn sketch(node: &SyntaxNode) -> String {
    render(&shape(node), 0)
}

enum Shape {
    Atom(String),
    List(Vec<Shape>),
}

/// Returns the shape of a node: a leaf with the text for a name or a literal, otherwise its kind with the shapes of its children.
fn shape(node: &SyntaxNode) -> Shape {
    let children: Vec<SyntaxElement> =
        node.children_with_tokens().filter(|it| !it.kind().is_trivia()).collect();
    let name = format!("{:?}", node.kind()).to_lowercase();
    let mut shapes: Vec<Shape> = children
        .iter()
        .map(|child| match child {
            NodeOrToken::Node(node) => shape(node),
            NodeOrToken::Token(token) => Shape::Atom(token.text().to_owned()),
        })
        .collect();
    let is_plain = matches!(&*name, "path_expr" | "path" | "name_ref" | "name" | "literal" | "name_pat");
    if is_plain && shapes.len() == 1 {
        return shapes.remove(0);
    }
    shapes.insert(0, Shape::Atom(name));
    Shape::List(shapes)
}

fn one_line(shape: &Shape) -> String {
    match shape {
        Shape::Atom(text) => text.clone(),
        Shape::List(shapes) => format!("({})", shapes.iter().map(one_line).collect::<Vec<_>>().join(" ")),
    }
}

fn render(shape: &Shape, depth: usize) -> String {
    let line = one_line(shape);
    let indent = " ".repeat(2 * depth);
    match shape {
        Shape::List(shapes) if indent.len() + line.chars().count() > 100 => {
            let mut out = format!("{indent}({}\n", one_line(&shapes[0]));
            for shape in &shapes[1..] {
                out.push_str(&render(shape, depth + 1));
            }
            out.truncate(out.trim_end().len());
            out.push_str(")\n");
            out
        }
        _ => format!("{indent}{line}\n"),
    }
}
