//! The disk as a trait, so that everything below the command line can be tested, and an editor can overlay open buffers.

use std::{fmt, io, string::FromUtf8Error};

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirEntry {
    /// The name in its folder.
    pub name: String,
    /// Whether it is a folder. A link to a folder is not listed, because it may lead out of the project or to an enclosing
    /// folder.
    pub is_dir: bool,
}

/// The reason why reading failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemError {
    /// There is no such file or folder.
    NotFound,
    /// The file is not UTF-8 text: the byte at this offset, in bytes from the start, begins no character.
    NotText(usize),
    /// The name of the file is not UTF-8 text.
    NameNotText,
    /// Any other error, in the words of the operating system.
    Other(String),
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SystemError::NotFound => f.write_str("no such file or folder"),
            SystemError::NotText(at) => {
                write!(f, "the file is not UTF-8 text: the byte at offset {at} begins no character")
            }
            SystemError::NameNotText => {
                f.write_str("the name of the file is not UTF-8 text, so no module can name it: rename it")
            }
            SystemError::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SystemError {}

impl From<FromUtf8Error> for SystemError {
    fn from(error: FromUtf8Error) -> Self {
        SystemError::NotText(error.utf8_error().valid_up_to())
    }
}

impl From<io::Error> for SystemError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SystemError::NotFound,
            _ => SystemError::Other(error.to_string()),
        }
    }
}

/// The operations that the toolchain needs from the file system. Paths are separated by `/`; a relative one starts at the current
/// folder.
pub trait System: fmt::Debug + Send + Sync {
    /// Reads the text of a regular file. A pipe or a device is not opened.
    ///
    /// # Errors
    /// If there is no such file, it cannot be read, it is not regular, or it is not UTF-8.
    fn read_to_string(&self, path: &str) -> Result<String, SystemError>;

    /// Returns the entries of a folder, ordered by name.
    ///
    /// # Errors
    /// If there is no such folder, or it cannot be read.
    fn read_dir(&self, path: &str) -> Result<Vec<DirEntry>, SystemError>;

    /// Reports whether there is a file at this path.
    fn is_file(&self, path: &str) -> bool;

    /// Reports whether there is a folder at this path.
    fn is_dir(&self, path: &str) -> bool;

    /// Returns the current folder as an absolute path.
    fn current_dir(&self) -> String;
}
