//! Converts offsets to lines, columns and characters. Every offset, even one outside of the text, yields a place in the file.

use hx_base::{Db, SourceFile, TextRange, TextSize, line_index};

/// A place for people. Both numbers count from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Returns the nearest offset that is neither past the end of the text nor inside a character.
fn clamp(text: &str, offset: TextSize) -> usize {
    let mut offset = usize::from(offset).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Clamps both ends of the range into the text.
pub(crate) fn clamp_range(db: &dyn Db, file: SourceFile, range: TextRange) -> std::ops::Range<usize> {
    let text = file.text(db);
    debug_assert!(usize::from(range.end()) <= text.len(), "{range:?} is outside of {}", file.path(db));
    clamp(text, range.start())..clamp(text, range.end())
}

pub(crate) fn position(db: &dyn Db, file: SourceFile, offset: TextSize) -> Position {
    let text = file.text(db);
    let offset = clamp(text, offset);
    let at = line_index(db, file).line_col(TextSize::new(offset as u32));
    let start = offset - at.col as usize;
    let column = text[start..offset].chars().count() as u32;
    Position { line: at.line + 1, column: column + 1 }
}
