//! The reason why a path cannot be opened.

use hx_base::{Code, SystemError, codes};

/// The reason why a path cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError {
    /// The path as the caller wrote it, or the path of the unreadable file below it.
    pub path: String,
    /// The error of the file system.
    pub reason: SystemError,
}

impl OpenError {
    /// Returns the code under which the error is reported.
    pub fn code(&self) -> &'static Code {
        match self.reason {
            SystemError::NotFound => &codes::FILE_NOT_FOUND,
            SystemError::NotText(_) | SystemError::NameNotText | SystemError::Other(_) => &codes::IO_ERROR,
        }
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot open `{}`: {}", self.path, self.reason)
    }
}

impl std::error::Error for OpenError {}
