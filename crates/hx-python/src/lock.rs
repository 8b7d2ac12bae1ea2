//! Locks of state that a thread's panic leaves usable.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks state that stays usable if a thread panicked in it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
