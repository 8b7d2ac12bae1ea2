//! Diagnostics as text: drawn with source lines, one line each, or JSON.
//!
//! This is the only user of ariadne. It does not know where diagnostics come from and writes to no stream; whoever calls
//! it decides about streams and colour. Start at [`render`], [`short`] and [`json`].

mod draw;
mod json;
mod place;
mod suggestion;
#[cfg(test)]
mod tests;

use hx_base::{Code, Db, Diagnostic, Severity};

pub use json::json;

/// How the drawing looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// With ANSI colours.
    pub color: bool,
    /// With `|` and `-` instead of box-drawing characters.
    pub ascii: bool,
}

/// A diagnostic with its source lines, labels, notes, help and fixes; several lines, the last one ended.
pub fn render(db: &dyn Db, diagnostic: &Diagnostic, config: Config) -> String {
    let mut text = header(diagnostic.code, diagnostic.severity, &diagnostic.message, config);
    text.push_str(&draw::snippets(db, diagnostic, config));
    text
}

/// One ended line: `path:line:column: error[HX0101]: message`. Lines and columns count from 1, columns in characters.
pub fn short(db: &dyn Db, diagnostic: &Diagnostic) -> String {
    let at = place::position(db, diagnostic.primary.file, diagnostic.primary.range.start());
    let path = diagnostic.primary.file.path(db);
    let plain = Config::default();
    format!(
        "{path}:{}:{}: {}",
        at.line,
        at.column,
        header(diagnostic.code, diagnostic.severity, &diagnostic.message, plain)
    )
}

/// A finding that has no place in a source file (there is no GPU, a path does not exist, ...), with its notes and help.
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
            text.push_str(&format!("  = {word}: {}\n", line.replace('\n', "\n          ")));
        }
    }
    text
}

/// The last line of a run: `2 errors, 1 warning`; nothing where there is neither.
pub fn summary(diagnostics: &[Diagnostic]) -> Option<String> {
    let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let part = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{n} {word}s")),
    };
    let parts = [part(count(Severity::Error), "error"), part(count(Severity::Warning), "warning")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `error[HX0101]: message`, ended.
fn header(code: &Code, severity: Severity, message: &str, config: Config) -> String {
    let message = one_line(message);
    if !config.color {
        return format!("{}[{}]: {message}\n", severity.as_str(), code.id);
    }
    let color = match severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Note => 36,
    };
    format!("\x1b[1;{color}m{}[{}]\x1b[0m\x1b[1m: {message}\x1b[0m\n", severity.as_str(), code.id)
}

/// A message drawn beside others must stay on its line.
fn one_line(message: &str) -> String {
    message.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
}
