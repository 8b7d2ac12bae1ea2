//! The memory limit of host values.
//!
//! Memory belongs to the process, so the limit and the memory in use are counted for all evaluations together. A computation
//! asks before it allocates, because running out of memory would end the process. Start at [`claim`].

use std::sync::atomic::{AtomicU64, Ordering};

use hx_base::{codes, limits};

use crate::error::{HostError, HostResult};

/// The default limit of host values: 4 GiB.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

static LIMIT: AtomicU64 = AtomicU64::new(DEFAULT_LIMIT);
/// The bytes of all live tensors, strings, tuples and lists.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Sets the limit in bytes.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Returns the limit in bytes.
pub fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Checks that memory may be allocated; it allocates nothing. `bytes` is `None` if their number overflows. `what` names the
/// memory, as in "a tensor of shape [4, 4]".
///
/// # Errors
/// If the live values leave less than `bytes` below the limit, or the machine does not have that much.
pub(crate) fn claim(bytes: Option<usize>, what: impl FnOnce() -> String) -> HostResult<()> {
    within(bytes, HELD.load(Ordering::Relaxed), limit(), what)
}

fn within(bytes: Option<usize>, held: u64, limit: u64, what: impl FnOnce() -> String) -> HostResult<()> {
    let room = limit.saturating_sub(held);
    // A reservation asks the system without touching the memory.
    let reserves = |bytes: usize| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    match bytes {
        Some(bytes) if bytes as u64 <= room && reserves(bytes) => Ok(()),
        Some(bytes) if bytes as u64 > room => {
            let message = format!(
                "found {}, which takes {} to compute with, expected at most {} more",
                what(),
                limits::byte_text(bytes as u64),
                limits::byte_text(room)
            );
            let error = HostError::new(&codes::MEMORY_LIMIT, message)
                .note(format!("the values of this process may take {} together", limits::byte_text(limit)));
            Err(error.help("`--memory SIZE` changes the limit, as in `--memory 16GiB`"))
        }
        _ => Err(HostError::new(&codes::MEMORY_LIMIT, format!("{} is too large for this machine", what()))),
    }
}

/// Counts the bytes of a value as memory in use until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation(u64);

impl Reservation {
    pub(crate) fn new(bytes: usize) -> Reservation {
        HELD.fetch_add(bytes as u64, Ordering::Relaxed);
        Reservation(bytes as u64)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::within;

    #[test]
    fn what_others_hold_counts() {
        let tensor = || "a tensor of shape [1024]".to_owned();
        assert!(within(Some(8 << 10), 0, 8 << 10, tensor).is_ok());
        let error = within(Some(8 << 10), 1 << 10, 8 << 10, tensor).map_err(|e| e.message);
        expect![[r#"
            Err(
                "found a tensor of shape [1024], which takes 8 KiB to compute with, expected at most 7 KiB more",
            )
        "#]]
        .assert_debug_eq(&error);
        assert!(within(None, 0, u64::MAX, tensor).is_err());
    }
}
