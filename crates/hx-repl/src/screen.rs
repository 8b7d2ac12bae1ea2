//! The output of results, remarks and diagnostics, with or without colour.

use std::io::Write;

use hx_base::{Code, Db, Diagnostic};
use hx_host::HostError;
use hx_report::{Config, Format, Renderer};

/// The style of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Colour results with ANSI escapes.
    pub color: bool,
    /// Colour diagnostics with ANSI escapes.
    pub diagnostics: bool,
    /// Maximal columns and lines of a drawing; `None` draws everything.
    pub size: Option<(usize, usize)>,
    /// The format of diagnostics.
    pub format: Format,
}

/// Two streams: one for results, one for all other output. Errors of writing are ignored.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    style: Style,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// Makes a screen from two streams.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, style: Style) -> Screen<'a> {
        Screen { out, err, style }
    }

    /// Returns the style.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Writes a result, which may have several lines.
    pub fn result(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end_matches('\n'));
        let _ = self.out.flush();
    }

    /// Writes the page about a code as a result.
    pub fn explain(&mut self, code: &Code) {
        self.result(&hx_report::explain(code, Config { color: self.style.color, ascii: false }));
    }

    /// Writes a line for people. With diagnostics in JSON it is left out.
    pub fn remark(&mut self, text: &str) {
        if self.style.format == Format::Json {
            return;
        }
        let _ = writeln!(self.err, "{text}");
        let _ = self.err.flush();
    }

    /// Writes diagnostics with their places.
    pub fn diagnostics(&mut self, db: &dyn Db, found: &[Diagnostic]) {
        let format = self.style.format;
        let mut renderer = Renderer::new(db, self.config());
        for diagnostic in found {
            let text = hx_report::write(&mut renderer, diagnostic, format);
            self.finding(&text);
        }
    }

    /// Returns the configuration of the renderer. JSON output never has colour.
    fn config(&self) -> Config {
        Config { color: self.style.diagnostics && self.style.format != Format::Json, ascii: false }
    }

    /// Writes a rendered diagnostic. JSON objects go to the stream of results.
    fn finding(&mut self, text: &str) {
        let stream = if self.style.format == Format::Json { &mut *self.out } else { &mut *self.err };
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.flush();
    }

    /// Writes a diagnostic without a place.
    pub fn placeless(&mut self, error: &HostError) {
        let help: Vec<String> = error.help.iter().cloned().collect();
        self.report(error.code, &error.message, &error.notes, &help);
    }

    /// Writes a diagnostic without a place from its parts.
    pub fn report(&mut self, code: &Code, message: &str, notes: &[String], help: &[String]) {
        let text = hx_report::write_placeless(code, message, notes, help, self.config(), self.style.format);
        self.finding(&text);
    }

    /// Writes that Ctrl-C ended the entry. In a terminal the key's echo is on the current line, so a new line begins first.
    pub fn interrupted(&mut self) {
        let start = if self.style.size.is_some() { "\n" } else { "" };
        self.remark(&format!("{start}interrupted"));
    }

    /// Writes an error in the use of a command.
    pub fn usage(&mut self, text: &str) {
        let _ = writeln!(self.err, "error: {text}");
        let _ = self.err.flush();
    }
}
