//! A session that reads entries from a stream. The parser determines where an entry ends.

use std::io::BufRead;

use hx_base::codes;
use hx_syntax::{Completeness, completeness};

use crate::entries::is_command;
use crate::screen::Screen;
use crate::session::{Outcome, Session};

/// Runs the entries of a stream in order. Stops at the first that fails, unless `keep_going`: then runs all entries and returns
/// the worst outcome. An interruption or `:quit` ends it in any case.
pub fn run_script(
    session: &mut Session,
    input: &mut dyn BufRead,
    keep_going: bool,
    screen: &mut Screen<'_>,
) -> Outcome {
    let mut worst = Outcome::Good;
    let mut entry = String::new();
    loop {
        let line = match read_line(input) {
            Ok(line) => line,
            Err(reason) => {
                screen.report(&codes::IO_ERROR, &format!("cannot read the input: {reason}"), &[], &[]);
                return worst.max(Outcome::Failed);
            }
        };
        let ended = line.is_none();
        let is_command = entry.is_empty() && line.as_deref().is_some_and(is_command);
        entry.push_str(line.as_deref().unwrap_or_default());
        if !ended && !is_command && completeness(&entry) == Completeness::Incomplete {
            continue;
        }
        let outcome = session.enter(&std::mem::take(&mut entry), screen);
        match outcome {
            Outcome::Quit => return worst,
            Outcome::Interrupted => return outcome,
            Outcome::Good => {}
            Outcome::Failed | Outcome::Environment => {
                worst = worst.max(outcome);
                if !keep_going {
                    return worst;
                }
            }
        }
        if ended {
            return worst;
        }
    }
}

/// Reads a line with its line end; `None` at the end of the input.
///
/// # Errors
/// If the stream cannot be read or is no UTF-8, as text.
fn read_line(input: &mut dyn BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    match input.read_until(b'\n', &mut bytes) {
        Ok(0) => Ok(None),
        Ok(_) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
