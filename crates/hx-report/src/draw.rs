//! Draws source lines with labels, by ariadne.
//!
//! Ariadne gets spans in characters, not bytes: in byte mode it mixes the two units in the heading of a second file. All spans
//! are clamped, because a span past the end of the text would silently lose its lines.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use ariadne::{Cache, CharSet, Color, IndexType, Label as Drawn, Report, ReportKind, Source};
use hx_base::{Db, Diagnostic, Label, Severity, SourceFile, masked, printable};

use crate::clip::{self, Piece};
use crate::wrap::fitted;
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

/// The files of one drawing. Some may be cut to the width of a terminal.
struct Files<'a, 's> {
    sources: &'s Sources<'a>,
    cut: BTreeMap<usize, Source<Cow<'a, str>>>,
}

impl<'a> Cache<usize> for &Files<'a, '_> {
    type Storage = Cow<'a, str>;

    fn fetch(&mut self, id: &usize) -> Result<&Source<Cow<'a, str>>, impl std::fmt::Debug> {
        let whole = self.sources.sources.get(*id).map(|shown| &shown.source);
        self.cut.get(id).or(whole).ok_or("no such file")
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl std::fmt::Display + 'b> {
        self.sources.sources.get(*id).map(|shown| printable(shown.path).into_owned())
    }
}

/// A label in the form in which it is drawn.
struct Placed {
    is_primary: bool,
    span: Span,
    message: String,
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
    let placed = |(is_primary, label): (bool, &Label)| {
        let number = sources.numbers.get(&label.file).copied().unwrap_or_default();
        let characters = sources.characters(number, place::clamp_range(db, label.file, label.range));
        let message = one_line(&label.message);
        // Ariadne underlines a label only if it has a text.
        let message = if message.is_empty() { "here".to_owned() } else { message };
        Placed { is_primary, span: (number, characters), message }
    };
    let mut placed: Vec<Placed> = labels.into_iter().map(placed).collect();
    let mut files = Files { sources, cut: BTreeMap::new() };
    let Some(width) = config.width else {
        return drawn(db, diagnostic, config, &placed, &files);
    };
    let places = files.heads(&placed);
    files.cut(&mut placed, width);
    let messages: Vec<String> = placed.iter().map(|label| label.message.clone()).collect();
    for (number, label) in placed.iter_mut().enumerate() {
        label.message = clip::mark(number);
    }
    let mut text = drawn(db, diagnostic, config, &placed, &files);
    // The headings name the columns of the whole lines. Their brackets may have colours, so they are not searched.
    for (cut, whole) in files.heads(&placed).iter().zip(&places) {
        text = text.replacen(&format!(" {cut} "), &format!(" {whole} "), 1);
    }
    clip::unmarked(&text, &messages, width)
}

impl<'a> Files<'a, '_> {
    fn source(&self, number: usize) -> Option<&Source<Cow<'a, str>>> {
        self.cut.get(&number).or_else(|| self.sources.sources.get(number).map(|shown| &shown.source))
    }

    /// Returns the places in the headings of the files, as ariadne writes them: the primary label's, and the first label's of all
    /// others.
    fn heads(&self, placed: &[Placed]) -> Vec<String> {
        let mut seen = BTreeMap::new();
        for label in placed.iter().filter(|label| label.is_primary).chain(placed) {
            seen.entry(label.span.0).or_insert(label.span.1.start);
        }
        let head = |(number, start): (usize, usize)| {
            let (_, line, column) = self.source(number)?.get_offset_line(start)?;
            let path = printable(self.sources.sources.get(number)?.path);
            Some(format!("{path}:{}:{}", line + 1, column + 1))
        };
        seen.into_iter().map(|place| head(place).unwrap_or_default()).collect()
    }

    /// Cuts the lines of the labels to the width, and moves the labels along.
    fn cut(&mut self, placed: &mut [Placed], width: usize) {
        let margin = self.margin(placed);
        for number in 0..self.sources.sources.len() {
            let (at, mut pieces): (Vec<usize>, Vec<Piece>) = placed
                .iter()
                .enumerate()
                .filter(|(_, label)| label.span.0 == number)
                .map(|(at, label)| {
                    (at, Piece { range: label.span.1.clone(), message: label.message.clone() })
                })
                .unzip();
            let Some(source) = self.source(number).filter(|_| !at.is_empty()) else { continue };
            let Some(text) = clip::clip(source, &mut pieces, width.saturating_sub(margin)) else {
                continue;
            };
            for (at, piece) in at.into_iter().zip(pieces) {
                placed[at].span.1 = piece.range;
            }
            self.cut.insert(number, Source::from(Cow::Owned(text)));
        }
    }

    /// Returns the columns before the text of a line: the line number, and the bars of labels over several lines.
    fn margin(&self, placed: &[Placed]) -> usize {
        let line = |number: usize, at: usize| {
            self.source(number).and_then(|source| source.get_offset_line(at)).map_or(0, |(_, line, _)| line)
        };
        let (mut digits, mut bars) = (1, 0);
        for Placed { span: (number, range), .. } in placed {
            let (first, last) =
                (line(*number, range.start), line(*number, range.end.saturating_sub(1).max(range.start)));
            digits = digits.max((last + 1).to_string().len());
            bars += usize::from(first != last);
        }
        let bars = if bars > 0 { 2 * (bars + 1) } else { 0 };
        digits + 4 + bars
    }
}

/// Draws labels, help, fixes and notes.
fn drawn(
    db: &dyn Db,
    diagnostic: &Diagnostic,
    config: Config,
    placed: &[Placed],
    files: &Files<'_, '_>,
) -> String {
    let main = match diagnostic.severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Performance => Color::Magenta,
        Severity::Note => Color::Cyan,
    };
    let primary = placed.iter().find(|label| label.is_primary).map_or((0, 0..0), |label| label.span.clone());
    let mut report = Report::build(ReportKind::Error, primary).with_config(
        ariadne::Config::new()
            .with_color(config.color)
            .with_char_set(if config.ascii { CharSet::Ascii } else { CharSet::Unicode })
            .with_index_type(IndexType::Char),
    );
    for label in placed {
        let (color, priority) = if label.is_primary { (main, 1) } else { (Color::Blue, 0) };
        let drawn = Drawn::new(label.span.clone()).with_color(color).with_priority(priority);
        report.add_label(drawn.with_message(&label.message));
    }
    // `Help 10: ` and the margin precede each line.
    let width = config.width.map(|width| width.saturating_sub(files.margin(placed) + "Help 10: ".len()));
    let words = |text: &str| fitted(&printable(text), width, "");
    report.with_helps(diagnostic.help.iter().map(|help| words(help)));
    report.with_helps(
        diagnostic.fixes.iter().map(|fix| printable(&suggestion::text(db, fix, width)).into_owned()),
    );
    report.with_notes(diagnostic.notes.iter().map(|note| words(note)));

    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let written = report.finish().write(files, &mut bytes);
    debug_assert!(written.is_ok());
    let text = String::from_utf8_lossy(&bytes);
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    body.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}
