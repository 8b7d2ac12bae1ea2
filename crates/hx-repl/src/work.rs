//! Work that the user can abandon: it runs on its own thread, and the prompt waits until Ctrl-C or the deadline.
//!
//! The work ends at Ctrl-C and at its deadline ([`Until`]): kernels, host code and queries end when they next check it. Work that
//! does not end within [`PATIENCE`] after Ctrl-C, or within [`LATENESS`] after its deadline, is abandoned: it runs to its end on
//! values and a database handle that nobody else has, and its messages are dropped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use hx_base::interrupt::{Ended, Until};
use hx_workspace::Database;

/// Stack of the evaluation, in bytes. The compiler's passes recurse into nested expressions.
const STACK: usize = 256 << 20;
/// Interval at which the prompt checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(5);
/// Time to wait for work after Ctrl-C. With the steps before and after, a stop takes less than 100 ms.
const PATIENCE: Duration = Duration::from_millis(60);
/// Time to wait for work after its deadline. It is longer than [`PATIENCE`], because no user waits for a reaction to a key.
const LATENESS: Duration = Duration::from_secs(1);

/// Maximal number of waiting messages. Work that sends more waits for the prompt, so that a program that prints without end needs
/// no memory.
const QUEUE: usize = 1024;
/// Number of messages after which the prompt checks for Ctrl-C and for the end of the work.
const BATCH: usize = 256;

/// A message from running work.
#[derive(Debug)]
pub(crate) enum Said {
    /// A line that the program printed.
    Printed(String),
    /// A line for the user.
    Remark(String),
    /// The machine that runs kernels, if it is not the machine that was announced last.
    Machine(String),
    /// Diagnostics that do not end the work.
    Found(Vec<hx_base::Diagnostic>),
}

/// The handles that work gets: its stop flag, and the channel for its messages.
#[derive(Debug)]
pub(crate) struct Inside {
    pub stop: Arc<AtomicBool>,
    say: SyncSender<Said>,
}

impl Inside {
    pub(crate) fn say(&self, said: Said) {
        // If the work was abandoned, nobody receives its messages: ignore the failure.
        let _ = self.say.send(said);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The reason why work returned nothing.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// The work was stopped; its effects are discarded.
    Interrupted,
    /// The deadline ended the work; its effects are discarded.
    OutOfTime,
    /// The work panicked, which is a bug.
    Panicked(String),
}

/// Runs work on a snapshot of the database. `heard` receives its messages while it runs. The work ends at its deadline, or when
/// `interrupt` becomes true; work that does not end soon after is abandoned. While the work has its snapshot, `running` has a
/// strong reference.
///
/// # Errors
/// The reason why there is no result: the work was interrupted, ran out of time or panicked, or no thread can be made.
pub(crate) fn run<T: Send + 'static>(
    db: &Database,
    interrupt: &AtomicBool,
    deadline: Option<Instant>,
    running: Arc<()>,
    heard: &mut dyn FnMut(Said),
    work: impl FnOnce(&Database, &Inside) -> T + Send + 'static,
) -> Result<T, NoResult> {
    let snapshot = db.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let (say, said) = sync_channel(QUEUE);
    let (done, result) = channel();
    let inside = Inside { stop: Arc::clone(&stop), say };
    let body = move || {
        let until = Until { stop: &inside.stop, deadline };
        let guarded = || until.run(&snapshot, |db| work(db, &inside));
        let outcome = match catch_unwind(AssertUnwindSafe(guarded)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(Ended)) if inside.stopped() => Err(NoResult::Interrupted),
            Ok(Err(Ended)) => Err(NoResult::OutOfTime),
            Err(panic) => Err(NoResult::Panicked(panic_text(&*panic))),
        };
        // Release the database handle before sending the result: otherwise the next write to the database could wait for it.
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
        let pause = if drain(&said, heard, BATCH) { Duration::ZERO } else { POLL };
        match result.recv_timeout(pause) {
            Ok(outcome) => {
                // The work has ended, so no message comes after those that wait.
                drain(&said, heard, usize::MAX);
                // The work ended before the stop reached it: its result counts.
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
                asked = Some(Instant::now());
            }
            None if deadline.is_some_and(|at| at.elapsed() >= LATENESS) => return Err(NoResult::OutOfTime),
            Some(at) if at.elapsed() >= PATIENCE => return Err(NoResult::Interrupted),
            _ => {}
        }
    }
}

/// Passes at most `most` waiting messages to `heard`. Returns whether more may wait.
fn drain(said: &Receiver<Said>, heard: &mut dyn FnMut(Said), most: usize) -> bool {
    let waiting = said.try_iter().take(most).map(heard).count();
    waiting == most
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "no reason given".to_owned())
}
