//! A document whose line breaks are not decided yet, and the printer that decides them.
//!
//! A group is printed on one line if it fits; otherwise all of its own line breaks are taken. This module knows only characters
//! and widths.

/// An element of a document.
#[derive(Debug, Clone)]
pub(crate) enum Doc {
    Text(String),
    Space,
    /// A space, or a line break if the group is broken.
    Line,
    /// A line break if the group is broken, else nothing.
    Soft,
    /// A line break.
    Hard,
    /// A line break and an empty line.
    Blank,
    /// Text that is printed only if the group is broken.
    IfBroken(&'static str),
    /// A comment after code, its column in the source, and whether the author chose that column by more than one space before it.
    Trailing {
        text: String,
        column: usize,
        is_aligned: bool,
    },
    /// A comment before a closing bracket. It stays on the line of the code before it, even if the bracket gets a line of its own.
    Tail(String),
    Group(Block),
    Indent(Block),
}

/// A sequence of pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    docs: Vec<Doc>,
    /// Whether the block contains a line break even if its group is flat, as after a comment.
    must_break: bool,
}

impl Block {
    pub(crate) fn push(&mut self, doc: Doc) {
        self.must_break |= match &doc {
            Doc::Hard | Doc::Blank | Doc::Trailing { .. } => true,
            Doc::Text(text) | Doc::Tail(text) => text.contains('\n'),
            Doc::Group(block) | Doc::Indent(block) => block.must_break,
            Doc::Space | Doc::Line | Doc::Soft | Doc::IfBroken(_) => false,
        };
        self.docs.push(doc);
    }
}

/// The width of one level of indentation, in spaces.
const INDENT: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Broken,
}

type Step<'a> = (usize, Mode, &'a Doc);

/// Prints a document. No line ends with spaces, and the last line ends with a line break.
pub(crate) fn print(document: &Block, width: usize) -> String {
    let mut printer =
        Printer { out: String::new(), column: 0, line_indent: 0, line: 0, width, trailing: Vec::new() };
    let mut steps: Vec<Step<'_>> = Vec::new();
    push(&mut steps, 0, Mode::Broken, &document.docs);
    while let Some((indent, mode, doc)) = steps.pop() {
        match doc {
            Doc::Text(text) => printer.text(text),
            Doc::Space => printer.text(" "),
            Doc::Tail(text) => {
                printer.text(" ");
                printer.text(text);
            }
            Doc::Line if mode == Mode::Flat => printer.text(" "),
            Doc::Soft if mode == Mode::Flat => {}
            Doc::Line | Doc::Soft | Doc::Hard => printer.line(indent, 1),
            Doc::Blank => printer.line(indent, 2),
            Doc::IfBroken(text) if mode == Mode::Broken => printer.text(text),
            Doc::IfBroken(_) => {}
            Doc::Trailing { text, column, is_aligned } => printer.trailing(text, *column, *is_aligned),
            Doc::Indent(block) => push(&mut steps, indent + INDENT, mode, &block.docs),
            Doc::Group(block) => {
                let is_flat = mode == Mode::Flat || (!block.must_break && printer.fits(&block.docs, &steps));
                push(&mut steps, indent, if is_flat { Mode::Flat } else { Mode::Broken }, &block.docs);
            }
        }
    }
    printer.finish()
}

fn push<'a>(steps: &mut Vec<Step<'a>>, indent: usize, mode: Mode, docs: &'a [Doc]) {
    steps.extend(docs.iter().rev().map(|doc| (indent, mode, doc)));
}

struct Printer {
    out: String,
    /// The current column in characters. A line gets `line_indent` spaces before its first text.
    column: usize,
    line_indent: usize,
    /// The number of the current line, from 0.
    line: usize,
    width: usize,
    trailing: Vec<Trailing>,
}

/// A comment after code. Its distance from the code is chosen after the whole text is printed, so that comments can be aligned.
struct Trailing {
    /// The byte offset in `out` at which the spaces before the comment are inserted.
    at: usize,
    line: usize,
    /// The column at which the code before it ends.
    code_end: usize,
    /// The column in the source, and whether the author chose it.
    column: usize,
    is_aligned: bool,
}

impl Printer {
    fn text(&mut self, text: &str) {
        if self.column == 0 && text.trim().is_empty() {
            return;
        }
        if self.column == 0 {
            self.out.extend(std::iter::repeat_n(' ', self.line_indent));
            self.column = self.line_indent;
        }
        self.out.push_str(text);
        self.line += text.matches('\n').count();
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = last.chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn line(&mut self, indent: usize, count: usize) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() {
            self.out.extend(std::iter::repeat_n('\n', count));
            self.line += count;
        }
        self.column = 0;
        self.line_indent = indent;
    }

    fn trailing(&mut self, text: &str, column: usize, is_aligned: bool) {
        let (at, line, code_end) = (self.out.len(), self.line, self.column);
        self.trailing.push(Trailing { at, line, code_end, column, is_aligned });
        self.text(text);
    }

    /// Reports whether `docs` fit flat on the rest of the line, together with the text of `rest` up to the next possible line
    /// break.
    fn fits(&self, docs: &[Doc], rest: &[Step<'_>]) -> bool {
        let start = if self.column == 0 { self.line_indent } else { self.column };
        let Some(mut left) = self.width.checked_sub(start) else { return false };
        let mut inside: Vec<(Mode, &Doc)> = docs.iter().rev().map(|doc| (Mode::Flat, doc)).collect();
        let mut rest = rest.iter().rev();
        loop {
            let next = inside.pop().or_else(|| rest.next().map(|&(_, mode, doc)| (mode, doc)));
            let Some((mode, doc)) = next else { return true };
            let needed = match doc {
                Doc::Text(text) => text.split('\n').next().unwrap_or_default().chars().count(),
                Doc::Space => 1,
                Doc::Line if mode == Mode::Flat => 1,
                Doc::Soft if mode == Mode::Flat => 0,
                Doc::Tail(text) if mode == Mode::Flat => text.chars().count() + 1,
                Doc::Line | Doc::Soft | Doc::Hard | Doc::Blank | Doc::Tail(_) | Doc::Trailing { .. } => {
                    return true;
                }
                Doc::IfBroken(text) if mode == Mode::Broken => text.len(),
                Doc::IfBroken(_) => 0,
                Doc::Group(block) | Doc::Indent(block) => {
                    inside.extend(block.docs.iter().rev().map(|doc| (mode, doc)));
                    0
                }
            };
            match left.checked_sub(needed) {
                Some(still) => left = still,
                None => return false,
            }
        }
    }

    fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let mut out = String::with_capacity(self.out.len());
        let mut copied = 0;
        for (trailing, column) in self.trailing.iter().zip(columns(&self.trailing)) {
            out.push_str(&self.out[copied..trailing.at]);
            out.extend(std::iter::repeat_n(' ', column.saturating_sub(trailing.code_end).max(1)));
            copied = trailing.at;
        }
        out.push_str(&self.out[copied..]);
        out
    }
}

/// Returns the column of each comment after code. Comments on consecutive lines that started in one column get one column again,
/// right of the longest of these lines. If the author chose the column, it is kept where the code leaves room.
fn columns(trailing: &[Trailing]) -> Vec<usize> {
    let mut columns = Vec::new();
    let in_one_run = |a: &Trailing, b: &Trailing| a.line + 1 == b.line && a.column == b.column;
    for run in trailing.chunk_by(in_one_run) {
        let longest = run.iter().map(|it| it.code_end + 1).max().unwrap_or_default();
        let is_aligned = run.iter().any(|it| it.is_aligned);
        let chosen = if is_aligned { run[0].column } else { 0 };
        columns.extend(run.iter().map(|_| chosen.max(longest)));
    }
    columns
}
