//! Reads and writes files that the command line names, and reports failures.

use std::io::{Error, ErrorKind};
use std::path::Path;

use hx_base::codes;

use crate::Exit;
use crate::output::Output;

/// Reads a file as UTF-8 text, or reports why it cannot be read and returns the exit code.
pub(super) fn read(path: &Path, output: &Output) -> Result<String, Exit> {
    std::fs::read_to_string(path).map_err(|error| fault("open", path, &error, output))
}

/// Reads a source file.
///
/// # Errors
/// Those of the system, and for a pipe, a device, a file of more than `MAX_SOURCE_BYTES` or one that is not UTF-8.
pub(super) fn source(path: &Path) -> std::io::Result<String> {
    let bytes = hx_base::read_regular_file(path, hx_workspace::MAX_SOURCE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// Writes a file atomically, or reports why it cannot be written and returns the exit code.
pub(super) fn write(path: &Path, text: &str, output: &Output) -> Result<(), Exit> {
    hx_base::replace_file(path, text.as_bytes()).map_err(|error| fault("write", path, &error, output))
}

/// Reports a failed operation on a file; `what` is its verb, such as `open`, `read` or `write`. Returns `Exit::Bad`.
pub(super) fn fault(what: &str, path: &Path, error: &Error, output: &Output) -> Exit {
    let is_missing = error.kind() == ErrorKind::NotFound;
    let code = if is_missing && what == "open" { &codes::FILE_NOT_FOUND } else { &codes::IO_ERROR };
    let reason = match error.kind() {
        ErrorKind::NotFound if what == "open" => "there is no such file".to_owned(),
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    };
    output.placeless_parts(code, &format!("cannot {what} `{}`: {reason}", path.display()), &[], &[]);
    Exit::Bad
}
