//! Breaks text at word boundaries, for a terminal.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Breaks the lines of a text at spaces, so that each has at most `width` columns. A new line is indented like its first one, and by
/// `indent` more. A word that is longer than a line stays whole.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let start = &line[..line.len() - line.trim_start().len()];
        let next = format!("{start}{indent}");
        textwrap::fill(line, at_spaces(width.max(1)).subsequent_indent(&next).break_words(false))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Breaks a sentence at spaces, and words that are longer than a line. The text ends with a line break.
pub(crate) fn filled(text: &str, width: usize, first: &str, next: &str) -> String {
    textwrap::fill(text, at_spaces(width).initial_indent(first).subsequent_indent(next)) + "\n"
}

/// Returns the options that break lines at spaces only.
fn at_spaces<'a>(width: usize) -> Options<'a> {
    Options::new(width).word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation)
}

/// Wraps a text if there is a width.
pub(crate) fn fitted(text: &str, width: Option<usize>, indent: &str) -> String {
    width.map_or_else(|| text.to_owned(), |width| wrapped(text, width, indent))
}

/// Cuts a line of code to a number of columns. `focus` is the position, in characters from 0, that must stay visible. Cut ends
/// are `…`.
pub(crate) fn clipped(line: &str, width: Option<usize>, focus: usize) -> String {
    let Some(width) = width.filter(|&width| textwrap::core::display_width(line) > width) else {
        return line.to_owned();
    };
    let start = if focus + 1 < width { 0 } else { focus - width / 3 };
    let mut out = if start > 0 { "…".to_owned() } else { String::new() };
    for c in line.chars().skip(start) {
        if textwrap::core::display_width(&out) + 2 > width {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// Cuts a text to a number of columns. The last one of a text that was cut is `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if textwrap::core::display_width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if textwrap::core::display_width(&out) + textwrap::core::display_width(c.encode_utf8(&mut [0; 4])) + 1
            > width
        {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}
