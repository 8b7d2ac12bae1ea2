//! Places in a text that lead elsewhere: files in paths and in `load`, and links in doc comments.

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_syntax::{NodeOrToken, SyntaxKind, SyntaxToken};

use crate::names::{Def, occurrences};
use crate::{Cancellable, catch};

/// A place that leads elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub range: TextRange,
    pub to: LinkTarget,
}

/// The target of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkTarget {
    /// A file that the database knows.
    Source(SourceFile),
    /// A path as it is written, of a file that may be missing.
    Path(String),
    /// A link of a doc comment with a scheme.
    Url(String),
}

/// Returns the links of a file, in text order.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn links(db: &dyn Db, file: SourceFile) -> Cancellable<Vec<Link>> {
    catch(|| {
        let mut found: Vec<Link> = Vec::new();
        for occurrence in occurrences(db, file) {
            if let Def::Module(to) = occurrence.def {
                found.push(Link { range: occurrence.range, to: LinkTarget::Source(to) });
            }
        }
        let root = hx_base::parse(db, file).syntax_node();
        for token in root.descendants_with_tokens().filter_map(NodeOrToken::into_token) {
            match token.kind() {
                SyntaxKind::STRING => found.extend(loaded(&token)),
                SyntaxKind::COMMENT if is_doc(token.text()) => in_comment(&token, &mut found),
                _ => {}
            }
        }
        found.sort_by_key(|link| link.range.start());
        found
    })
}

/// Returns the link of a string that is the path of a file with tensors, as in `load("a.npy")`; `None` for another string.
fn loaded(token: &SyntaxToken) -> Option<Link> {
    let call = token.parent_ancestors().find(|node| node.kind() == SyntaxKind::CALL_EXPR)?;
    let callee = call.first_child()?.text().to_string();
    let path = token.text().strip_prefix('"')?.strip_suffix('"')?;
    let is_file = path.ends_with(".npy") || path.ends_with(".safetensors");
    // An escape would make the path another one than the text.
    if !matches!(callee.trim(), "load" | "save") || !is_file || path.contains('\\') {
        return None;
    }
    let range = token.text_range();
    let inside = TextRange::new(range.start() + TextSize::of('"'), range.end() - TextSize::of('"'));
    Some(Link { range: inside, to: LinkTarget::Path(path.to_owned()) })
}

fn is_doc(comment: &str) -> bool {
    comment.starts_with("///") || comment.starts_with("//!")
}

/// Adds the targets of `[text](target)`. Editors find bare addresses by themselves.
fn in_comment(token: &SyntaxToken, found: &mut Vec<Link>) {
    let text = token.text();
    for (at, _) in text.match_indices("](") {
        let start = at + "](".len();
        let Some(length) = text[start..].find(')') else { continue };
        let target = &text[start..start + length];
        if target.is_empty() || target.contains(char::is_whitespace) || target.starts_with('#') {
            continue;
        }
        let (Ok(from), Ok(length)) = (TextSize::try_from(start), TextSize::try_from(length)) else {
            continue;
        };
        let range = TextRange::at(token.text_range().start() + from, length);
        let is_url =
            target.split_once(':').is_some_and(|(scheme, _)| matches!(scheme, "http" | "https" | "mailto"));
        let target = target.to_owned();
        let to = if is_url { LinkTarget::Url(target) } else { LinkTarget::Path(target) };
        found.push(Link { range, to });
    }
}
