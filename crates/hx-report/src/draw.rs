//! Source lines with labels, by ariadne.
//!
//! Spans are given to it in characters, not bytes: in byte mode it mixes the two units in the heading of a second file.
//! A span behind the end of the text would silently lose its lines, so all of them are clamped.

use std::{collections::BTreeMap, ops::Range};

use ariadne::{Cache, CharSet, Color, IndexType, Label as Drawn, Report, ReportKind, Source};
use hx_base::{Db, Diagnostic, Label, Severity, SourceFile};

use crate::{Config, one_line, place, suggestion};

/// A file by its number in the report, and a range of characters.
type Span = (usize, Range<usize>);

struct Files<'a>(Vec<(&'a str, Source<&'a str>)>);

impl<'a> Cache<usize> for Files<'a> {
    type Storage = &'a str;

    fn fetch(&mut self, id: &usize) -> Result<&Source<&'a str>, impl std::fmt::Debug> {
        self.0.get(*id).map(|(_, source)| source).ok_or("no such file")
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl std::fmt::Display + 'b> {
        self.0.get(*id).map(|(path, _)| (*path).to_owned())
    }
}

/// Everything below the heading line.
pub(crate) fn snippets(db: &dyn Db, diagnostic: &Diagnostic, config: Config) -> String {
    let (files, numbers) = files_of(db, diagnostic);
    let span = |label: &Label| -> Span {
        (
            numbers[&label.file],
            characters(label.file.text(db), place::clamp_range(db, label.file, label.range)),
        )
    };
    let mut labels: Vec<(bool, &Label)> = vec![(true, &diagnostic.primary)];
    labels.extend(diagnostic.secondary.iter().map(|label| (false, label)));
    // One section a file. Labels are ordered by where they end: ariadne begins a new section where that goes backwards.
    labels.sort_by_key(|(primary, label)| {
        (numbers[&label.file], label.range.end(), label.range.start(), !primary)
    });

    let main = match diagnostic.severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note => Color::Cyan,
    };
    let mut report = Report::build(ReportKind::Error, span(&diagnostic.primary)).with_config(
        ariadne::Config::new()
            .with_color(config.color)
            .with_char_set(if config.ascii { CharSet::Ascii } else { CharSet::Unicode })
            .with_index_type(IndexType::Char),
    );
    for (primary, label) in labels {
        let (color, priority) = if primary { (main, 1) } else { (Color::Blue, 0) };
        let message = one_line(&label.message);
        // Only a label with words is underlined.
        let message = if message.is_empty() { "here".to_owned() } else { message };
        report.add_label(
            Drawn::new(span(label)).with_color(color).with_priority(priority).with_message(message),
        );
    }
    report.with_helps(diagnostic.help.iter());
    report.with_helps(diagnostic.fixes.iter().map(|fix| suggestion::text(db, fix)));
    report.with_notes(diagnostic.notes.iter());

    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let written = report.finish().write(files, &mut bytes);
    debug_assert!(written.is_ok());
    let text = String::from_utf8_lossy(&bytes);
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    body.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// The files of a diagnostic, the primary one first, and the number of each.
fn files_of<'a>(db: &'a dyn Db, diagnostic: &Diagnostic) -> (Files<'a>, BTreeMap<SourceFile, usize>) {
    let mut numbers = BTreeMap::new();
    let mut files = Vec::new();
    for label in std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary) {
        numbers.entry(label.file).or_insert_with(|| {
            files.push((label.file.path(db), Source::from(label.file.text(db))));
            files.len() - 1
        });
    }
    (Files(files), numbers)
}

/// A range of bytes as a range of characters, at least one wide where the line has a character there.
fn characters(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].chars().count();
    let width = text[range.clone()].chars().count();
    let beside = text[range.start..].chars().next().is_some_and(|c| !c.is_whitespace());
    start..start + width.max(usize::from(beside))
}
