//! Files that the command line names, and how their faults are told.

use std::io::{Error, ErrorKind};
use std::path::Path;

use hx_base::codes;

use crate::Exit;
use crate::output::Output;

/// The text of a file; what keeps it from being read is told.
pub(super) fn read(path: &Path, output: &Output) -> Result<String, Exit> {
    std::fs::read_to_string(path).map_err(|error| fault("open", path, &error, output))
}

/// Writes a file; what keeps it from being written is told.
pub(super) fn write(path: &Path, text: &str, output: &Output) -> Result<(), Exit> {
    std::fs::write(path, text).map_err(|error| fault("write", path, &error, output))
}

/// Tells that something could not be done with a file.
pub(super) fn fault(what: &str, path: &Path, error: &Error, output: &Output) -> Exit {
    let is_missing = error.kind() == ErrorKind::NotFound;
    let code = if is_missing && what == "open" { &codes::FILE_NOT_FOUND } else { &codes::IO_ERROR };
    let reason = match error.kind() {
        ErrorKind::NotFound if what == "open" => "there is no such file".to_owned(),
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is no UTF-8 text".to_owned(),
        _ => error.to_string(),
    };
    output.placeless_parts(code, &format!("cannot {what} `{}`: {reason}", path.display()), &[], &[]);
    Exit::Bad
}
