//! Parses an edited text by parsing only the item that contains the edit.
//!
//! The parser reads items from left to right and looks at most three tokens beyond an item. So parse the edited item together
//! with the item behind it. If the edited item ends where the edit puts its end, all other items are those of the earlier tree.
//! The result is the tree and the errors that [`parse`](crate::parse) returns, or nothing.

use rowan::{GreenNode, GreenNodeData, Language as _, NodeOrToken, TextRange, TextSize};

use crate::{
    Hx, Parse, SyntaxElement, SyntaxError,
    SyntaxKind::{self, *},
    SyntaxNode, SyntaxToken, T, codes, grammar, is_same_tree, parse_with,
};

/// The number of tokens behind an item that the parser may look at.
const LOOK_AHEAD: usize = 3;

/// Parses `new`, given the tree of the text `old`. Returns `None` if the edit is not inside of one item, or if it may affect other
/// items; then call [`parse`](crate::parse).
pub fn reparse(before: &Parse, old: &str, new: &str) -> Option<Parse> {
    let edit = Edit::between(old, new);
    let item = Edited::find(before.green(), &edit)?;
    if before.errors().iter().any(|error| error.code == codes::TOO_DEEP) {
        // Only the first code in a file that is nested too deeply has an error, so an edit can move the error to another item.
        return None;
    }
    let end = (item.range.end() + edit.inserted).checked_sub(edit.removed)?;
    let behind = item.behind.map_or(TextSize::new(0), GreenNodeData::text_len);
    let slice = &new[TextRange::new(item.range.start(), end + item.gap + behind)];
    let (green, errors) = parse_with(slice, grammar::source_file);
    let parsed = item.parsed(&green, end - item.range.start(), &edit)?;
    let errors = item.errors(before.errors(), &errors, &edit, end, &SyntaxNode::new_root(green.clone()))?;
    let root = before.green().replace_child(item.index, NodeOrToken::Node(parsed));
    Some(Parse::new(root, errors))
}

impl Parse {
    /// Returns the same tree, but built from the nodes of `other` for the equal children at the start and at the end of the file.
    /// [`is_same_tree`] does not walk shared nodes, so a comparison with `other` is then fast.
    #[must_use]
    pub fn sharing(self, other: &Parse) -> Parse {
        let old: Vec<_> = other.green().children().collect();
        let new: Vec<_> = self.green().children().collect();
        let is_same = |(a, b): &(&Child<'_>, &Child<'_>)| match (a, b) {
            (NodeOrToken::Node(a), NodeOrToken::Node(b)) => is_same_tree(a, b),
            (NodeOrToken::Token(a), NodeOrToken::Token(b)) => a == b,
            _ => false,
        };
        let first = old.iter().zip(&new).take_while(is_same).count();
        let last = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(is_same).count();
        let changed = &new[first..new.len() - last];
        let children = old[..first].iter().chain(changed).chain(&old[old.len() - last..]);
        let owned = children.map(|child| match child {
            NodeOrToken::Node(node) => NodeOrToken::Node((*node).to_owned()),
            NodeOrToken::Token(token) => NodeOrToken::Token((*token).to_owned()),
        });
        let green = GreenNode::new(self.green().kind(), owned.collect::<Vec<_>>());
        Parse { green, ..self }
    }
}

type Child<'a> = NodeOrToken<&'a GreenNodeData, &'a rowan::GreenTokenData>;

/// The difference of two texts: `removed` bytes at `start` are replaced by `inserted` bytes.
struct Edit {
    start: TextSize,
    removed: TextSize,
    inserted: TextSize,
}

impl Edit {
    fn between(old: &str, new: &str) -> Edit {
        let prefix = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let (rest_old, rest_new) = (&old.as_bytes()[prefix..], &new.as_bytes()[prefix..]);
        let suffix = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
        // A text is at most 4 GiB long, as its tree has offsets of 32 bits.
        let size = |bytes: usize| TextSize::new(bytes as u32);
        Edit {
            start: size(prefix),
            removed: size(rest_old.len() - suffix),
            inserted: size(rest_new.len() - suffix),
        }
    }
}

/// The item that contains an edit, in the tree before it.
struct Edited<'a> {
    /// The index among the children of the root.
    index: usize,
    kind: rowan::SyntaxKind,
    range: TextRange,
    /// The item after the edited one, and the bytes of whitespace and comments between them; `None` at the end of the text.
    behind: Option<&'a GreenNodeData>,
    gap: TextSize,
}

impl<'a> Edited<'a> {
    fn find(root: &'a GreenNode, edit: &Edit) -> Option<Edited<'a>> {
        let edit_end = edit.start + edit.removed;
        let mut start = TextSize::new(0);
        let mut children = root.children().enumerate();
        let (index, node) = loop {
            let (index, child) = children.next()?;
            let end = start + len(&child);
            if let NodeOrToken::Node(node) = child
                && start < edit.start
                && edit_end <= end
            {
                break (index, node);
            }
            if edit.start < end {
                return None;
            }
            start = end;
        };
        let kind = Some(node.kind()).filter(|kind| is_item(*kind))?;
        let mut edited =
            Edited { index, kind, range: TextRange::at(start, node.text_len()), behind: None, gap: 0.into() };
        for (_, child) in children {
            match child {
                NodeOrToken::Token(token) => edited.gap += token.text_len(),
                NodeOrToken::Node(node) => {
                    edited.behind = Some(Some(node).filter(|node| is_item(node.kind()))?);
                    break;
                }
            }
        }
        Some(edited)
    }

    /// Returns the edited item from the tree of a slice of the new text that begins with the item. `length` is its new length.
    /// `None` if the edit affects more than the item.
    fn parsed(&self, slice: &GreenNode, length: TextSize, edit: &Edit) -> Option<GreenNode> {
        let mut children = slice.children();
        let NodeOrToken::Node(item) = children.next()? else { return None };
        if item.kind() != self.kind || item.text_len() != length {
            return None;
        }
        let gap: TextSize = children
            .by_ref()
            .take_while(|child| matches!(child, NodeOrToken::Token(_)))
            .map(|token| len(&token))
            .sum();
        // The iterator has consumed the item behind, if there is one.
        let behind = slice.children().filter_map(|child| child.into_node()).nth(1);
        if gap != self.gap || behind != self.behind || children.next().is_some() {
            return None;
        }
        // The parser recognizes an item by its first two tokens, so an edit there can change where the item above ends.
        let root = SyntaxNode::new_root(item.to_owned());
        let (first, second) = (significant(&root).next()?, significant(&root).nth(1)?);
        let after_head = self.range.start() + second.text_range().end() < edit.start;
        (first.kind() != T![#] && after_head).then(|| item.to_owned())
    }

    /// Returns the errors of the new text: those of other items at their new places, and those of the slice that are in the
    /// item. `None` if an error is at the border of two items, so that it may belong to either, or too few tokens follow the
    /// item to know.
    fn errors(
        &self,
        before: &[SyntaxError],
        slice_errors: &[SyntaxError],
        edit: &Edit,
        end: TextSize,
        slice: &SyntaxNode,
    ) -> Option<Vec<SyntaxError>> {
        let first = significant(slice).next()?.text_range();
        let start = self.range.start();
        let head = TextRange::new(start, start + first.end());
        // An item can have an error at the first token of the item behind it: at `head` for the item above, at `tail` for this
        // item.
        let length = end - start;
        let next = match slice.children().nth(1) {
            Some(behind) => {
                let mut tokens = significant(&behind);
                let next = tokens.next().filter(|token| token.kind() != T![#])?.text_range();
                tokens.nth(LOOK_AHEAD - 2)?;
                next.end()
            }
            None => slice.text_range().end(),
        };
        let tail = TextRange::new(length, next);
        let moved = |at: TextSize| (at + edit.inserted).checked_sub(edit.removed);
        let (mut errors, mut below) = (Vec::new(), Vec::new());
        for error in before {
            let range = error.range;
            if range.end() < head.start() {
                errors.push(error.clone());
            } else if range.start() > self.range.end() {
                let range = TextRange::new(moved(range.start())?, moved(range.end())?);
                if touches(range - start, tail) {
                    return None;
                }
                below.push(SyntaxError { range, ..error.clone() });
            } else if touches(range, head) || range.end() >= self.range.end() {
                return None;
            }
        }
        for error in slice_errors {
            if error.code == codes::TOO_DEEP || touches(error.range, tail) || touches(error.range, first) {
                return None;
            }
            if error.range.end() < length {
                errors.push(SyntaxError { range: error.range + start, ..error.clone() });
            }
        }
        errors.append(&mut below);
        Some(errors)
    }
}

fn touches(a: TextRange, b: TextRange) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

fn len(child: &Child<'_>) -> TextSize {
    match child {
        NodeOrToken::Node(node) => node.text_len(),
        NodeOrToken::Token(token) => token.text_len(),
    }
}

fn is_item(kind: rowan::SyntaxKind) -> bool {
    let kind: SyntaxKind = Hx::kind_from_raw(kind);
    matches!(kind, USE | CONST | FN | KERNEL | TEST | BENCH | MAIN)
}

/// Yields the tokens of a node that are neither blanks nor comments.
fn significant(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> + use<> {
    let tokens = node.descendants_with_tokens().filter_map(SyntaxElement::into_token);
    tokens.filter(|token| !token.kind().is_trivia())
}
