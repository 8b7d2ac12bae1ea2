//! Renders diagnostics: drawn with source lines, one line each, or as JSON. Draws the counters of launches beside the lines that
//! caused them.
//!
//! This is the only user of ariadne.
//!
//! Invariant: the crate does not know where diagnostics and counters come from and writes to no stream; the caller chooses
//! streams and colour.
//!
//! Start at [`Renderer`] and [`short`], or at [`ReportForm`].

mod clip;
mod counters;
mod draw;
mod explain;
mod json;
mod place;
mod suggestion;
#[cfg(test)]
mod tests;
mod wrap;

use hx_base::{Code, Db, Diagnostic, Severity, printable};

pub use counters::{ReportForm, summed_counters};
pub use explain::explain;
use wrap::fitted;
pub use wrap::wrapped;

/// Options of drawings and of rendered messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Whether to use `|` and `-` instead of box-drawing characters.
    pub ascii: bool,
    /// Columns of the terminal: words are wrapped, and source lines are cut around their labels. `None` for an output that is no
    /// terminal.
    pub width: Option<usize>,
}

/// Draws diagnostics. It caches the lines of each file, so that drawing many diagnostics does not read the whole file for each.
pub struct Renderer<'a> {
    db: &'a dyn Db,
    config: Config,
    sources: draw::Sources<'a>,
}

impl std::fmt::Debug for Renderer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<'a> Renderer<'a> {
    /// Makes a renderer for the diagnostics of a database.
    pub fn new(db: &'a dyn Db, config: Config) -> Renderer<'a> {
        Renderer { db, config, sources: draw::Sources::default() }
    }

    /// Draws a diagnostic with its source lines, labels, notes, help and fixes. The text ends with a line break.
    pub fn render(&mut self, diagnostic: &Diagnostic) -> String {
        let mut text = header(diagnostic.code, diagnostic.severity, &diagnostic.message, self.config);
        text.push_str(&draw::snippets(self.db, diagnostic, self.config, &mut self.sources));
        text
    }

    /// Renders a diagnostic as a line of JSON that includes its drawing. The text ends with a line break.
    pub fn json(&mut self, diagnostic: &Diagnostic) -> String {
        let rendered = self.render(diagnostic);
        json::json(self.db, diagnostic, rendered)
    }
}

/// Draws a single diagnostic, without a cache of its files.
pub fn render(db: &dyn Db, diagnostic: &Diagnostic, config: Config) -> String {
    Renderer::new(db, config).render(diagnostic)
}

/// Returns one line with a line break: `path:line:column: error[HX0101]: message`. Lines and columns count from 1, columns in
/// characters.
pub fn short(db: &dyn Db, diagnostic: &Diagnostic) -> String {
    let at = place::position(db, diagnostic.primary.file, diagnostic.primary.range.start());
    let path = printable(diagnostic.primary.file.path(db));
    let plain = Config::default();
    format!(
        "{path}:{}:{}: {}",
        at.line,
        at.column,
        header(diagnostic.code, diagnostic.severity, &diagnostic.message, plain)
    )
}

/// Renders a finding without a place in a source file (there is no GPU, a path does not exist, ...), with its notes and help.
pub fn render_placeless(
    code: &Code,
    message: &str,
    notes: &[String],
    help: &[String],
    config: Config,
) -> String {
    let mut text = header(code, code.severity, message, config);
    for (word, lines) in [("note", notes), ("help", help)] {
        for line in lines {
            let start = format!("  = {word}: ");
            let text_width = config.width.map(|width| width.saturating_sub(start.len()));
            let indent = format!("\n{}", " ".repeat(start.len()));
            text.push_str(&format!(
                "{start}{}\n",
                fitted(&printable(line), text_width, "").replace('\n', &indent)
            ));
        }
    }
    text
}

/// The format in which findings are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Drawn with source lines, for people.
    #[default]
    Human,
    /// A line for each finding.
    Short,
    /// A JSON object on a line for each finding, for programs. These findings are results, so remarks for people are left out.
    Json,
}

/// Renders a finding in a format. The text ends with a line break.
pub fn write(renderer: &mut Renderer<'_>, diagnostic: &Diagnostic, format: Format) -> String {
    match format {
        Format::Human => format!("{}\n", renderer.render(diagnostic).trim_end()),
        Format::Short => short(renderer.db, diagnostic),
        Format::Json => renderer.json(diagnostic),
    }
}

/// Renders a finding without a place, in a format.
pub fn write_placeless(
    code: &Code,
    message: &str,
    notes: &[String],
    help: &[String],
    config: Config,
    format: Format,
) -> String {
    match format {
        Format::Human => render_placeless(code, message, notes, help, config),
        Format::Short => header(code, code.severity, message, Config::default()),
        Format::Json => {
            let child =
                |severity: &str, text: &String| serde_json::json!({ "severity": severity, "message": text });
            let notes_and_help =
                notes.iter().map(|n| child("note", n)).chain(help.iter().map(|h| child("help", h)));
            let object = serde_json::json!({
                "code": code.id,
                "name": code.name,
                "severity": code.severity.as_str(),
                "message": message,
                "spans": [],
                "children": notes_and_help.collect::<Vec<_>>(),
                "suggestions": [],
                "rendered": render_placeless(code, message, notes, help, Config::default()),
            });
            format!("{object}\n")
        }
    }
}

/// Returns the last line of a run: `2 errors, 1 warning, 3 performance notes`; `None` if there are none of these.
pub fn summary(diagnostics: &[Diagnostic]) -> Option<String> {
    let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let part = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{n} {word}s")),
    };
    let parts = [
        part(count(Severity::Error), "error"),
        part(count(Severity::Warning), "warning"),
        part(count(Severity::Performance), "performance note"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns `error[HX0101]: message` with a line break.
fn header(code: &Code, severity: Severity, message: &str, config: Config) -> String {
    let start = format!("{}[{}]", severity.as_str(), code.id);
    let text = fitted(&format!("{start}: {}", one_line(message)), config.width, "    ");
    if !config.color {
        return format!("{text}\n");
    }
    let color = match severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Performance => 35,
        Severity::Note => 36,
    };
    let message = text.strip_prefix(&start).unwrap_or(&text);
    format!("\x1b[1;{color}m{start}\x1b[0m\x1b[1m{message}\x1b[0m\n")
}

/// Joins the lines of a message, because a message drawn beside source must stay on its line.
fn one_line(message: &str) -> String {
    printable(message).split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
}
