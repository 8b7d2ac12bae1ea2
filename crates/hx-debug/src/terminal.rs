//! The terminal: reads commands and shows answers until the session ends.

use std::io::{self, Write};

use hx_driver::Stepper;

use crate::console::Console;

/// A source of lines.
pub trait Lines {
    /// Returns the next line; `None` at the end.
    ///
    /// # Errors
    /// If the source cannot be read.
    fn next(&mut self) -> io::Result<Option<String>>;

    /// Reports whether the lines come from a script. If they do, the transcript repeats each line.
    fn is_script(&self) -> bool;
}

/// Reads commands until `quit` or the end of the lines. An empty line repeats the last command that moved.
///
/// # Errors
/// If a line cannot be read, or an answer cannot be written.
pub fn run_terminal(
    stepper: &mut Stepper<'_>,
    console: &mut Console,
    lines: &mut dyn Lines,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(console.greeting(stepper).as_bytes())?;
    let mut last = String::new();
    loop {
        out.flush()?;
        let Some(line) = lines.next()? else { return Ok(()) };
        if lines.is_script() {
            writeln!(out, "step> {line}")?;
        }
        let line = if line.trim().is_empty() { last.clone() } else { line };
        let answer = console.run(stepper, &line);
        if answer.quits {
            return Ok(());
        }
        out.write_all(answer.text.as_bytes())?;
        if answer.moved {
            last = line;
        }
    }
}
