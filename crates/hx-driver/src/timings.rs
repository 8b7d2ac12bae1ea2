//! How long each stage of a kernel takes.

use std::time::{Duration, Instant};

use hx_base::SourceFile;
use hx_compile::{
    Db, Instance, cuda_source, default_instance, solution, synchronization, thread_program, tile_program,
};
use hx_hir::file_items;
use hx_target::Arch;

/// A stage: its name, and what runs it. None of them is done already when its turn comes.
type Stage = (&'static str, fn(&dyn Db, Instance<'_>));

const STAGES: &[Stage] = &[
    ("tile", |db, of| _ = tile_program(db, of)),
    ("layouts", |db, of| _ = solution(db, of)),
    ("thread", |db, of| _ = thread_program(db, of)),
    ("cuda", |db, of| _ = cuda_source(db, of)),
    ("sync", |db, of| _ = synchronization(db, of)),
];

/// How long the stages of one kernel took, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTimes {
    /// The path of its file.
    pub path: String,
    /// The kernel.
    pub kernel: String,
    /// Each stage with its time.
    pub stages: Vec<(&'static str, Duration)>,
}

/// Runs the stages of every default instance of a file, one after the other, on a database that has not run them. What comes before
/// them, names and types of the file, is not counted.
pub fn timings(db: &dyn Db, file: SourceFile, arch: Arch) -> Vec<KernelTimes> {
    hx_hir::file_diagnostics(db, file);
    let mut times = Vec::new();
    for kernel in file_items(db, file).kernels() {
        let Some(instance) = default_instance(db, kernel, arch) else { continue };
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
