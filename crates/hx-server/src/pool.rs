//! The pool of readers: a fixed number of threads that each run one job at a time.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

/// Stack of a reader, in bytes. The compiler's passes recurse into nested expressions. The memory is reserved, not committed.
const STACK: usize = 256 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Its threads end after the pool is dropped and all jobs are done.
#[derive(Debug)]
pub(crate) struct Pool {
    jobs: mpsc::Sender<Job>,
}

impl Pool {
    /// Starts the threads. If the system refuses some, the pool is smaller.
    ///
    /// # Errors
    /// If the system refuses the first thread.
    pub(crate) fn new(threads: usize) -> std::io::Result<Pool> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for i in 0..threads {
            let queue = Arc::clone(&queue);
            let spawned =
                thread::Builder::new().name(format!("hx-reader-{i}")).stack_size(STACK).spawn(move || {
                    while let Some(job) = next(&queue) {
                        job()
                    }
                });
            match spawned {
                Err(error) if i == 0 => return Err(error),
                _ => {}
            }
        }
        Ok(Pool { jobs })
    }

    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // Jobs catch their own panics, so the threads never end early.
        let _ = self.jobs.send(Box::new(job));
    }
}

fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
