//! Compiles every golden text for every architecture, or those that need it for `sm_90a`: the CUDA compiler must accept it without a warning, a spill or local
//! memory. If the compiler library is missing, the test is skipped with a line on standard error; `HX_REQUIRE_NVRTC=1` makes that
//! a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
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
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiler = Compiler::new(&SearchEnv::of_process(), None);
    if let Err(absence) = compiler.nvrtc() {
        let required = std::env::var_os("HX_REQUIRE_NVRTC").is_some_and(|v| v == "1");
        let absent = format!("skipped: nvrtc: {absence}");
        return if required { Err(vec![absent]) } else { Ok(absent) };
    }
    let mut worker = WorkerClient::new(WorkerCommand::new(std::env::current_exe().map_err(say)?).arg(WORKER));
    let mut failures = Vec::new();
    let mut texts = 0;
    for (folder, archs) in [("tests/golden", &Target::all()[..]), ("tests/golden_sm_90a", &[Target::usual()])]
    {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(crate_dir.join(folder))
            .and_then(|files| files.map(|f| f.map(|f| f.path())).collect())
            .map_err(say)?;
        paths.sort();
        texts += paths.len();
        for path in &paths {
            let text = std::fs::read_to_string(path).map_err(say)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            for target in archs {
                let compiled =
                    compiler.compile(&mut worker, &CompileJob::new(&text, &*name, target.name()), &LIMITS);
                let complaint = match compiled {
                    Ok(outcome) => complaint(&outcome.compiled),
                    Err(error) => Some(format!("{error:#?}")),
                };
                failures.extend(complaint.map(|c| format!("{name} for {target}: {c}")));
            }
        }
    }
    let passed = format!("{texts} texts compile for their architectures");
    if failures.is_empty() && texts > 0 { Ok(passed) } else { Err(failures) }
}

/// Returns the complaint about code that the compiler accepts, if there is one.
fn complaint(compiled: &Compiled) -> Option<String> {
    let [kernel] = compiled.kernels.as_slice() else {
        return Some(format!("not one kernel: {}", compiled.log));
    };
    let clean = compiled.warnings.is_empty()
        && kernel.stack_bytes == 0
        && kernel.spill_store_bytes == 0
        && kernel.spill_load_bytes == 0;
    (!clean).then(|| compiled.log.clone())
}
