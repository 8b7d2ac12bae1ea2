//! The `test/corpus` of the grammar, in the format of tree-sitter's own tool: a title between lines of `=`, a text, a line of
//! `-`, and the tree. `UPDATE_EXPECT=1` rewrites the trees.

use std::fmt::Write as _;

use expect_test::expect_file;

use super::{parse, parser};
use crate::support::root;

#[test]
fn trees_are_as_written_down() {
    let folder = root().join("grammar/tree-sitter-hx/test/corpus");
    let mut parser = parser();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("it can be listed").path();
        let old = std::fs::read_to_string(&path).expect("it can be read");
        let mut new = String::new();
        for (title, text) in cases(&old) {
            let tree = parse(&mut parser, &text);
            let _ = write!(new, "{0}\n{title}\n{0}\n\n{text}\n---\n\n", "=".repeat(80));
            pretty(tree.root_node(), None, 0, &mut new);
            new.push_str("\n\n");
            count += 1;
        }
        let new = format!("{}\n", new.trim_end());
        expect_file![&path].assert_eq(&new);
    }
    assert!(count > 15, "only {count} cases were found");
}

/// Returns the titles and texts of a file.
fn cases(file: &str) -> Vec<(String, String)> {
    let is_rule = |line: &str| line.len() > 3 && line.chars().all(|c| c == '=');
    let mut cases = Vec::new();
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        if !is_rule(line) {
            continue;
        }
        let title = lines.next().unwrap_or_default().to_owned();
        assert!(lines.next().is_some_and(is_rule), "`{title}` has a line of `=` below");
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "---").collect();
        cases.push((title, format!("{}\n", text.join("\n").trim())));
        while lines.next_if(|line| !is_rule(line)).is_some() {}
    }
    cases
}

/// Formats the named nodes, one per line.
fn pretty(node: tree_sitter::Node<'_>, field: Option<&str>, depth: usize, text: &mut String) {
    if depth > 0 {
        let _ = write!(text, "\n{}", "  ".repeat(depth));
    }
    if let Some(field) = field {
        let _ = write!(text, "{field}: ");
    }
    let _ = write!(text, "({}", if node.is_error() { "ERROR" } else { node.kind() });
    let mut cursor = node.walk();
    if cursor.goto_first_child() {
        loop {
            if cursor.node().is_named() {
                pretty(cursor.node(), cursor.field_name(), depth + 1, text);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }
    text.push(')');
}
