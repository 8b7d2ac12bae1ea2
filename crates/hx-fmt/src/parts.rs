//! Divides a file into parts that are formatted independently, so that threads share a large file, and an edit in one item does
//! not format the others.

use std::ops::Range;
use std::thread;

use hx_syntax::{
    GreenNode, NodeOrToken, Parse,
    SyntaxKind::{self, WHITESPACE},
    SyntaxNode, T, TextRange, TextSize,
};

use crate::{FormatError, format_whole, rules::between_items, writer::Sep};

/// A range of a text, and the formatted text of this range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub range: TextRange,
    pub text: String,
}

/// The number of bytes for which one more thread saves more time than its start costs.
const WORTH_A_THREAD: usize = 64 << 10;

/// The stack of a thread in bytes. The layout recurses into nested expressions. The memory is reserved, not committed.
const STACK: usize = 64 << 20;

/// Formats the parts of a file that touch a range, or all parts. The parts are in text order, and all of them joined are the
/// formatted file.
///
/// # Errors
/// [`FormatError::Syntax`] if the file has a syntax error anywhere, [`FormatError::Internal`] if a thread fails or the
/// formatter has a bug.
pub fn format_parts(tree: &Parse, touching: Option<TextRange>) -> Result<Vec<Part>, FormatError> {
    if let Some(error) = tree.errors().first() {
        return Err(FormatError::Syntax(error.clone()));
    }
    let touches = |range: TextRange| touching.is_none_or(|wanted| range.intersect(wanted).is_some());
    let wanted: Vec<Piece> = pieces(tree).into_iter().filter(|piece| touches(piece.range)).collect();
    let bytes: usize = wanted.iter().map(|piece| usize::from(piece.range.len())).sum();
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cores.min(4).min(bytes / WORTH_A_THREAD + 1);
    if threads == 1 {
        return wanted.iter().map(|piece| piece.format()).collect();
    }
    let share = bytes / threads + 1;
    let formatted = thread::scope(|scope| {
        let run = |pieces: &[Piece]| pieces.iter().map(|piece| piece.format()).collect::<Vec<_>>();
        let start = |pieces: Vec<Piece>| {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run(&pieces))
        };
        let running: Vec<_> = shares(wanted, share).into_iter().map(start).collect();
        let ended = running.into_iter().map(|thread| thread.ok()?.join().ok());
        ended.collect::<Option<Vec<_>>>()
    });
    // A thread fails only if the system refuses it, or if the formatter has a bug.
    formatted.ok_or(FormatError::Internal)?.into_iter().flatten().collect()
}

/// Divides pieces into runs of at least `bytes` bytes; the last run may be shorter.
fn shares(pieces: Vec<Piece>, bytes: usize) -> Vec<Vec<Piece>> {
    let mut shares: Vec<Vec<Piece>> = vec![Vec::new()];
    let mut have = 0;
    for piece in pieces {
        if have >= bytes {
            shares.push(Vec::new());
            have = 0;
        }
        have += usize::from(piece.range.len());
        if let Some(last) = shares.last_mut() {
            last.push(piece);
        }
    }
    shares
}

/// A range of a file whose layout does not depend on the rest of the file.
struct Piece {
    range: TextRange,
    /// The tree of the code in the range, without the blank lines at its end.
    code: GreenNode,
    is_last: bool,
}

impl Piece {
    fn format(&self) -> Result<Part, FormatError> {
        let mut text = format_whole(&self.code)?;
        if !self.is_last {
            // The text ends with a line end; this one makes the empty line before the next item.
            text.push('\n');
        }
        Ok(Part { range: self.range, text })
    }
}

/// Divides a file between items. A border needs two items that the layout always separates by an empty line, and only whitespace
/// between them, apart from a comment that ends the line of the first item.
fn pieces(tree: &Parse) -> Vec<Piece> {
    let root = tree.syntax_node();
    let green: Vec<_> = tree.green().children().map(|child| child.to_owned()).collect();
    let piece = |range: TextRange, children: Range<usize>| Piece {
        range,
        code: GreenNode::new(tree.green().kind(), green[children].iter().cloned()),
        is_last: false,
    };
    let mut pieces = Vec::new();
    // The offset at which the current piece starts, and the index of its first child of the root.
    let (mut start, mut first) = (TextSize::new(0), 0);
    // The kind of the last item, and the index after the item and its trailing comment. `None` if no border may follow the item.
    let mut before: Option<(SyntaxKind, usize)> = None;
    let (mut has_line_end, mut is_first_comment) = (false, true);
    for (index, child) in root.children_with_tokens().enumerate() {
        match child {
            NodeOrToken::Node(item) => {
                let is_apart = |(last, _): &(SyntaxKind, usize)| has_line_end && is_apart(*last, item.kind());
                if let Some((_, code_end)) = before.filter(is_apart) {
                    let next = item.text_range().start();
                    pieces.push(piece(TextRange::new(start, next), first..code_end));
                    (start, first) = (next, index);
                }
                before = (!has_comment_before_end(&item)).then(|| (item.kind(), index + 1));
                (has_line_end, is_first_comment) = (false, true);
            }
            NodeOrToken::Token(token) if token.kind() == WHITESPACE => {
                has_line_end |= token.text().contains('\n');
            }
            // A comment that follows an item on its line belongs to the item. Any other comment could belong to either item.
            NodeOrToken::Token(comment)
                if !has_line_end && is_first_comment && comment.text().starts_with("//") =>
            {
                before = before.map(|(kind, _)| (kind, index + 1));
                is_first_comment = false;
            }
            NodeOrToken::Token(_) => before = None,
        }
    }
    let rest = piece(TextRange::new(start, root.text_range().end()), first..green.len());
    pieces.push(Piece { is_last: true, ..rest });
    pieces
}

/// Reports whether a comment precedes the `;` of an item. The layout moves the comment behind the `;`, where its column depends
/// on the next item.
fn has_comment_before_end(item: &SyntaxNode) -> bool {
    let Some(end) = item.last_token().filter(|token| token.kind() == T![;]) else { return false };
    let mut before = std::iter::successors(end.prev_token(), |token| token.prev_token());
    before.find(|token| token.kind() != WHITESPACE).is_some_and(|token| token.kind() == SyntaxKind::COMMENT)
}

/// Reports whether the layout always has an empty line between two items of these kinds.
fn is_apart(last: SyntaxKind, next: SyntaxKind) -> bool {
    between_items(last, next) == Sep::Blank
}

#[cfg(test)]
mod tests {
    use hx_syntax::parse;

    use super::*;

    /// Formats a text in parts and as a whole, and returns the number of parts.
    fn check(text: &str) -> usize {
        let tree = parse(text);
        let formatted = format_parts(&tree, None).expect("it parses");
        let whole = format_whole(tree.green()).expect("it parses");
        assert_eq!(formatted.iter().map(|part| part.text.as_str()).collect::<String>(), whole);
        let ranges: Vec<TextRange> = formatted.iter().map(|part| part.range).collect();
        assert!(ranges.windows(2).all(|pair| pair[0].end() == pair[1].start()), "{ranges:?}");
        ranges.len()
    }

    #[test]
    fn parts_are_formatted_as_the_whole_is() {
        assert_eq!(check(""), 1);
        assert_eq!(check("// only a comment"), 1);
        assert_eq!(check("fn f( ) { }\nfn g() { }"), 2);
        assert_eq!(check("\n\n//! a file\n\n\nuse a::b;\nuse c::d;\n\n\n\nfn f() {}\n\n\n"), 2);
        assert_eq!(check("const A = 1; // one\nconst BCD = 2;   // two\nfn f() {}"), 1);
        assert_eq!(check("fn f() {} // of f\n// above g\nfn g() {}\n\n// alone\n\nfn h() {}\n// end"), 1);
        assert_eq!(check("fn f() {} fn g() {}\r\n  fn h() {}\r\n"), 2);
        assert_eq!(check("use a::b; /* a */ // c\n// d\nconst A = 1;\n"), 1);
        assert_eq!(check("/// doc\nfn f() {}\n\n\n/// doc\n\nfn g() {}\n"), 2);
        assert_eq!(check("use x /* a */ // c\n// d\n;\n/* above */\nconst A = 1;\n"), 1);
    }

    #[test]
    fn a_part_touches_the_range() {
        let text = "fn f( ) {}\n\nfn g( ) {}\n\nfn h( ) {}\n";
        let at = TextSize::new(text.find('g').expect("it is there") as u32);
        let parts = format_parts(&parse(text), Some(TextRange::empty(at))).expect("it parses");
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["fn g() {}\n\n"]);
    }

    /// Threads format a large file as one thread does.
    #[test]
    fn threads_share_a_large_file() {
        let mut text = String::new();
        for i in 0..4 * WORTH_A_THREAD / 40 {
            text.push_str(&format!("fn f{i}( ) {{ let x= {i}; x }} // note {i}\n\n\n"));
            if i % 7 == 0 {
                text.push_str(&format!("const A{i}=1;\nconst B{i} =2; // two\n"));
            }
        }
        assert!(check(&text) > 1000);
    }
}
