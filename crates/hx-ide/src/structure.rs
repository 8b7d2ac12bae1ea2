//! Structure of a text: folds and selections.

use hx_base::{SourceFile, TextRange, TextSize, line_index};
use hx_compile::Db;
use hx_syntax::{NodeOrToken, SyntaxKind, SyntaxNode, TokenAtOffset};

use crate::{Cancellable, catch};

/// The content of a fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldKind {
    Code,
    Comment,
    Imports,
}

/// Lines that can be hidden.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    /// From the end of the visible part to the end of the hidden part.
    pub range: TextRange,
    pub kind: FoldKind,
}

/// Returns the folds of a file, in text order. Each spans at least two lines.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn folds(db: &dyn Db, file: SourceFile) -> Cancellable<Vec<Fold>> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        let lines = line_index(db, file);
        let mut folds = Vec::new();
        for node in root.descendants() {
            if let Some(range) = brackets(&node) {
                folds.push(Fold { range, kind: FoldKind::Code });
            }
        }
        folds.extend(runs(&root));
        let line = |at: TextSize| lines.try_line_col(at).map_or(0, |at| at.line);
        folds.retain(|fold| line(fold.range.start()) < line(fold.range.end()));
        folds.sort_by_key(|fold| (fold.range.start(), fold.range.end()));
        // Keep one fold for each line: of folds that begin on one line, editors show only the first.
        folds.dedup_by_key(|fold| line(fold.range.start()));
        folds
    })
}

/// Returns the range between the brackets of a block or list; `None` for another node.
fn brackets(node: &SyntaxNode) -> Option<TextRange> {
    use SyntaxKind::{
        ARG_LIST, ARRAY_EXPR, BLOCK, GENERIC_PARAM_LIST, INDEX_LIST, PARAM_LIST, TUPLE_EXPR, USE_TREE_LIST,
        WARP_GROUPS_STMT,
    };
    let kinds = [
        ARG_LIST,
        ARRAY_EXPR,
        BLOCK,
        GENERIC_PARAM_LIST,
        INDEX_LIST,
        PARAM_LIST,
        TUPLE_EXPR,
        USE_TREE_LIST,
        WARP_GROUPS_STMT,
    ];
    if !kinds.contains(&node.kind()) {
        return None;
    }
    let tokens: Vec<_> = node.children_with_tokens().filter_map(NodeOrToken::into_token).collect();
    let is_open = |kind| {
        matches!(kind, SyntaxKind::L_BRACE | SyntaxKind::L_BRACK | SyntaxKind::L_PAREN | SyntaxKind::L_ANGLE)
    };
    let is_close = |kind| {
        matches!(kind, SyntaxKind::R_BRACE | SyntaxKind::R_BRACK | SyntaxKind::R_PAREN | SyntaxKind::R_ANGLE)
    };
    let open = tokens.iter().find(|token| is_open(token.kind()))?;
    let close = tokens.iter().rev().find(|token| is_close(token.kind()))?;
    let (start, end) = (open.text_range().end(), close.text_range().start());
    (start <= end).then(|| TextRange::new(start, end))
}

/// Returns a fold for each run of adjacent comments, and of adjacent `use` items.
fn runs(root: &SyntaxNode) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    let mut comment: Option<TextRange> = None;
    for token in root.descendants_with_tokens().filter_map(NodeOrToken::into_token) {
        match token.kind() {
            SyntaxKind::COMMENT => {
                let range = token.text_range();
                comment = Some(comment.map_or(range, |run| run.cover(range)));
            }
            SyntaxKind::WHITESPACE if token.text().matches('\n').count() < 2 => {}
            _ => {
                folds.extend(comment.take().map(|range| Fold { range, kind: FoldKind::Comment }));
            }
        }
    }
    folds.extend(comment.map(|range| Fold { range, kind: FoldKind::Comment }));
    let mut uses: Option<TextRange> = None;
    for node in root.children() {
        if node.kind() == SyntaxKind::USE {
            let range = crate::node::code_range(&node);
            uses = Some(uses.map_or(range, |run| run.cover(range)));
        } else {
            folds.extend(uses.take().map(|range| Fold { range, kind: FoldKind::Imports }));
        }
    }
    folds.extend(uses.map(|range| Fold { range, kind: FoldKind::Imports }));
    folds
}

/// Returns the ranges around an offset, from the word to the whole file. Each contains the one before it.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn selection(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Vec<TextRange>> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        let at = at.min(root.text_range().end());
        let token =
            match root.token_at_offset(at) {
                TokenAtOffset::None => return vec![root.text_range()],
                TokenAtOffset::Single(token) => token,
                TokenAtOffset::Between(left, right) => {
                    if right.kind().is_trivia() && !left.kind().is_trivia() { left } else { right }
                }
            };
        let mut ranges = vec![token.text_range()];
        for node in token.parent_ancestors() {
            if let Some(inside) = brackets(&node)
                && inside.contains_inclusive(at)
            {
                ranges.push(inside);
            }
            ranges.push(crate::node::code_range(&node));
            ranges.push(node.text_range());
        }
        let mut nested: Vec<TextRange> = Vec::new();
        for range in ranges {
            if nested.last().is_none_or(|last| range.contains_range(*last) && range != *last) {
                nested.push(range);
            }
        }
        nested
    })
}
