//! Turns salsa's cancellation into an error. No other module catches it.

use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};

/// The reason why there is no answer: the client withdrew the request, or its text is outdated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// The client no longer wants the answer.
    Withdrawn,
    /// A newer text is waiting: if the client asks again, it gets the answer for that text.
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

/// An answer, or the reason why it was cancelled.
pub type Cancellable<T> = Result<T, Cancelled>;

/// Runs a question, and converts a cancellation to an error. Other panics propagate.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
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
