//! Reading files that are files: what a project holds may be a pipe that nobody writes to, or a device without an end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file for reading, if it is one. A link is followed.
///
/// # Errors
/// The system's error. A pipe, device or socket is an [`io::ErrorKind::InvalidInput`] that names its kind, and is not opened:
/// opening a pipe waits for a writer.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Another may have taken its place since.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a file, if it is one, and if it has no more than so many bytes.
///
/// # Errors
/// As [`open_regular_file`], and an error of kind [`io::ErrorKind::FileTooLarge`] for a longer one.
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
