//! Work that can be given up: it runs on a thread of its own, and the prompt waits for it only as long as it is wanted.
//!
//! Stopping takes three steps. The work's stop flag and its database's token are set, which ends kernels, host code and
//! queries at their next look. What does not look within [`PATIENCE`] is left behind: it runs to its end on values and a
//! database handle that nobody else has, and what it says is no longer heard.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use hx_workspace::Database;
use salsa::Database as _;

/// Expressions nest, and the passes of the compiler follow them.
const STACK: usize = 256 << 20;
/// How often the prompt looks for Ctrl-C.
const POLL: Duration = Duration::from_millis(5);
/// How long work that was asked to stop is waited for. With what comes before and after it, less than 100 ms.
const PATIENCE: Duration = Duration::from_millis(60);

/// What work says before it ends.
#[derive(Debug)]
pub(crate) enum Said {
    /// A line that the program printed.
    Printed(String),
    /// A line for people.
    Remark(String),
    /// The machine that runs kernels, when it is another than was told before.
    Machine(String),
    /// Findings that end nothing.
    Found(Vec<hx_base::Diagnostic>),
}

/// What work is given.
#[derive(Debug)]
pub(crate) struct Inside {
    pub stop: Arc<AtomicBool>,
    say: Sender<Said>,
}

impl Inside {
    pub(crate) fn say(&self, said: Said) {
        // Nobody listens to work that was left behind.
        let _ = self.say.send(said);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why work has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// It was told to stop; what it had done is gone with it.
    Interrupted,
    /// It panicked, which is a bug.
    Panicked(String),
}

/// Runs work on a snapshot of the database. `heard` takes what it says as it says it. The work is stopped when `interrupt`
/// becomes true. `running` is held as long as the work has its snapshot.
pub(crate) fn run<T: Send + 'static>(
    db: &Database,
    interrupt: &AtomicBool,
    running: Arc<()>,
    heard: &mut dyn FnMut(Said),
    work: impl FnOnce(&Database, &Inside) -> T + Send + 'static,
) -> Result<T, NoResult> {
    let snapshot = db.clone();
    let token = snapshot.cancellation_token();
    let stop = Arc::new(AtomicBool::new(false));
    let (say, said) = channel();
    let (done, result) = channel();
    let inside = Inside { stop: Arc::clone(&stop), say };
    let body = move || {
        let guarded = || salsa::Cancelled::catch(AssertUnwindSafe(|| work(&snapshot, &inside)));
        let outcome = match catch_unwind(AssertUnwindSafe(guarded)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) => Err(NoResult::Interrupted),
            Err(panic) => Err(NoResult::Panicked(panic_text(&*panic))),
        };
        // The handle goes before the answer: whoever writes to the database next must not wait for it.
        drop(snapshot);
        drop(running);
        drop(inside);
        let _ = done.send(outcome);
    };
    let spawned = std::thread::Builder::new().name("evaluation".to_owned()).stack_size(STACK).spawn(body);
    if let Err(error) = spawned {
        return Err(NoResult::Panicked(format!("no thread can be made: {error}")));
    }
    let mut asked: Option<Instant> = None;
    loop {
        drain(&said, heard);
        match result.recv_timeout(POLL) {
            Ok(outcome) => {
                drain(&said, heard);
                // What came too late to be stopped has happened.
                return outcome;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(NoResult::Panicked("the evaluation ended without a result".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        match asked {
            None if interrupt.load(Ordering::Relaxed) => {
                stop.store(true, Ordering::Relaxed);
                token.cancel();
                asked = Some(Instant::now());
            }
            Some(at) if at.elapsed() >= PATIENCE => return Err(NoResult::Interrupted),
            _ => {}
        }
    }
}

fn drain(said: &Receiver<Said>, heard: &mut dyn FnMut(Said)) {
    while let Ok(said) = said.try_recv() {
        heard(said);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "no reason given".to_owned())
}
