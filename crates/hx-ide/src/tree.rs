//! The syntax tree of a file as text.

use hx_base::{SourceFile, TextRange};
use hx_compile::Db;
use hx_syntax::{NodeOrToken, WalkEvent};

use crate::{Cancellable, catch};

/// Returns the tree of a file, or of the smallest node that covers a range, with one line for each node and token.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn syntax_tree(db: &dyn Db, file: SourceFile, range: Option<TextRange>) -> Cancellable<String> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        let node = match range.filter(|range| root.text_range().contains_range(*range)) {
            Some(range) => match root.covering_element(range) {
                NodeOrToken::Node(node) => node,
                NodeOrToken::Token(token) => token.parent().unwrap_or(root),
            },
            None => root,
        };
        let (mut text, mut depth) = (String::new(), 0);
        for event in node.preorder_with_tokens() {
            match event {
                WalkEvent::Enter(element) => {
                    text.push_str(&"  ".repeat(depth));
                    text.push_str(&format!("{:?}@{:?}", element.kind(), element.text_range()));
                    if let NodeOrToken::Token(token) = &element {
                        text.push_str(&format!(" {:?}", token.text()));
                    }
                    text.push('\n');
                    depth += 1;
                }
                WalkEvent::Leave(_) => depth -= 1,
            }
        }
        text
    })
}
