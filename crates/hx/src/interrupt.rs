//! Ctrl-C. A command that checks the flag ends in order; any other ends at once. Either way the exit code is 130. At a prompt,
//! Ctrl-C only stops the entry.
//!
//! A second Ctrl-C ends a command at once, and so does the end of the grace period. Files of the cache are written atomically,
//! so they stay usable whenever the process ends. The worker process ends when its input closes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Exit;

/// Time that a command has to end in order.
const GRACE: Duration = Duration::from_secs(5);

static REQUESTED: AtomicBool = AtomicBool::new(false);
static ORDERLY: AtomicBool = AtomicBool::new(false);
/// True at a prompt: Ctrl-C then only sets the flag, which stops the evaluation, and the process ends by a command of the prompt.
static PROMPT: AtomicBool = AtomicBool::new(false);

/// Installs the handler of Ctrl-C. If the system refuses, Ctrl-C ends the process as by default.
pub(crate) fn install() {
    let _ = ctrlc::set_handler(|| {
        if PROMPT.load(Ordering::Relaxed) {
            REQUESTED.store(true, Ordering::Relaxed);
            return;
        }
        if REQUESTED.swap(true, Ordering::Relaxed) || !ORDERLY.load(Ordering::Relaxed) {
            leave();
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            leave();
        });
    });
}

/// Returns the flag that Ctrl-C sets. The caller must check it regularly, because Ctrl-C no longer ends the process at once.
pub(crate) fn flag() -> &'static AtomicBool {
    ORDERLY.store(true, Ordering::Relaxed);
    &REQUESTED
}

/// Returns the flag of Ctrl-C. Until [`prompt_flag`] is called, Ctrl-C still ends the process at once.
pub(crate) fn later_flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Returns the flag for a prompt, which resets it before each entry. From then on Ctrl-C never ends the process.
pub(crate) fn prompt_flag() -> &'static AtomicBool {
    PROMPT.store(true, Ordering::Relaxed);
    &REQUESTED
}

/// Reports whether Ctrl-C was pressed.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

fn leave() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
