//! Source lines that fit a terminal.
//!
//! Lines that are too long are cut around their labels before ariadne draws them, because it would let the terminal break them and
//! the lines of carets below them apart. The text of other lines is dropped: ariadne does not draw it. A message beside a caret is
//! drawn as one character, which is then replaced by the message in lines.

use std::collections::BTreeMap;
use std::ops::Range;

use ariadne::Source;

use crate::wrap::wrapped;

/// Columns of context before the first label of a line that is cut.
const CONTEXT: usize = 8;
/// Columns between the end of the last label of a line and the messages.
const ARROW: usize = 3;
/// The fewest columns for a message. If the labels of a line leave less, the messages go past the width.
const MESSAGE: usize = 20;
/// The first of the characters that stand for messages, from an area of private use.
const MARK: u32 = 0xE000;

/// A label on a source, in characters, with its message.
pub(crate) struct Piece {
    pub range: Range<usize>,
    pub message: String,
}

/// A line of a source that has a label.
struct Line {
    /// Offset of the line in the source, in characters.
    offset: usize,
    chars: Vec<char>,
    /// For each character and the end of the line, the width in columns of the text before it. Lines can have millions of
    /// characters, so the widths are summed up once.
    widths: Vec<usize>,
    /// The characters that stay visible.
    kept: Range<usize>,
    /// Offset of the line in the new text, in characters.
    start: usize,
}

impl Line {
    fn end(&self) -> usize {
        self.offset + self.chars.len()
    }

    /// Returns the position in the line of an offset in the source, both in characters. An offset outside of the line has the
    /// position of its start or its end.
    fn column(&self, at: usize) -> usize {
        at.clamp(self.offset, self.end()) - self.offset
    }

    fn width(&self, range: Range<usize>) -> usize {
        self.widths[range.end] - self.widths[range.start]
    }
}

/// Cuts the lines with labels to `room` columns, and moves the labels along. Returns the new text, in which all other lines are
/// empty; `None` if everything fits.
pub(crate) fn clip<T: AsRef<str>>(source: &Source<T>, pieces: &mut [Piece], room: usize) -> Option<String> {
    let mut lines = lines_of(source, pieces);
    for line in lines.values_mut() {
        line.kept = window(line, pieces, room);
    }
    if lines.values().all(|line| line.kept == (0..line.chars.len())) {
        return None;
    }
    let (mut out, mut length, mut number) = (String::new(), 0, 0);
    for (at, line) in &mut lines {
        out += &"\n".repeat(at - number);
        length += at - number;
        (line.start, number) = (length, *at);
        let kept: String = line.chars[line.kept.clone()].iter().collect();
        let before = if line.kept.start > 0 { "…" } else { "" };
        let after = if line.kept.end < line.chars.len() { "…" } else { "" };
        let text = format!("{before}{kept}{after}");
        length += text.chars().count();
        out += &text;
    }
    let moved = |at: usize| {
        let line = lines.values().rev().find(|line| line.offset <= at);
        line.map_or(0, |line| {
            let column = line.column(at).clamp(line.kept.start, line.kept.end) - line.kept.start;
            line.start + usize::from(line.kept.start > 0) + column
        })
    };
    for piece in pieces {
        piece.range = moved(piece.range.start)..moved(piece.range.end);
    }
    Some(out)
}

/// Returns the lines in which a label begins or ends, by their numbers from 0.
fn lines_of<T: AsRef<str>>(source: &Source<T>, pieces: &[Piece]) -> BTreeMap<usize, Line> {
    let ends = |piece: &Piece| [piece.range.start, piece.range.end.saturating_sub(1).max(piece.range.start)];
    let line = |at: usize| {
        let (line, number, _) = source.get_offset_line(at)?;
        let text = source.get_line_text(line)?.trim_end_matches(['\r', '\n']);
        let chars: Vec<char> = text.chars().collect();
        let widths = chars.iter().scan(0, |width, c| {
            *width += columns(*c);
            Some(*width)
        });
        let widths = [0].into_iter().chain(widths).collect();
        Some((number, Line { offset: line.offset(), kept: 0..chars.len(), widths, chars, start: 0 }))
    };
    pieces.iter().flat_map(ends).filter_map(line).collect()
}

/// Returns the characters of a line that stay visible: all, or a window with the labels and room for their messages. `room` is
/// the number of columns for both.
fn window(line: &Line, pieces: &[Piece], room: usize) -> Range<usize> {
    let length = line.chars.len();
    let on_line: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| piece.range.start <= line.end() && piece.range.end >= line.offset)
        .collect();
    let first = on_line.iter().map(|piece| line.column(piece.range.start)).min().unwrap_or(0);
    let last = on_line.iter().map(|piece| line.column(piece.range.end)).max().unwrap_or(length);
    let message =
        on_line.iter().map(|piece| textwrap::core::display_width(&piece.message)).max().unwrap_or(0);
    let for_message = ARROW + message.min((room / 2).max(MESSAGE));
    if line.width(0..length) <= room && line.width(0..last) + for_message <= room {
        return 0..length;
    }
    // Move the window to the right until the messages fit, but keep some context before the first label.
    let latest = first.saturating_sub(CONTEXT);
    let mut from = 0;
    while from < latest && line.width(from..last) + for_message + 1 > room {
        from += 1;
    }
    let room = room.saturating_sub(1 + usize::from(from > 0));
    let mut to = from;
    while to < length && line.width(from..to + 1) <= room {
        to += 1;
    }
    from..to
}

fn columns(c: char) -> usize {
    // Ariadne draws a tabulator as at most four spaces.
    if c == '\t' { 4 } else { textwrap::core::display_width(c.encode_utf8(&mut [0; 4])) }
}

/// Returns the character that stands for a message while ariadne draws.
pub(crate) fn mark(number: usize) -> String {
    u32::try_from(number).ok().and_then(|n| char::from_u32(MARK + n)).unwrap_or('?').to_string()
}

/// Replaces the marks of a drawing by their messages, broken into lines that end at column `width`. A message has at least
/// [`MESSAGE`] columns.
pub(crate) fn unmarked(drawing: &str, messages: &[String], width: usize) -> String {
    let mut out = String::new();
    for line in drawing.split_inclusive('\n') {
        let number = |c: char| (c as u32).checked_sub(MARK).map(|n| n as usize);
        let found = line.char_indices().find_map(|(at, c)| Some((at, messages.get(number(c)?)?)));
        let Some((at, message)) = found else {
            out += line;
            continue;
        };
        let (before, after) = (&line[..at], line[at..].trim_start_matches(|c| number(c).is_some()));
        let room = width.saturating_sub(textwrap::core::display_width(before)).max(MESSAGE);
        let next = below(before);
        out += &format!("{before}{}{after}", wrapped(message, room, "").replace('\n', &format!("\n{next}")));
    }
    out
}

/// Returns the start of the line below a message: `before` with blanks instead of all characters but vertical bars and colour
/// escapes.
fn below(before: &str) -> String {
    let mut is_escape = false;
    let bar = |c: char| {
        is_escape = c == '\x1b' || is_escape;
        let kept = if is_escape || matches!(c, '│' | '|') { c } else { ' ' };
        is_escape = is_escape && c != 'm';
        kept
    };
    before.chars().map(bar).collect()
}
