//! Converts the protocol's types to ours: positions become offsets.

use hx_base::{LineCol, LineIndex, SourceFile, TextRange, TextSize, WideEncoding, WideLineCol, line_index};
use hx_workspace::Database;
use tower_lsp::ls_types::{Position, Range, TextDocumentContentChangeEvent};

use crate::settings::Encoding;

/// Converts positions of one text in both directions. A position beyond the text becomes the nearest one before it.
#[derive(Clone, Copy)]
pub(crate) struct Positions<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    encoding: Encoding,
}

impl<'a> Positions<'a> {
    pub(crate) fn new(db: &'a Database, file: SourceFile, encoding: Encoding) -> Positions<'a> {
        Positions::of(file.text(db), line_index(db, file), encoding)
    }

    pub(crate) fn of(text: &'a str, lines: &'a LineIndex, encoding: Encoding) -> Positions<'a> {
        Positions { text, lines, encoding }
    }

    pub(crate) fn offset(&self, position: Position) -> TextSize {
        let end = TextSize::of(self.text);
        let Some(line) = self.lines.line(position.line) else { return end };
        let line_text = &self.text[line];
        let content = line_text.trim_end_matches(['\n', '\r']).len() as u32;
        let col = match self.encoding {
            Encoding::Utf8 => Some(position.character),
            Encoding::Utf16 => {
                let wide = WideLineCol { line: position.line, col: position.character };
                self.lines.to_utf8(WideEncoding::Utf16, wide).map(|at| at.col)
            }
        };
        let mut col = col.unwrap_or(content).min(content);
        while !line_text.is_char_boundary(col as usize) {
            col -= 1;
        }
        line.start() + TextSize::new(col)
    }

    pub(crate) fn text_range(&self, range: Range) -> TextRange {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        TextRange::new(start.min(end), start.max(end))
    }

    pub(crate) fn position(&self, offset: TextSize) -> Position {
        let offset = offset.min(TextSize::of(self.text));
        let at = self.lines.try_line_col(offset).unwrap_or(LineCol { line: 0, col: 0 });
        let character = match self.encoding {
            Encoding::Utf8 => at.col,
            Encoding::Utf16 => self.lines.to_wide(WideEncoding::Utf16, at).map_or(at.col, |wide| wide.col),
        };
        Position { line: at.line, character }
    }

    pub(crate) fn range(&self, range: TextRange) -> Range {
        Range { start: self.position(range.start()), end: self.position(range.end()) }
    }

    /// Returns the width of a range in one line, in columns of the client's encoding.
    pub(crate) fn width(&self, range: TextRange) -> u32 {
        let (start, end) = (self.position(range.start()), self.position(range.end()));
        end.character.saturating_sub(start.character)
    }

    /// Splits a range at line ends. The parts exclude the line ends, and empty parts are dropped.
    pub(crate) fn by_line(&self, range: TextRange) -> Vec<TextRange> {
        let parts = self.lines.lines(range);
        let trimmed = parts.map(|part| {
            let text = self.text[part].trim_end_matches(['\n', '\r']);
            TextRange::at(part.start(), TextSize::of(text))
        });
        trimmed.filter(|part| !part.is_empty()).collect()
    }
}

/// Applies the changes of a notification to a text, in order.
pub(crate) fn changed(text: &str, changes: &[TextDocumentContentChangeEvent], encoding: Encoding) -> String {
    let mut text = text.to_owned();
    for change in changes {
        match change.range {
            None => text.clone_from(&change.text),
            Some(range) => {
                let lines = LineIndex::new(&text);
                let range = Positions::of(&text, &lines, encoding).text_range(range);
                text.replace_range(std::ops::Range::<usize>::from(range), &change.text);
            }
        }
    }
    text
}

/// Returns the byte offset of the first character in which two texts differ; the length of the shorter if that one is a prefix.
pub(crate) fn first_difference(before: &str, after: &str) -> TextSize {
    let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=same).rev().find(|at| before.is_char_boundary(*at)).unwrap_or(0);
    TextSize::new(start as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, encoding: Encoding, line: u32, character: u32, offset: u32) {
        let lines = LineIndex::new(text);
        let positions = Positions::of(text, &lines, encoding);
        assert_eq!(positions.offset(Position { line, character }), TextSize::new(offset));
    }

    #[test]
    fn positions_become_offsets() {
        let text = "a∘b\r\n𝄞x\n";
        check(text, Encoding::Utf8, 0, 4, 4);
        check(text, Encoding::Utf16, 0, 2, 4);
        check(text, Encoding::Utf16, 1, 2, 11);
        check(text, Encoding::Utf8, 1, 4, 11);
    }

    #[test]
    fn positions_that_are_not_there_become_the_nearest() {
        let text = "a∘b\r\n𝄞x\n";
        check(text, Encoding::Utf8, 0, 99, 5);
        check(text, Encoding::Utf8, 0, 2, 1);
        check(text, Encoding::Utf16, 1, 1, 7);
        check(text, Encoding::Utf16, 9, 0, 13);
        check("", Encoding::Utf16, 0, 3, 0);
    }

    #[test]
    fn offsets_become_positions() {
        let text = "a∘b\n𝄞x\n";
        let lines = LineIndex::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let positions = Positions::of(text, &lines, encoding);
            for (offset, _) in text.char_indices().filter(|(_, c)| *c != '\n') {
                let offset = TextSize::try_from(offset).unwrap();
                assert_eq!(positions.offset(positions.position(offset)), offset);
            }
        }
    }

    #[test]
    fn differences() {
        let check = |before, after, at| assert_eq!(first_difference(before, after), TextSize::new(at));
        check("abc", "abd", 2);
        check("abc", "abc", 3);
        check("abc", "ab", 2);
        check("", "a", 0);
        // Both characters begin with the same byte, but they differ.
        check("a∘", "a∙", 1);
    }

    #[test]
    fn changes_apply_in_order() {
        let change = |range: Option<(u32, u32, u32)>, text: &str| TextDocumentContentChangeEvent {
            range: range.map(|(line, from, to)| Range {
                start: Position { line, character: from },
                end: Position { line, character: to },
            }),
            range_length: None,
            text: text.to_owned(),
        };
        let changes =
            [change(Some((0, 1, 1)), "∘"), change(Some((0, 2, 3)), "c"), change(Some((1, 0, 0)), "d")];
        assert_eq!(changed("ab\n", &changes, Encoding::Utf16), "a∘c\nd");
        assert_eq!(changed("ab\n", &[change(None, "x")], Encoding::Utf16), "x");
    }
}
