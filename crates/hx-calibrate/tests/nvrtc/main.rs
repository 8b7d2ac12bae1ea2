//! Compiles the texts of all probes for every architecture: the CUDA compiler must accept them without a warning or a spill. If the
//! compiler library is missing, the test is skipped with a line on standard error; `HX_REQUIRE_NVRTC=1` makes that a failure.
//! `HX_PROBES=FOLDER` keeps the machine code there, for a disassembler.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use hx_target::Target;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{CompileJob, Compiled, Compiler, Limits, WorkerClient, WorkerCommand};

const LIMITS: Limits<'static> = Limits { deadline: Duration::from_secs(120), cancelled: &|| false };

/// The argument that makes this program the worker.
const WORKER: &str = "--as-worker";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(WORKER) {
        return hx_runtime::serve(std::io::stdin(), std::io::stdout());
    }
    match check() {
        Ok(report) => {
            let _ = writeln!(std::io::stderr(), "{report}");
            ExitCode::SUCCESS
        }
        Err(failures) => {
            let _ = writeln!(std::io::stderr(), "failed: nvrtc\n{}", failures.join("\n"));
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<String, Vec<String>> {
    let say = |e: std::io::Error| vec![e.to_string()];
    let compiler = Compiler::new(&SearchEnv::of_process(), None);
    if let Err(absence) = compiler.nvrtc() {
        let required = std::env::var_os("HX_REQUIRE_NVRTC").is_some_and(|v| v == "1");
        let absent = format!("skipped: nvrtc: {absence}");
        return if required { Err(vec![absent]) } else { Ok(absent) };
    }
    let mut worker = WorkerClient::new(WorkerCommand::new(std::env::current_exe().map_err(say)?).arg(WORKER));
    let mut failures = Vec::new();
    let mut kernels = 0;
    for target in Target::all() {
        for (at, group) in hx_calibrate::probes(*target).iter().enumerate() {
            kernels += group.len();
            let name = format!("probes-{at}-{target}");
            let text = hx_calibrate::source(group);
            if let Some(folder) = std::env::var_os("HX_PROBES") {
                std::fs::write(std::path::Path::new(&folder).join(format!("{name}.cu")), &text)
                    .map_err(say)?;
            }
            let job = CompileJob::new(text, format!("{name}.cu"), target.name());
            match compiler.compile(&mut worker, &job, &LIMITS) {
                Ok(outcome) => {
                    failures.extend(complaint(&outcome.compiled).map(|c| format!("{name}: {c}")));
                    if let Some(folder) = std::env::var_os("HX_PROBES") {
                        let path = std::path::Path::new(&folder).join(format!("{name}.cubin"));
                        std::fs::write(path, &outcome.compiled.code).map_err(say)?;
                    }
                }
                Err(error) => failures.push(format!("{name}: {error:#?}")),
            }
        }
    }
    let passed = format!("{kernels} probes compile for their architectures");
    if failures.is_empty() && kernels > 0 { Ok(passed) } else { Err(failures) }
}

/// Returns the complaint about code that the compiler accepts, if there is one.
fn complaint(compiled: &Compiled) -> Option<String> {
    let warnings = compiled.warnings.iter().map(|warning| format!("{warning:?}"));
    let spills =
        compiled.kernels.iter().filter(|kernel| kernel.spill_store_bytes + kernel.spill_load_bytes > 0);
    let spilling = spills.map(|kernel| format!("{} spills", kernel.symbol));
    let all: Vec<String> = warnings.chain(spilling).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}
