//! Counts of what the calls of this process have done, for `hx.counters()`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that threads increase.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Instances whose code was made: by the CUDA compiler, or for the simulator.
    pub(crate) compiles: Count,
    /// Instances whose code came from the cache on disk.
    pub(crate) cache_hits: Count,
    /// Launches that were bound and checked from the kernel's text.
    pub(crate) plans: Count,
    /// Launches through a plan that existed.
    pub(crate) plan_hits: Count,
    pub(crate) launches: Count,
}

impl Counters {
    /// Returns the counts with their names in Python.
    pub(crate) fn all(&self) -> [(&'static str, u64); 5] {
        let Counters { compiles, cache_hits, plans, plan_hits, launches } = self;
        [
            ("compiles", compiles.get()),
            ("cache_hits", cache_hits.get()),
            ("plans", plans.get()),
            ("plan_hits", plan_hits.get()),
            ("launches", launches.get()),
        ]
    }
}
