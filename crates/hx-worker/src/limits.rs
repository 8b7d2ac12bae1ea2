//! The limits of a request: its time, and whether its caller has given it up.

use std::time::{Duration, Instant};

/// The time limit of a request, and its cancellation.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The time limit of the whole request, including the start of a worker.
    pub deadline: Duration,
    /// Polled while waiting. Returning true stops the worker.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Limits<'static> {
    /// Makes limits of this time, which nobody cancels.
    pub fn within(deadline: Duration) -> Limits<'static> {
        Limits { deadline, cancelled: &|| false }
    }
}

/// The limits of a request that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget<'a> {
    limits: Limits<'a>,
    start: Instant,
}

impl<'a> Budget<'a> {
    pub(crate) fn of(limits: &Limits<'a>) -> Budget<'a> {
        Budget { limits: *limits, start: Instant::now() }
    }

    /// Returns the time left; zero after the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.start.elapsed())
    }

    /// Returns the time limit of the whole request.
    pub(crate) fn deadline(&self) -> Duration {
        self.limits.deadline
    }

    /// Reports whether the caller has cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.limits.cancelled)()
    }
}
