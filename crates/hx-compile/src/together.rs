//! Work on several instances at the same time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use salsa::plumbing::{AsId, FromId};

use crate::{Db, Instance};

/// Stack of a thread, because the compiler's passes recurse into nested expressions. The memory is reserved, not committed.
const STACK: usize = 64 << 20;

/// Works on instances on as many threads as there are cores, and returns the results in their order. `work` receives the number of its
/// instance.
pub fn together<'db, T: Send + Sync>(
    db: &'db dyn Db,
    instances: &[Instance<'db>],
    work: &(dyn for<'a> Fn(&'a dyn Db, usize, Instance<'a>) -> T + Sync),
) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let ids: Vec<salsa::Id> = instances.iter().map(AsId::as_id).collect();
    let results: Vec<OnceLock<T>> = ids.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let share = |db: &dyn Db| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&id) = ids.get(at) else { return };
            // Each position is taken by one thread, which sets its result once.
            let _ = results[at].set(work(db, at, Instance::from_id(id)));
        }
    };
    std::thread::scope(|scope| {
        let helpers = (1..cores.min(ids.len())).filter_map(|_| {
            let (db, share) = (db.fork(), &share);
            // If a thread cannot be started, the remaining threads do its share.
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || share(&*db)).ok()
        });
        let helpers: Vec<_> = helpers.collect();
        share(db);
        for helper in helpers {
            // A cancelled query unwinds.
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}
