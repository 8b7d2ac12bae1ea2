//! Ends work early, because somebody asked for it or because its time is over.
//!
//! Work runs inside [`Until::run`]. A watcher thread looks at the clock and at the caller's flag. When the work must end, the
//! watcher cancels the work's queries and raises a flag, which [`look`] reads in loops on the thread of the work, and [`Flag`] on
//! other threads. In both cases the work unwinds, as salsa's queries do, and `run` catches the unwinding. So one mechanism ends
//! queries, host arithmetic and launches.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use salsa::{Cancelled, Database};
use web_time::Instant;

/// The interval at which the watcher thread looks at the clock and at the caller's flag.
const POLL: Duration = Duration::from_millis(5);

thread_local! {
    /// The flag of the work that runs on this thread.
    static CURRENT: RefCell<Flag> = RefCell::default();
}

/// The condition that ends some work: `stop` is true, or the time has reached `deadline`. Without a deadline, only `stop` ends it.
#[derive(Clone, Copy, Debug)]
pub struct Until<'a> {
    pub stop: &'a AtomicBool,
    pub deadline: Option<Instant>,
}

/// The work was ended before it had a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended;

/// A flag that is raised when the work of a thread must end. The threads that help this work may have a copy. Outside of
/// [`Until::run`] the flag is never raised.
#[derive(Clone, Default, Debug)]
pub struct Flag(Option<Arc<AtomicBool>>);

impl Flag {
    /// Returns the flag of the work that runs on this thread.
    pub fn current() -> Flag {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Reports whether the work must end. A raised flag stays raised.
    pub fn is_raised(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Unwinds if the work of this thread must end. Call this function in loops that take longer than a few milliseconds.
pub fn look() {
    if CURRENT.with_borrow(Flag::is_raised) {
        // `resume_unwind` calls no panic hook, so no panic is reported.
        resume_unwind(Box::new(Cancelled::Local));
    }
}

/// Runs a part of some work and catches its interruption, so that the caller can say where the work ended.
///
/// # Errors
/// If the part was interrupted. The caller must then end the rest of the work, too.
pub fn catch<T>(part: impl FnOnce() -> T) -> Result<T, Ended> {
    match Cancelled::catch(AssertUnwindSafe(part)) {
        Ok(value) => Ok(value),
        Err(Cancelled::Local) => Err(Ended),
        // A newer text is waiting, or another thread panicked. The owner of the database handles both.
        Err(other) => resume_unwind(Box::new(other)),
    }
}

impl Until<'_> {
    /// Reports whether `stop` is true or the deadline has passed.
    pub fn is_reached(self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Runs work and ends it when the condition is met. The work has a database handle of its own, so no other work on the
    /// database is cancelled. Work that runs inside of other work ends with the outer work, too. Where no thread can be started,
    /// as in a browser, nothing looks at the clock: the page ends its worker instead.
    ///
    /// # Errors
    /// If the work was interrupted. Work that catches the interruption by [`catch`] and then returns a value is no error.
    pub fn run<D: Database + Clone, T>(self, db: &D, work: impl FnOnce(&D) -> T) -> Result<T, Ended> {
        let handle = db.clone();
        let token = handle.cancellation_token();
        let outer = Flag::current();
        let raised = Arc::new(AtomicBool::new(false));
        let done = AtomicBool::new(false);
        let watch = || {
            while !done.load(Ordering::Acquire) {
                if self.is_reached() || outer.is_raised() {
                    raised.store(true, Ordering::Relaxed);
                    // The request is made again in each round, because a query that ends in the meantime clears it.
                    token.cancel();
                }
                std::thread::park_timeout(POLL);
            }
        };
        std::thread::scope(|scope| {
            let watcher = std::thread::Builder::new().spawn_scoped(scope, watch).ok();
            let _ending = Ending { done: &done, watcher: watcher.map(|watcher| watcher.thread().clone()) };
            let _inside = Inside(CURRENT.replace(Flag(Some(Arc::clone(&raised)))));
            catch(|| work(&handle))
        })
    }
}

/// Ends the watcher thread when it is dropped, also when the work panics.
struct Ending<'a> {
    done: &'a AtomicBool,
    watcher: Option<std::thread::Thread>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(watcher) = &self.watcher {
            watcher.unpark();
        }
    }
}

/// Restores the flag of the outer work when it is dropped.
struct Inside(Flag);

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use salsa::Database as _;
    use web_time::Instant;

    use super::{Ended, Flag, Until, catch, look};
    use crate::testing::TestDb;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn soon() -> Until<'static> {
        Until { stop: &NEVER, deadline: Some(Instant::now() + Duration::from_millis(20)) }
    }

    fn endless() {
        loop {
            look();
        }
    }

    #[test]
    fn loops_and_queries_end() {
        let db = TestDb::default();
        assert_eq!(soon().run(&db, |_| endless()), Err(Ended));
        let queries = |db: &TestDb| {
            loop {
                db.unwind_if_revision_cancelled();
            }
        };
        assert_eq!(soon().run(&db, queries), Err::<(), Ended>(Ended));
        // The work catches the interruption of its part, and goes on to say where it was.
        assert_eq!(soon().run(&db, |_| catch(endless)), Ok(Err(Ended)));
        assert_eq!(Until { stop: &NEVER, deadline: None }.run(&db, |_| 1), Ok(1));
        // Outside of `run`, no work ends.
        look();
        db.unwind_if_revision_cancelled();
        assert!(!Flag::current().is_raised());
    }

    #[test]
    fn the_flag_of_the_caller_ends_work_inside_work_and_on_other_threads() {
        let stop = AtomicBool::new(false);
        let db = TestDb::default();
        let outer = Until { stop: &stop, deadline: None };
        let ended = outer.run(&db, |db| {
            let inner = Until { stop: &NEVER, deadline: None }.run(db, |_| {
                let flag = Flag::current();
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        stop.store(true, Ordering::Relaxed);
                        while !flag.is_raised() {
                            std::thread::yield_now();
                        }
                    });
                });
                look();
            });
            assert_eq!(inner, Err(Ended));
            endless();
        });
        assert_eq!(ended, Err(Ended));
    }
}
