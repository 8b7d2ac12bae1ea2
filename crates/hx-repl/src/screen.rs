//! The output of a session: results, remarks and diagnostics, on two streams, or as data for a [`Display`].

use std::io::Write;

use hx_base::{Code, Db, Diagnostic, Severity};
use hx_host::show::Look;
use hx_host::{HostError, Value};
use hx_report::{Config, Format, Renderer};

use crate::style::{Picture, Style};
use crate::{draw, show};

/// Indentation of the lines after the first of a long remark.
const INDENT: &str = "    ";

/// One output of an entry. Texts have no line break at their end, except those of findings.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// A line that a program printed.
    Printed(&'a str),
    /// The answer of a command.
    Text(&'a str),
    /// The answer of a command that draws.
    Drawn(&'a [Picture]),
    /// The value of an entry.
    Value(&'a Picture),
    /// A line for the reader, which is no result.
    Remark(&'a str),
    Finding(Finding<'a>),
    /// An error in the use of a command.
    Usage(&'a str),
    /// Ctrl-C ended the entry.
    Interrupted,
}

/// A rendered diagnostic.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    pub code: &'static Code,
    pub severity: Severity,
    pub message: &'a str,
    /// The diagnostic in the format of the style, with a line break at its end.
    pub text: &'a str,
}

/// Takes the outputs of an entry, in order.
pub trait Display {
    /// Takes one output.
    fn show(&mut self, shown: Shown<'_>);
}

/// The place where a session shows its outputs.
pub struct Screen<'a> {
    display: Box<dyn Display + 'a>,
    style: Style,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// Makes a screen from two streams: one for results, one for all other output. Errors of writing are ignored.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, style: Style) -> Screen<'a> {
        Screen { display: Box::new(Streams { out, err, style }), style }
    }

    /// Makes a screen from a display, which gets outputs as data.
    pub fn of(display: &'a mut dyn Display, style: Style) -> Screen<'a> {
        Screen { display: Box::new(Borrowed(display)), style }
    }

    /// Makes a screen that discards all output.
    pub(crate) fn nowhere() -> Screen<'static> {
        Screen { display: Box::new(Nowhere), style: Style::default() }
    }

    /// Returns the style.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Shows a line that a program printed, with or without its newline.
    pub(crate) fn printed(&mut self, line: &str) {
        self.display.show(Shown::Printed(line.trim_end_matches('\n')));
    }

    /// Shows the answer of a command, which may have several lines.
    pub(crate) fn result(&mut self, text: &str) {
        self.display.show(Shown::Text(text.trim_end_matches('\n')));
    }

    /// Shows the words of an answer, broken at the width of the terminal.
    pub(crate) fn words(&mut self, text: &str) {
        let text = self.style.fitted(text, "");
        self.result(&text);
    }

    /// Shows drawings as the answer of a command.
    pub(crate) fn drawn(&mut self, pictures: &[Picture]) {
        self.display.show(Shown::Drawn(pictures));
    }

    /// Shows the value of an entry.
    pub(crate) fn value(&mut self, value: &Value, look: Look) {
        let text = show::value(value, self.style, look);
        let drawing = if self.style.pictures { draw::value(value, self.style) } else { None };
        self.display.show(Shown::Value(&Picture { text, drawing }));
    }

    /// Shows the page about a code as a result.
    pub(crate) fn explain(&mut self, code: &Code) {
        let config = Config { color: self.style.color, ascii: false, width: self.style.width() };
        self.result(&hx_report::explain(code, config));
    }

    /// Shows a line for people. With diagnostics in JSON it is left out.
    pub(crate) fn remark(&mut self, text: &str) {
        self.display.show(Shown::Remark(text));
    }

    /// Shows diagnostics with their places.
    pub(crate) fn diagnostics(&mut self, db: &dyn Db, found: &[Diagnostic]) {
        let format = self.style.format;
        let mut renderer = Renderer::new(db, self.config());
        for diagnostic in found {
            let text = hx_report::write(&mut renderer, diagnostic, format);
            let (code, severity) = (diagnostic.code, diagnostic.severity);
            self.display.show(Shown::Finding(Finding {
                code,
                severity,
                message: &diagnostic.message,
                text: &text,
            }));
        }
    }

    /// Returns the configuration of the renderer. JSON output never has colour.
    fn config(&self) -> Config {
        Config {
            color: self.style.diagnostics && self.style.format != Format::Json,
            ascii: false,
            width: self.style.width().filter(|_| self.style.format != Format::Json),
        }
    }

    /// Shows a diagnostic without a place.
    pub(crate) fn placeless(&mut self, error: &HostError) {
        let help: Vec<String> = error.help.iter().cloned().collect();
        self.report(error.code, &error.message, &error.notes, &help);
    }

    /// Shows a diagnostic without a place from its parts.
    pub(crate) fn report(&mut self, code: &'static Code, message: &str, notes: &[String], help: &[String]) {
        let text = hx_report::write_placeless(code, message, notes, help, self.config(), self.style.format);
        self.display.show(Shown::Finding(Finding { code, severity: code.severity, message, text: &text }));
    }

    /// Shows that Ctrl-C ended the entry.
    pub(crate) fn interrupted(&mut self) {
        self.display.show(Shown::Interrupted);
    }

    /// Shows an error in the use of a command.
    pub(crate) fn usage(&mut self, text: &str) {
        self.display.show(Shown::Usage(text));
    }
}

/// Two streams: one for results, one for all other output.
struct Streams<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    style: Style,
}

impl Streams<'_> {
    fn result(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end_matches('\n'));
        let _ = self.out.flush();
    }

    fn remark(&mut self, text: &str) {
        if self.style.format == Format::Json {
            return;
        }
        let _ = writeln!(self.err, "{}", self.style.fitted(text, INDENT));
        let _ = self.err.flush();
    }

    /// Writes a rendered diagnostic. JSON objects go to the stream of results.
    fn finding(&mut self, text: &str) {
        let stream = if self.style.format == Format::Json { &mut *self.out } else { &mut *self.err };
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.flush();
    }
}

impl Display for Streams<'_> {
    fn show(&mut self, shown: Shown<'_>) {
        match shown {
            Shown::Printed(text) | Shown::Text(text) => self.result(text),
            Shown::Value(picture) => self.result(&picture.text),
            Shown::Drawn(pictures) => {
                let texts: Vec<&str> = pictures.iter().map(|picture| picture.text.as_str()).collect();
                self.result(&texts.join("\n"));
            }
            Shown::Remark(text) => self.remark(text),
            Shown::Finding(finding) => self.finding(finding.text),
            Shown::Usage(text) => {
                let text = self.style.fitted(&format!("error: {text}"), INDENT);
                let _ = writeln!(self.err, "{text}");
                let _ = self.err.flush();
            }
            // In a terminal the key's echo is on the current line, so a new line begins first.
            Shown::Interrupted => {
                let start = if self.style.size.is_some() { "\n" } else { "" };
                self.remark(&format!("{start}interrupted"));
            }
        }
    }
}

/// A display that its caller keeps.
struct Borrowed<'a>(&'a mut dyn Display);

impl Display for Borrowed<'_> {
    fn show(&mut self, shown: Shown<'_>) {
        self.0.show(shown);
    }
}

struct Nowhere;

impl Display for Nowhere {
    fn show(&mut self, _: Shown<'_>) {}
}
