//! Source lines that fit a terminal.
//!
//! Lines that are too long are cut around their labels before ariadne draws them, because it would let the terminal break them and
//! the lines of carets below them apart. The text of other lines is dropped: ariadne does not draw it. A message beside a caret is
//! drawn as one character, which is then replaced by the message in lines.

use std::ops::Range;

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
    /// The number of the line, from 0, and the range of its characters.
    number: usize,
    range: Range<usize>,
    /// The characters that stay visible, and the offset of the line in the new text.
    kept: Range<usize>,
    start: usize,
}

/// Cuts the lines with labels to `room` columns, and moves the labels along. Returns the new text, in which all other lines are
/// empty; `None` if everything fits.
pub(crate) fn clip(text: &str, pieces: &mut [Piece], room: usize) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = lines_of(&chars, pieces);
    for line in &mut lines {
        line.kept = window(&chars, line, pieces, room);
    }
    if lines.iter().all(|line| line.kept == line.range) {
        return None;
    }
    let (mut out, mut length, mut number) = (String::new(), 0, 0);
    for line in &mut lines {
        while number < line.number {
            out.push('\n');
            (length, number) = (length + 1, number + 1);
        }
        line.start = length;
        let kept: String = chars[line.kept.clone()].iter().collect();
        let before = if line.kept.start > line.range.start { "…" } else { "" };
        let after = if line.kept.end < line.range.end { "…" } else { "" };
        out += &format!("{before}{kept}{after}");
        length += kept.chars().count() + before.chars().count() + after.chars().count();
    }
    let moved = |at: usize| {
        let line = lines.iter().rev().find(|line| line.range.start <= at);
        line.map_or(0, |line| {
            let cut = usize::from(line.kept.start > line.range.start);
            line.start + cut + at.clamp(line.kept.start, line.kept.end) - line.kept.start
        })
    };
    for piece in pieces {
        piece.range = moved(piece.range.start)..moved(piece.range.end);
    }
    Some(out)
}

/// Returns the lines in which a label begins or ends, in order.
fn lines_of(chars: &[char], pieces: &[Piece]) -> Vec<Line> {
    let is_ended = |at: usize| {
        pieces.iter().any(|piece| {
            let last = piece.range.end.saturating_sub(1).max(piece.range.start);
            [piece.range.start, last].contains(&at)
        })
    };
    let (mut lines, mut start, mut number) = (Vec::new(), 0, 0);
    for line in chars.split_inclusive(|c| *c == '\n').chain([[].as_slice()]) {
        let end = start + line.len();
        let is_broken = line.last() == Some(&'\n');
        let text = start..end - usize::from(is_broken);
        // A label at the end of the text is on the last line.
        if (start..end.max(start + 1)).any(is_ended) || !is_broken && is_ended(end) {
            lines.push(Line { number, range: text.clone(), kept: text, start: 0 });
        }
        (start, number) = (end, number + 1);
    }
    lines
}

/// Returns the characters of a line that stay visible: all, or a window with the labels and room for their messages.
fn window(chars: &[char], line: &Line, pieces: &[Piece], room: usize) -> Range<usize> {
    let Range { start, end } = line.range;
    let on_line: Vec<&Piece> =
        pieces.iter().filter(|piece| piece.range.start <= end && piece.range.end >= start).collect();
    let inside = |at: usize| at.clamp(start, end);
    let first = on_line.iter().map(|piece| inside(piece.range.start)).min().unwrap_or(start);
    let last = on_line.iter().map(|piece| inside(piece.range.end)).max().unwrap_or(end);
    let message =
        on_line.iter().map(|piece| textwrap::core::display_width(&piece.message)).max().unwrap_or(0);
    let width = |range: Range<usize>| chars[range].iter().map(|c| columns(*c)).sum::<usize>();
    let for_message = ARROW + message.min((room / 2).max(MESSAGE));
    if width(start..end) <= room && width(start..last) + for_message <= room {
        return start..end;
    }
    // Move the window to the right until the messages fit, but keep some context before the first label.
    let latest = start + (first - start).saturating_sub(CONTEXT);
    let mut from = start;
    while from < latest && width(from..last) + for_message + 1 > room {
        from += 1;
    }
    let room = room.saturating_sub(1 + usize::from(from > start));
    let mut to = from;
    while to < end && width(from..to + 1) <= room {
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

/// Replaces the marks of a drawing by their messages, broken into lines.
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

/// Returns the start of the line below a message: the same with vertical bars only.
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
