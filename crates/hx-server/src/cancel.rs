//! Cancels the query of a request.

use std::sync::{Arc, Mutex, PoisonError};

use salsa::CancellationToken;

/// Cancels the query of a request while it runs, or keeps it from starting.
#[derive(Clone, Default, Debug)]
pub(crate) struct CancelSlot(Arc<Mutex<Slot>>);

#[derive(Default, Debug)]
struct Slot {
    cancelled: bool,
    token: Option<CancellationToken>,
}

impl CancelSlot {
    pub(crate) fn cancel(&self) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.cancelled = true;
        if let Some(token) = &slot.token {
            token.cancel();
        }
    }

    /// Returns a guard that cancels the query when it is dropped.
    pub(crate) fn guard(&self) -> CancelGuard {
        CancelGuard(self.clone())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancelled
    }

    /// Registers a query that is about to run. Returns false if the request is already cancelled.
    pub(crate) fn begin(&self, token: CancellationToken) -> bool {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !slot.cancelled {
            slot.token = Some(token);
        }
        !slot.cancelled
    }

    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).token = None;
    }
}

/// Cancels the query when the future of its request, which holds this guard, is dropped: the protocol does so when the client
/// cancels.
pub(crate) struct CancelGuard(CancelSlot);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
