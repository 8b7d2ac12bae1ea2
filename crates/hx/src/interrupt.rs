//! Ctrl-C: a command that can end in order is asked to, any other ends at once; either way the exit code is 130.
//!
//! A second Ctrl-C ends the process without further ado, and so does one whose command has not ended after a grace period.
//! Files of the cache are written whole or not at all, so an end at any time leaves them usable; the worker process sees
//! its input close and ends too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Exit;

/// How long a command may take to end in order.
const GRACE: Duration = Duration::from_secs(5);

static REQUESTED: AtomicBool = AtomicBool::new(false);
static ORDERLY: AtomicBool = AtomicBool::new(false);
/// A prompt ends by its own commands; Ctrl-C only ever ends an evaluation.
static PROMPT: AtomicBool = AtomicBool::new(false);

/// Takes charge of Ctrl-C. Where the system refuses, it ends the process as it always does.
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

/// The flag that becomes true at Ctrl-C. Whoever asks for it promises to look at it.
pub(crate) fn flag() -> &'static AtomicBool {
    ORDERLY.store(true, Ordering::Relaxed);
    &REQUESTED
}

/// The same for a prompt, which sets it back before each entry. The process never ends by Ctrl-C from then on.
pub(crate) fn prompt_flag() -> &'static AtomicBool {
    PROMPT.store(true, Ordering::Relaxed);
    &REQUESTED
}

/// Whether Ctrl-C was pressed.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

fn leave() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
