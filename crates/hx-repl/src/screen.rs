//! Where results, remarks and diagnostics go, and whether in colour.

use std::io::Write;

use hx_base::{Code, Db, Diagnostic};
use hx_host::HostError;
use hx_report::{Config, Format, Renderer};

/// How text looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Results with ANSI colours.
    pub color: bool,
    /// Diagnostics with ANSI colours.
    pub diagnostics: bool,
    /// Columns and lines that a drawing may take; everything is drawn where nothing limits it.
    pub size: Option<(usize, usize)>,
    /// How findings are written.
    pub format: Format,
}

/// Two streams: results on one, everything else on the other. A stream that is gone ends nothing.
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
    /// A screen on two streams.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, style: Style) -> Screen<'a> {
        Screen { out, err, style }
    }

    /// How it looks.
    pub fn style(&self) -> Style {
        self.style
    }

    /// A result, which may have several lines.
    pub fn result(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end_matches('\n'));
        let _ = self.out.flush();
    }

    /// The page about a code, as a result.
    pub fn explain(&mut self, code: &Code) {
        self.result(&hx_report::explain(code, Config { color: self.style.color, ascii: false }));
    }

    /// A line for people; left out where findings are for programs.
    pub fn remark(&mut self, text: &str) {
        if self.style.format == Format::Json {
            return;
        }
        let _ = writeln!(self.err, "{text}");
        let _ = self.err.flush();
    }

    /// Findings with their places.
    pub fn diagnostics(&mut self, db: &dyn Db, found: &[Diagnostic]) {
        let format = self.style.format;
        let mut renderer = Renderer::new(db, self.config());
        for diagnostic in found {
            let text = hx_report::write(&mut renderer, diagnostic, format);
            self.finding(&text);
        }
    }

    /// Of what is drawn for other programs nothing has colour.
    fn config(&self) -> Config {
        Config { color: self.style.diagnostics && self.style.format != Format::Json, ascii: false }
    }

    /// A finding as text: objects for programs are results.
    fn finding(&mut self, text: &str) {
        let stream = if self.style.format == Format::Json { &mut *self.out } else { &mut *self.err };
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.flush();
    }

    /// A finding without a place.
    pub fn placeless(&mut self, error: &HostError) {
        let help: Vec<String> = error.help.iter().cloned().collect();
        self.report(error.code, &error.message, &error.notes, &help);
    }

    /// The same from its parts.
    pub fn report(&mut self, code: &Code, message: &str, notes: &[String], help: &[String]) {
        let text = hx_report::write_placeless(code, message, notes, help, self.config(), self.style.format);
        self.finding(&text);
    }

    /// That Ctrl-C ended something. A terminal has echoed the key on the line.
    pub fn interrupted(&mut self) {
        let start = if self.style.size.is_some() { "\n" } else { "" };
        self.remark(&format!("{start}interrupted"));
    }

    /// A mistake in a command.
    pub fn usage(&mut self, text: &str) {
        let _ = writeln!(self.err, "error: {text}");
        let _ = self.err.flush();
    }
}
