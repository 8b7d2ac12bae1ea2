//! Draws source lines with labels, by ariadne.
//!
//! Ariadne gets spans in characters, not bytes: in byte mode it mixes the two units in the heading of a second file. All spans
//! are clamped, because a span past the end of the text would silently lose its lines.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use ariadne::{Cache, CharSet, Color, IndexType, Label as Drawn, Report, ReportKind, Source};
use hx_base::{Db, Diagnostic, Label, Severity, SourceFile, masked, printable};

use crate::{Config, one_line, place, suggestion};

/// A file, by its number among the sources, and a range of characters.
type Span = (usize, Range<usize>);

/// A file in the form in which it is drawn. Characters on which a terminal acts are masked one for one.
struct Shown<'a> {
    path: &'a str,
    source: Source<Cow<'a, str>>,
    /// The original text, if it differs from the masked one. Places are byte offsets into the original.
    original: Option<Source<&'a str>>,
}

/// The files of the drawings so far, with the starts of their lines.
#[derive(Default)]
pub(crate) struct Sources<'a> {
    sources: Vec<Shown<'a>>,
    numbers: BTreeMap<SourceFile, usize>,
}

impl<'a> Sources<'a> {
    /// Returns the number of a file. Its text is read on the first call.
    fn number(&mut self, db: &'a dyn Db, file: SourceFile) -> usize {
        *self.numbers.entry(file).or_insert_with(|| {
            let text = file.text(db);
            let shown = masked(text);
            let original = matches!(shown, Cow::Owned(_)).then(|| Source::from(text));
            self.sources.push(Shown { path: file.path(db), source: Source::from(shown), original });
            self.sources.len() - 1
        })
    }

    /// Converts a range of bytes to a range of characters. The result is at least one character wide if the line has a character
    /// there.
    fn characters(&self, number: usize, range: Range<usize>) -> Range<usize> {
        let Some(Shown { source, original, .. }) = self.sources.get(number) else { return range };
        let text = original.as_ref().map_or(source.text(), Source::text);
        let line = match original {
            Some(original) => original.get_byte_line(range.start),
            None => source.get_byte_line(range.start),
        };
        let start = line.map_or(0, |(line, _, column)| {
            line.offset() + text[range.start - column..range.start].chars().count()
        });
        let width = text[range.clone()].chars().count();
        let beside = text[range.start..].chars().next().is_some_and(|c| !c.is_whitespace());
        start..start + width.max(usize::from(beside))
    }

    /// Returns how many files were read.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }
}

impl<'a> Cache<usize> for &Sources<'a> {
    type Storage = Cow<'a, str>;

    fn fetch(&mut self, id: &usize) -> Result<&Source<Cow<'a, str>>, impl std::fmt::Debug> {
        self.sources.get(*id).map(|shown| &shown.source).ok_or("no such file")
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl std::fmt::Display + 'b> {
        self.sources.get(*id).map(|shown| printable(shown.path).into_owned())
    }
}

/// Draws everything below the heading line.
pub(crate) fn snippets<'a>(
    db: &'a dyn Db,
    diagnostic: &Diagnostic,
    config: Config,
    sources: &mut Sources<'a>,
) -> String {
    let mut labels: Vec<(bool, &Label)> = vec![(true, &diagnostic.primary)];
    labels.extend(diagnostic.secondary.iter().map(|label| (false, label)));
    // Each file gets one section, that of the primary place first. Labels are sorted by their ends, because ariadne begins a new
    // section whenever the end of a label is before that of the previous one.
    let mut files: Vec<SourceFile> = Vec::new();
    for (_, label) in &labels {
        sources.number(db, label.file);
        if !files.contains(&label.file) {
            files.push(label.file);
        }
    }
    labels.sort_by_key(|(primary, label)| {
        let section = files.iter().position(|file| *file == label.file);
        (section, label.range.end(), label.range.start(), !primary)
    });
    let sources = &*sources;
    let span = |label: &Label| -> Span {
        let number = sources.numbers.get(&label.file).copied().unwrap_or_default();
        (number, sources.characters(number, place::clamp_range(db, label.file, label.range)))
    };

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
        // Ariadne underlines a label only if it has a text.
        let message = if message.is_empty() { "here".to_owned() } else { message };
        report.add_label(
            Drawn::new(span(label)).with_color(color).with_priority(priority).with_message(message),
        );
    }
    report.with_helps(diagnostic.help.iter().map(|help| printable(help)));
    report.with_helps(diagnostic.fixes.iter().map(|fix| printable(&suggestion::text(db, fix)).into_owned()));
    report.with_notes(diagnostic.notes.iter().map(|note| printable(note)));

    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let written = report.finish().write(sources, &mut bytes);
    debug_assert!(written.is_ok());
    let text = String::from_utf8_lossy(&bytes);
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    body.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}
