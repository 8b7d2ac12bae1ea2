//! Panics of the compiler: caught at the top, written to a report file, exit code 101.

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use hx_base::codes;

use crate::Exit;
use crate::output::Output;

/// The message and backtrace of the last panic.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Records panics for the report, instead of printing the standard message, which would mix with diagnostics.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let text = info.payload().downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| info.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
        let report = format!("panicked at {place}:\n{text}\n\n{}\n", Backtrace::force_capture());
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }));
}

/// Runs a command. If it panics, writes and reports the panic, and returns `Exit::Bug`.
pub(crate) fn guard(output: &Output, command: impl FnOnce() -> Exit) -> ExitCode {
    match catch_unwind(AssertUnwindSafe(command)) {
        Ok(exit) => exit.into(),
        Err(_) => {
            report(output);
            Exit::Bug.into()
        }
    }
}

fn report(output: &Output) {
    let notes = write_report();
    let help = ["this is a bug of hx; please report it with that file and the program".to_owned()];
    output.placeless_parts(&codes::INTERNAL_ERROR, "the compiler panicked", &notes, &help);
}

/// Writes a report of the last panic to a file. Returns notes with the panic's message and the file's path.
pub(crate) fn write_report() -> Vec<String> {
    let panic = LAST.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    let args: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let version = env!("CARGO_PKG_VERSION");
    let text = format!("hx {version}\narguments: {args:?}\n\n{panic}");
    let mut notes: Vec<String> = panic.lines().take(2).map(str::to_owned).collect();
    notes.push(match write_new(&text) {
        Ok(path) => format!("the report is in `{}`", path.display()),
        Err(e) => format!("the report could not be written to `{}`: {e}", std::env::temp_dir().display()),
    });
    notes
}

/// Writes a new file and returns its path. The name is random, so nobody can have planted a file or link there.
///
/// # Errors
/// The system's error.
fn write_new(text: &str) -> std::io::Result<std::path::PathBuf> {
    let mut file = tempfile::Builder::new().prefix("hx-report-").suffix(".txt").tempfile()?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    Ok(file.keep()?.1)
}
