//! Breaks text at word boundaries, for a terminal.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Breaks the lines of a text at spaces, so that each has at most `width` columns. A new line is indented like its first one, and by
/// `indent` more. A word that is longer than a line stays whole.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let start = &line[..line.len() - line.trim_start().len()];
        let next = format!("{start}{indent}");
        let options = Options::new(width.max(1))
            .subsequent_indent(&next)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        textwrap::fill(line, options)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Wraps a text if there is a width.
pub(crate) fn fitted(text: &str, width: Option<usize>, indent: &str) -> String {
    width.map_or_else(|| text.to_owned(), |width| wrapped(text, width, indent))
}

/// Cuts a line of code to a number of columns. `focus` is the column that must stay visible.
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
