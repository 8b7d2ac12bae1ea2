//! The two output streams, colour, and the formats of diagnostics. Other modules write to the streams themselves only for
//! progress lines, for the interactive commands `step` and `repl`, and for the commands that speak a protocol on them.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use hx_base::{Code, Db, Diagnostic, codes, printable};
use hx_host::HostError;
use hx_report::{Config, Format, Renderer};

use crate::cli::{Color, MessageFormat};

/// Diagnostics and tables are drawn for at least this many columns, however narrow the terminal is.
const NARROW: usize = 40;

/// The columns of a table if stdout is no terminal.
const COLUMNS: usize = 100;

/// True once a result could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// The colour and format of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    config: Config,
    format: Format,
}

impl Output {
    pub(crate) fn new(color: Color, format: MessageFormat) -> Output {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            // NO_COLOR counts with any non-empty value.
            Color::Auto if std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) => false,
            Color::Auto => set("CLICOLOR_FORCE") || std::io::stderr().is_terminal(),
        };
        let format = match format {
            MessageFormat::Human => Format::Human,
            MessageFormat::Short => Format::Short,
            MessageFormat::Json => Format::Json,
        };
        let width =
            console::Term::stderr().size_checked().map(|(_, columns)| usize::from(columns).max(NARROW));
        Output { config: Config { color, ascii: false, width }, format }
    }

    pub(crate) fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// Returns the number of columns for tables on stdout.
    pub(crate) fn columns(&self) -> usize {
        let size = console::Term::stdout().size_checked();
        size.map_or(COLUMNS, |(_, columns)| usize::from(columns).max(NARROW))
    }

    /// Prints a result. If the reader of stdout has gone, continues, so that the exit code still states the result.
    pub(crate) fn result(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        self.written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
    }

    /// Records the outcome of a write to stdout. The first failure other than a closed pipe is reported; a command that succeeds
    /// then exits with `Environment`.
    pub(crate) fn written(&self, outcome: std::io::Result<()>) {
        let Err(error) = outcome else { return };
        if error.kind() != std::io::ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
            // Never as JSON, because JSON goes to stdout, which just failed.
            self.error_text(&format!("error[{}]: cannot write to stdout: {error}\n", codes::IO_ERROR.id));
        }
    }

    /// Returns a writer to stdout for the session of `hx repl`, which prints its results itself.
    pub(crate) fn stdout(&self) -> Results<'_> {
        Results(self)
    }

    /// Reports whether a result could not be written.
    pub(crate) fn has_lost_results() -> bool {
        LOST.load(Ordering::Relaxed)
    }

    /// Prints the page about a code on stdout.
    pub(crate) fn explain(&self, code: &Code) {
        let is_terminal = std::io::stdout().is_terminal();
        let color = self.config.color && is_terminal;
        let width = self.config.width.filter(|_| is_terminal);
        self.result(&hx_report::explain(code, Config { color, width, ..self.config }));
    }

    /// Prints a line for people on stderr; nothing in JSON mode.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json() {
            self.error_text(&format!("{}\n", printable(text)));
        }
    }

    /// Reports whether stderr can show a progress line that is redrawn in place.
    pub(crate) fn draws(&self) -> bool {
        !self.json() && std::io::stderr().is_terminal()
    }

    /// Writes a line to stderr for people who look for faults: the log of a process that serves another one.
    pub(crate) fn log(text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "hx: {}", printable(text));
    }

    fn error_text(&self, text: &str) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Prints diagnostics with their places: as JSON on stdout, otherwise on stderr.
    pub(crate) fn diagnostics(&self, db: &dyn Db, diagnostics: &[Diagnostic]) {
        // JSON contains rendered text without colour.
        let config = if self.json() { Config::default() } else { self.config };
        let mut renderer = Renderer::new(db, config);
        for diagnostic in diagnostics {
            let text = hx_report::write(&mut renderer, diagnostic, self.format);
            match self.format {
                Format::Human => self.error_text(&format!("{text}\n")),
                Format::Short => self.error_text(&text),
                Format::Json => self.result(&text),
            }
        }
    }

    /// Prints `2 errors, 1 warning`.
    pub(crate) fn summary(&self, diagnostics: &[Diagnostic]) {
        if let Some(text) = hx_report::summary(diagnostics) {
            self.remark(&text);
        }
    }

    /// Prints an error that has no place in a file.
    pub(crate) fn placeless(&self, error: &HostError) {
        let help: Vec<String> = error.help.iter().cloned().collect();
        self.placeless_parts(error.code, &error.message, &error.notes, &help);
    }

    pub(crate) fn placeless_parts(&self, code: &Code, message: &str, notes: &[String], help: &[String]) {
        let text = hx_report::write_placeless(code, message, notes, help, self.config, self.format);
        if self.json() { self.result(&text) } else { self.error_text(&text) }
    }

    /// Prints an error in the command line that the flags' parser cannot detect.
    pub(crate) fn usage(&self, text: &str) {
        self.error_text(&format!("error: {}\n\nFor more information, try '--help'.\n", printable(text)));
    }

    /// Reports whether results on stdout are coloured.
    pub(crate) fn colors(&self) -> bool {
        self.config.color && std::io::stdout().is_terminal()
    }

    /// Returns the style of the REPL session.
    pub(crate) fn style(&self) -> hx_repl::Style {
        let color = self.colors();
        hx_repl::Style {
            color,
            diagnostics: self.config.color,
            size: None,
            pictures: false,
            format: self.format,
        }
    }

    /// Colours a word in the results of tests, green if it is good and red otherwise; unchanged without colours.
    pub(crate) fn paint(&self, text: &str, good: bool) -> String {
        if self.colors() {
            let color = if good { 32 } else { 31 };
            return format!("\x1b[{color}m{text}\x1b[0m");
        }
        text.to_owned()
    }
}

/// A writer to stdout that records failures.
pub(crate) struct Results<'a>(&'a Output);

impl std::io::Write for Results<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.written(std::io::stdout().lock().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.written(std::io::stdout().lock().flush());
        Ok(())
    }
}
