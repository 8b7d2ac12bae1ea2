//! Reads regular files only. A path in a project may be a pipe without a writer or an endless device.

#![allow(clippy::disallowed_methods, reason = "these functions are how all others read")]

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file for reading. A link is followed.
///
/// # Errors
/// The system's error, or [`io::ErrorKind::IsADirectory`] for a folder. A pipe, device or socket is an
/// [`io::ErrorKind::InvalidInput`] that names its kind. It is not opened, because opening a pipe waits for a writer.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Another file may have replaced the path since the first check.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// The errors of [`open_regular_file`], and an error of kind [`io::ErrorKind::FileTooLarge`] if the file is longer.
pub fn read_regular_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular_file(path)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let reason = format!("the file is larger than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

fn check(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, expected a file", kind_of(metadata))))
}

#[cfg(unix)]
fn kind_of(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind_of(_: &Metadata) -> &'static str {
    "something else"
}
