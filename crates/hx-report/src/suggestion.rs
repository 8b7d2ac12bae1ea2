//! Renders fixes as text: the title, and the lines after the fix.

use std::ops::Range;

use hx_base::{Db, Edit, Fix, SourceFile, TextSize, line_index};

use crate::place;
use crate::wrap::{clipped, fitted};

/// The largest number of changed lines that are shown.
const SHOWN_LINES: usize = 8;

/// Returns the title of a fix and below it the lines that it changes, marked `+` and `-`. A width breaks the title into lines and
/// cuts the others around their change.
pub(crate) fn text(db: &dyn Db, fix: &Fix, width: Option<usize>) -> String {
    let mut text = fitted(&fix.title, width, "");
    let mut lines = Vec::new();
    for group in groups(db, &fix.edits) {
        lines.extend(changed_lines(db, &group, width));
    }
    for line in lines.iter().take(SHOWN_LINES) {
        text.push('\n');
        text.push_str(line);
    }
    if lines.len() > SHOWN_LINES {
        text.push_str("\n…");
    }
    text
}

/// Edits in consecutive lines of a file, ordered by position.
struct Group<'a> {
    file: SourceFile,
    /// The byte range from the beginning of the first line to the end of the last, without its line break.
    lines: Range<usize>,
    edits: Vec<(Range<usize>, &'a Edit)>,
}

fn groups<'a>(db: &dyn Db, edits: &'a [Edit]) -> Vec<Group<'a>> {
    let mut edits: Vec<(Range<usize>, &Edit)> =
        edits.iter().map(|edit| (place::clamp_range(db, edit.file, edit.range), edit)).collect();
    edits.sort_by_key(|(range, edit)| (edit.file.path(db), range.start, range.end));
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (range, edit) in edits {
        let text = edit.file.text(db);
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
        match groups.last_mut() {
            Some(group) if group.file == edit.file && start < group.lines.end => {
                group.lines.end = group.lines.end.max(end);
                group.edits.push((range, edit));
            }
            _ => groups.push(Group { file: edit.file, lines: start..end, edits: vec![(range, edit)] }),
        }
    }
    groups
}

fn changed_lines(db: &dyn Db, group: &Group<'_>, width: Option<usize>) -> Vec<String> {
    let text = group.file.text(db);
    let mut new = String::new();
    let mut at = group.lines.start;
    for (range, edit) in &group.edits {
        new.push_str(&text[at..range.start.max(at)]);
        new.push_str(&edit.text);
        at = range.end.max(at);
    }
    new.push_str(&text[at..group.lines.end.max(at)]);

    let old: Vec<&str> = text[group.lines.clone()].lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let same_before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_before;
    let same_after = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let start = TextSize::try_from(group.lines.start).unwrap_or_default();
    let first = line_index(db, group.file).line_col(start).line as usize + 1 + same_before;
    let removed = &old[same_before..old.len() - same_after];
    let added = &new[same_before..new.len() - same_after];
    let focus = match (removed, added) {
        ([removed, ..], [added, ..]) => {
            removed.chars().zip(added.chars()).take_while(|(a, b)| a == b).count()
        }
        _ => 0,
    };
    let shown = |sign: char, lines: &[&str]| {
        let shown = |(i, line): (usize, &&str)| {
            let start = format!("{} {sign} ", first + i);
            let width = width.map(|width| width.saturating_sub(start.len()));
            start + &clipped(line, width, focus)
        };
        lines.iter().enumerate().map(shown).collect::<Vec<_>>()
    };
    [shown('-', removed), shown('+', added)].concat()
}
