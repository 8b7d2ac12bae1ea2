//! The errors found so far.

use crate::error::{LowerError, Reported};

/// The errors found so far, each once, and whether a statement was left out.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<LowerError>,
    /// A statement was left out, because of an error reported here or by the item itself.
    failed: bool,
}

impl Diagnostics {
    /// Adds an error, unless it is known.
    pub(crate) fn add(&mut self, error: LowerError) -> Reported {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
        Reported(())
    }

    /// Records that a statement was left out.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Reports whether everything was lowered without an error.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors.is_empty() && !self.failed
    }

    /// Reports whether an error has this message.
    pub(crate) fn has(&self, message: &str) -> bool {
        self.errors.iter().any(|error| error.message == message)
    }

    /// Returns the last error, to be completed.
    pub(crate) fn last_mut(&mut self) -> Option<&mut LowerError> {
        self.errors.last_mut()
    }

    /// Returns the errors in the order in which they were found.
    pub(crate) fn into_errors(self) -> Vec<LowerError> {
        self.errors
    }
}
