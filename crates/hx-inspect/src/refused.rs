//! Findings of the CUDA compiler's assembler in PTX that the source writes.

use hx_base::{Diagnostic, codes};
use hx_codegen::{CudaSource, inlined_faults};
use hx_compile::{Db, Instance, tile_program};
use hx_worker::{CompileJob, Want};

/// Returns the findings of the assembler in the PTX of functions, at that PTX; none if the source of the kernel writes none, or if the
/// assembler was not reached. `log` is that of the compile that was refused. `ptx` compiles a job that wants the text that the assembler
/// reads.
pub fn refused_ptx<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    (source, log): (&CudaSource, &str),
    ptx: &mut dyn FnMut(&CompileJob) -> Option<Vec<u8>>,
) -> Vec<Diagnostic> {
    let is_error = |line: &&str| line.starts_with("ptxas") && line.contains("; error");
    let Some(first) = log.lines().find(is_error).filter(|_| !source.inlined.is_empty()) else {
        return Vec::new();
    };
    let job = CompileJob::of_kernel(source.text.clone(), &source.symbol, instance.target(db).name());
    let text = ptx(&CompileJob { want: Want::Ptx, ..job });
    let faults = text.map(|text| inlined_faults(log, &String::from_utf8_lossy(&text))).unwrap_or_default();
    let at = |function: &str, message: String| {
        let lowered = tile_program(db, instance).as_ref().ok()?;
        let origin = source.inlined.get(function)?;
        let (file, range) = lowered.sources.origins.get(origin.0 as usize)?.place.range(db)?;
        Some(Diagnostic::new(&codes::BAD_PTX, file, range, message))
    };
    let mut found: Vec<Diagnostic> = Vec::new();
    for (function, message) in &faults {
        let message = format!("the assembler of the CUDA compiler refuses this text: {message}");
        found.extend(at(function, message));
    }
    if found.is_empty() {
        for function in source.inlined.keys() {
            let message =
                "the assembler of the CUDA compiler refuses the kernel, and this text may be the reason";
            found.extend(at(function, message.to_owned()).map(|found| found.note(first)));
        }
    }
    found
}
