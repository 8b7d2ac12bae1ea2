//! Formatting of a whole file, of a range, and while typing.

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_fmt::FormatError;

use crate::{Cancellable, catch};

/// A replacement in one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextChange {
    pub range: TextRange,
    pub text: String,
}

/// Returns the changes that format a file, line by line. With a range, returns only changes of lines that the range touches.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error says why the file cannot be formatted.
pub fn format(
    db: &dyn Db,
    file: SourceFile,
    range: Option<TextRange>,
) -> Cancellable<Result<Vec<TextChange>, FormatError>> {
    catch(|| {
        let mut changes = changes(db, file, range)?;
        if let Some(range) = range {
            changes.retain(|change| change.range.intersect(range).is_some());
        }
        Ok(changes)
    })
}

/// Formats after `}` or `;` was typed: returns the changes up to that character, in the lines of the block or statement that it
/// ends. Returns nothing while the file has syntax errors.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn format_on_type(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
    typed: char,
) -> Cancellable<Vec<TextChange>> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        let before = at.checked_sub(TextSize::of(typed));
        let Some(token) = before.and_then(|at| root.token_at_offset(at).right_biased()) else {
            return Vec::new();
        };
        if token.text() != typed.to_string() {
            return Vec::new();
        }
        // The node that the character ends: a block, or a statement with its `;`.
        let Some(node) = token.parent() else { return Vec::new() };
        let text = file.text(db);
        // Changes consist of whole lines, so extend the range to whole lines.
        let first = usize::from(crate::node::code_range(&node).start());
        let last = usize::from(token.text_range().end());
        let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
        let mut changes = changes(db, file, Some(token.text_range())).unwrap_or_default();
        changes.retain(|change| {
            start <= usize::from(change.range.start()) && usize::from(change.range.end()) <= end
        });
        changes
    })
}

/// Returns the changes that format the parts of a file that touch a range, or all of it.
fn changes(
    db: &dyn Db,
    file: SourceFile,
    touching: Option<TextRange>,
) -> Result<Vec<TextChange>, FormatError> {
    let text = file.text(db);
    let mut changes = Vec::new();
    for part in hx_fmt::format_parts(hx_base::parse(db, file), touching)? {
        let of_part = line_changes(&text[part.range], &part.text).into_iter();
        changes
            .extend(of_part.map(|change| TextChange { range: change.range + part.range.start(), ..change }));
    }
    Ok(changes)
}

/// Returns the changes from one text to another, one for each run of lines that differ.
fn line_changes(old: &str, new: &str) -> Vec<TextChange> {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut changes = Vec::new();
    let (mut i, mut j, mut at) = (0, 0, TextSize::new(0));
    while i < old_lines.len() || j < new_lines.len() {
        if old_lines.get(i) == new_lines.get(j) && i < old_lines.len() {
            at += TextSize::of(old_lines[i]);
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (di, dj) = resynchronize(&old_lines[i..], &new_lines[j..]);
        let removed: TextSize = old_lines[i..i + di].iter().map(|line| TextSize::of(*line)).sum();
        changes.push(TextChange { range: TextRange::at(at, removed), text: new_lines[j..j + dj].concat() });
        at += removed;
        (i, j) = (i + di, j + dj);
    }
    changes
}

/// Returns how many lines of each side to skip until both agree again.
fn resynchronize(old: &[&str], new: &[&str]) -> (usize, usize) {
    // Require a line of at least four characters, or two equal lines in sequence: a lone bracket matches too easily.
    let agrees = |i: usize, j: usize| {
        let (Some(line), Some(other)) = (old.get(i), new.get(j)) else { return false };
        line == other && (line.trim().len() >= 4 || old.get(i + 1) == new.get(j + 1))
    };
    for distance in 1..=(old.len() + new.len()).min(200) {
        for di in 0..=distance.min(old.len()) {
            let dj = distance - di;
            if dj <= new.len() && agrees(di, dj) {
                return (di, dj);
            }
        }
    }
    (old.len(), new.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, count: usize) {
        let changes = line_changes(old, new);
        let mut text = old.to_owned();
        for change in changes.iter().rev() {
            text.replace_range(std::ops::Range::<usize>::from(change.range), &change.text);
        }
        assert_eq!(text, new);
        assert_eq!(changes.len(), count, "{changes:?}");
    }

    #[test]
    fn changes_lead_from_one_text_to_the_other() {
        check("a\nb\nc\n", "a\nb\nc\n", 0);
        check("aa\nbb\ncc\ndd\n", "aa\nxx\ncc\ndd\n", 1);
        check("aa\nbb\ncc\ndd\nee\n", "aa\ncc\ndd\nee\n", 1);
        check("aa\nbb\ncc\n", "aa\nnn\nbb\ncc\nmm\n", 2);
        check("", "aa\n", 1);
        check("aa", "", 1);
        check("aa\nbb", "cc\ndd\n", 1);
    }
}
