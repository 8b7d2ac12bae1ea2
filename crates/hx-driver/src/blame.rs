//! Explains the wrong elements of a failed comparison by the kernel that wrote them: the operation, block, warp and thread, the
//! place in the inferred layout, and the regions that the block read.
//!
//! A test that fails runs once more with the same seed. The launch that wrote the compared tensor then runs on the simulator,
//! which records the accesses; earlier launches run where they ran before. So tests that pass cost nothing.

mod account;
mod definitions;
mod lines;
mod notes;
mod traits;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hx_base::Diagnostic;
use hx_host::eval::Suspect;
use hx_launch::{Launcher, Machine, Tuned};
use hx_workspace::Database;

use self::account::Account;
use crate::bounded::WorkLimit;

/// The largest tensor whose writes are recorded, in elements. A record takes 16 bytes for each.
const LARGEST: usize = 1 << 22;

/// The time after which the search for the writer of a wrong element ends.
const LIMIT: Duration = Duration::from_secs(10);

/// The settings of the run that failed.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'r> {
    /// The order of events on the simulator.
    pub order: u64,
    pub stop: &'r AtomicBool,
    pub timeout: Option<Duration>,
    pub tuned: Option<&'r Tuned>,
}

/// Runs a failed case once more, up to the launch that wrote the compared tensor, and adds to the failure what that launch did.
/// `again` evaluates the case with a launcher.
pub(crate) fn blame(
    db: &Database,
    machine: &Machine,
    settings: Settings<'_>,
    suspect: &Suspect,
    found: &mut Diagnostic,
    again: impl Fn(&Database, &mut Launcher<'_>),
) {
    let Settings { order, stop, timeout, tuned } = settings;
    if suspect.tensor.len() > LARGEST {
        return;
    }
    let limit = timeout.map_or(LIMIT, |timeout| timeout.min(LIMIT));
    let until = WorkLimit { stop, limit: Some(limit) }.from_now();
    let ran = until.run(db, |db| {
        let launcher = Launcher::new(db, machine, until).in_order(order).with_tuned(tuned);
        let mut launcher = launcher.watching(suspect);
        again(db, &mut launcher);
        let seen = launcher.seen()?;
        let account = Account::new(db, &seen, suspect)?;
        found.notes.extend(notes::notes(&account, machine.is_gpu()));
        found.secondary.extend(lines::labels(&account));
        Some(())
    });
    if !matches!(ran, Ok(Some(()))) && until.is_reached() && !stop.load(Ordering::Relaxed) {
        found.notes.push(format!(
            "the operation that wrote it was not found within {} s: a smaller shape shows it",
            limit.as_secs_f64()
        ));
    }
}
