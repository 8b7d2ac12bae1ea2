//! Measures the time of each compilation stage of a kernel.

use std::time::Duration;

use hx_base::SourceFile;
use hx_compile::{
    Db, Instance, cuda_source, default_instance, instance_diagnostics, solved, synchronization,
    thread_program, tile_program,
};
use hx_hir::file_items;
use hx_target::Target;
use web_time::Instant;

/// A stage: its name, and the query that runs it. No earlier stage runs the query of a later one.
type Stage = (&'static str, fn(&dyn Db, Instance<'_>));

const STAGES: &[Stage] = &[
    ("tile", |db, of| _ = tile_program(db, of)),
    ("layouts", |db, of| _ = solved(db, of)),
    ("thread", |db, of| _ = thread_program(db, of)),
    ("cuda", |db, of| _ = cuda_source(db, of)),
    ("sync", |db, of| _ = synchronization(db, of)),
    // Pipelines, padding, stores, and what else `hx check` says.
    ("checks", |db, of| _ = instance_diagnostics(db, of)),
];

/// The times of the stages of one kernel, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTimes {
    /// The path of its file.
    pub path: String,
    /// The kernel.
    pub kernel: String,
    /// Each stage with its time.
    pub stages: Vec<(&'static str, Duration)>,
}

/// Runs the stages of every default instance of a file one after the other. The database must not have run them before. Names and
/// types of the file are resolved first, and are not counted.
pub fn timings(db: &dyn Db, file: SourceFile, target: Target) -> Vec<KernelTimes> {
    hx_hir::file_diagnostics(db, file);
    let mut times = Vec::new();
    for kernel in file_items(db, file).kernels() {
        let Some(instance) = default_instance(db, kernel, target) else { continue };
        let timed = |(name, run): &Stage| {
            let begin = Instant::now();
            run(db, instance);
            (*name, begin.elapsed())
        };
        let stages = STAGES.iter().map(timed).collect();
        times.push(KernelTimes {
            path: file.path(db).to_owned(),
            kernel: kernel.name(db).to_string(),
            stages,
        });
    }
    times
}
