//! Work on all cores.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Stack of a thread, because the compiler's passes recurse into nested expressions. The memory is reserved, not committed.
const STACK: usize = 256 << 20;

/// Works on the numbers below `count` on as many threads as there are cores, this thread among them, and returns the results in the
/// order of the numbers. Each thread has a context of its own, such as a snapshot of a database.
///
/// # Panics
/// If `work` panics; a cancelled query unwinds through here.
pub fn on_all_cores<C: Send, T: Send + Sync>(
    count: usize,
    context: &dyn Fn() -> C,
    work: &(dyn Fn(&C, usize) -> T + Sync),
) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let share = |context: &C| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(at) else { return };
            // Each number is taken by one thread, which sets its result once.
            let _ = result.set(work(context, at));
        }
    };
    std::thread::scope(|scope| {
        let helpers = (1..cores.min(count)).filter_map(|_| {
            let (context, share) = (context(), &share);
            // If a thread cannot be started, the remaining threads do its share.
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || share(&context)).ok()
        });
        let helpers: Vec<_> = helpers.collect();
        share(&context());
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::on_all_cores;

    #[test]
    fn results_have_the_order_of_their_numbers() {
        let squares = on_all_cores(1000, &|| 3, &|context, at| context * at * at);
        assert_eq!(squares, (0..1000).map(|at| 3 * at * at).collect::<Vec<usize>>());
        assert_eq!(on_all_cores(0, &|| (), &|(), at| at), []);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let run = || on_all_cores(100, &|| (), &|(), at| assert!(at != 7, "seven"));
        let panic = std::panic::catch_unwind(run).expect_err("7 panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"seven"));
    }
}
