//! Fenced blocks of code in doc comments, which `hx test` runs.
//!
//! A block holds ranges of the text rather than a copy, so that an error in it is shown inside the comment. The query of an
//! item reads only that item: an edit of another item does not run it again.

use hx_base::SourceFile;
use hx_syntax::ast::{AstNode as _, Comment, CommentKind};
use hx_syntax::{NodeOrToken, SyntaxElement, SyntaxKind, TextRange, TextSize};

use crate::{Db, Item, item::item_syntax};

/// The fence of a block, and the language that makes it one of ours.
const FENCE: &str = "```";
const LANGUAGE: &str = "hx";

/// A block of the language in a doc comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocBlock {
    /// The words after the language in the opening fence, as in `hx,should_fail`.
    pub words: Vec<String>,
    /// The opening fence, from its first backtick to the end of its line.
    pub fence: TextRange,
    /// The range of each line of code, without the slashes and the space after them.
    pub lines: Vec<TextRange>,
}

/// Returns the blocks in the `///` comments of an item. Ranges are relative to the item.
#[salsa::tracked]
pub fn doc_blocks<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<DocBlock> {
    let root = item_syntax(db, item);
    let comments = root
        .children_with_tokens()
        .take_while(|it| it.kind().is_trivia() || it.kind() == SyntaxKind::ATTR)
        .filter_map(comment);
    blocks(comments, CommentKind::ItemDoc)
}

/// Returns the blocks in the `//!` comments of a file.
#[salsa::tracked]
pub fn file_doc_blocks(db: &dyn Db, file: SourceFile) -> Vec<DocBlock> {
    let tree = hx_base::parse(db, file).tree();
    let comments =
        tree.syntax().children_with_tokens().take_while(|it| it.kind().is_trivia()).filter_map(comment);
    blocks(comments, CommentKind::FileDoc)
}

fn comment(element: SyntaxElement) -> Option<Comment> {
    match element {
        NodeOrToken::Token(token) => Comment::cast(token),
        NodeOrToken::Node(_) => None,
    }
}

fn blocks(comments: impl Iterator<Item = Comment>, wanted: CommentKind) -> Vec<DocBlock> {
    let (mut found, mut open) = (Vec::new(), None::<DocBlock>);
    for comment in comments.filter(|comment| comment.kind() == wanted) {
        let (token, slashes) = (comment.syntax(), "///".len());
        let text = &token.text()[slashes..];
        let indent = text.len() - text.trim_start().len();
        let line = text.trim();
        let start = token.text_range().start() + TextSize::of("///");
        if line == FENCE && open.is_some() {
            found.extend(open.take());
            continue;
        }
        match &mut open {
            Some(block) => {
                let space = TextSize::from(u32::from(text.starts_with(' ')));
                block.lines.push(TextRange::new(start + space, token.text_range().end()));
            }
            None => {
                let Some(info) = line.strip_prefix(FENCE) else { continue };
                let words: Vec<&str> =
                    info.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()).collect();
                let fence = start + TextSize::of(&text[..indent]);
                open = Some(DocBlock::opened(&words, TextRange::new(fence, token.text_range().end())));
            }
        }
    }
    // A fence that nothing closes reaches to the end of the comment.
    found.extend(open);
    found.retain(|block| block.words.first().is_some_and(|word| word == LANGUAGE));
    found.iter_mut().for_each(|block| drop(block.words.remove(0)));
    found
}

impl DocBlock {
    fn opened(words: &[&str], fence: TextRange) -> DocBlock {
        DocBlock { words: words.iter().map(|word| (*word).to_owned()).collect(), fence, lines: Vec::new() }
    }
}
