//! The one place where salsa's cancellation becomes an error.

use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};

/// Why there is no answer: the question was withdrawn, or its text is not the current one any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// Whoever asked does not want the answer any more.
    Withdrawn,
    /// A newer text is waiting; asking again will answer for that.
    Outdated,
}

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cancelled::Withdrawn => "the request was withdrawn",
            Cancelled::Outdated => "the text has changed",
        })
    }
}

impl std::error::Error for Cancelled {}

/// An answer, unless it was cancelled.
pub type Cancellable<T> = Result<T, Cancelled>;

/// Runs a question. Other panics go on upwards.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn.
pub fn catch<T>(question: impl FnOnce() -> T) -> Cancellable<T> {
    catch_safe(AssertUnwindSafe(question))
}

fn catch_safe<T>(question: impl FnOnce() -> T + UnwindSafe) -> Cancellable<T> {
    match catch_unwind(question) {
        Ok(answer) => Ok(answer),
        Err(payload) => match payload.downcast::<salsa::Cancelled>() {
            Ok(cancelled) => Err(match *cancelled {
                salsa::Cancelled::Local => Cancelled::Withdrawn,
                _ => Cancelled::Outdated,
            }),
            Err(payload) => resume_unwind(payload),
        },
    }
}
