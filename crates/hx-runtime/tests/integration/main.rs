//! Tests the worker process with the real libraries.
//!
//! Tests that need the compiler library or a GPU are skipped if it is missing. Each skip writes a line `skipped: NAME: REASON` to
//! standard error. `HX_REQUIRE_NVRTC=1` and `HX_REQUIRE_GPU=1` make an absence a failure.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod compile;
mod launch;

use std::path::PathBuf;
use std::time::Duration;

use hx_worker::toolkit::SearchEnv;
use hx_worker::{Absence, Cache, CompileJob, Compiler, Limits, WorkerClient, WorkerCommand};

const LIMITS: Limits<'static> = Limits { deadline: Duration::from_secs(1200), cancelled: &|| false };

const COPY: &str = r#"
extern "C" __global__ void copy(float *to, const float *from, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) to[at] = from[at];
}
"#;

/// Returns the worker's command. `HX_TEST_WORKER` replaces the executable, for a test binary that was moved elsewhere.
fn command() -> WorkerCommand {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_hx-runtime-worker"));
    WorkerCommand::new(std::env::var_os("HX_TEST_WORKER").map_or_else(built, PathBuf::from))
}

fn worker() -> WorkerClient {
    WorkerClient::new(command())
}

fn search_env() -> SearchEnv {
    SearchEnv::of_process()
}

fn job(source: &str) -> CompileJob {
    CompileJob::new(source, "copy.hx::copy", "sm_90a")
}

/// Returns the compiler; without one, reports the reason and returns `None`.
fn compiler(test: &str, cache: Option<Cache>) -> Option<Compiler> {
    let compiler = Compiler::new(&search_env(), cache);
    match compiler.nvrtc() {
        Ok(_) => Some(compiler),
        Err(absence) => skip(test, absence, "HX_REQUIRE_NVRTC"),
    }
}

/// Reports why a test is skipped. It bypasses the capture of the test harness, which would hide the line.
#[expect(clippy::explicit_write, reason = "`eprintln` is captured")]
fn skip<T>(test: &str, absence: &Absence, required_by: &str) -> Option<T> {
    use std::io::Write;
    let required = std::env::var_os(required_by).is_some_and(|value| value == "1");
    assert!(!required, "{required_by} is set, but {absence}");
    writeln!(std::io::stderr(), "skipped: {test}: {absence} ({required_by})").unwrap();
    None
}
