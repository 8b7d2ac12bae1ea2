//! The grammar for editors, `grammar/tree-sitter-hx`: it accepts the same texts as our parser, its committed parser matches its
//! grammar, and its queries match its nodes.

mod agreement;
mod corpus;
mod freshness;
mod queries;

use tree_sitter::{Node, Parser, Tree};

/// Returns a parser of the committed grammar.
fn parser() -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_hx::LANGUAGE.into())
        .expect("the runtime takes grammars of this version");
    parser
}

fn parse(parser: &mut Parser, text: &str) -> Tree {
    parser.parse(text, None).expect("parsing is not limited")
}

/// Returns the first place that the grammar cannot parse, for messages; `None` if it parses all.
fn first_error(node: Node<'_>) -> Option<String> {
    if node.is_error() || node.is_missing() {
        let at = node.start_position();
        let what = if node.is_missing() { "missing" } else { "unexpected" };
        return Some(format!("{}:{}: {what} {}", at.row + 1, at.column + 1, node.kind()));
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).find_map(first_error)
}
