//! The worker process with the real compiler library; needs neither driver nor GPU.
//!
//! Without the library the tests that need it say `skipped: ...`; with `HX_REQUIRE_NVRTC=1` its absence is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::{Expect, expect};
use hx_worker::toolkit::SearchEnv;
use hx_worker::{
    Cache, CompileError, CompileJob, Compiler, Component, Limits, RemoteError, Want, WorkerClient,
    WorkerCommand, WorkerError, disassemble,
};

const COPY: &str = r#"
extern "C" __global__ void copy(float *to, const float *from, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) to[at] = from[at];
}
"#;

const LIMITS: Limits<'static> = Limits { deadline: Duration::from_secs(120), cancelled: &|| false };

fn worker() -> WorkerClient {
    WorkerClient::new(WorkerCommand::new(env!("CARGO_BIN_EXE_hx-runtime-worker")))
}

fn env() -> SearchEnv {
    SearchEnv::of_process(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// The compiler, or `None` with a line on the real standard error that the test harness does not swallow.
fn nvrtc(test: &str, cache: Option<Cache>) -> Option<Compiler> {
    let compiler = Compiler::new(&env(), cache);
    let Err(absence) = compiler.nvrtc() else { return Some(compiler) };
    let required = std::env::var_os("HX_REQUIRE_NVRTC").is_some_and(|value| value == "1");
    assert!(!required, "HX_REQUIRE_NVRTC is set, but {absence}");
    writeln!(std::io::stderr(), "skipped: {test}: {absence}").unwrap();
    None
}

fn job(source: &str) -> CompileJob {
    CompileJob::new(source, "copy.hx::copy", "sm_90a")
}

fn check(actual: &str, expected: &Expect) {
    expected.assert_eq(actual);
}

#[test]
fn a_kernel_compiles_without_a_gpu() {
    let Some(compiler) = nvrtc("a_kernel_compiles_without_a_gpu", None) else { return };
    let outcome = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap();
    assert!(outcome.compiled.code.starts_with(b"\x7fELF"));
    let [kernel] = outcome.compiled.kernels.as_slice() else { panic!("{}", outcome.compiled.log) };
    assert_eq!(kernel.symbol, "copy");
    assert!(kernel.registers > 0 && kernel.spill_store_bytes == 0, "{kernel:?}");
    assert_eq!(outcome.compiled.warnings, []);
    assert!(!outcome.from_cache);
}
