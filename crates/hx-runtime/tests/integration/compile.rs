//! Tests compiling, which needs neither driver nor GPU.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use hx_worker::protocol::PROTOCOL_VERSION;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{
    Cache, CompileError, Compiler, Component, RemoteError, Want, WorkerClient, WorkerCommand, WorkerError,
    disassemble,
};

use crate::{COPY, LIMITS, command, compiler, job, search_env, skip, worker};

/// Returns a client whose worker cannot start, so that every use of it fails.
fn no_worker() -> WorkerClient {
    WorkerClient::new(WorkerCommand::new("/nowhere/hx"))
}

/// Checks the compiler's log for a text that it refuses.
fn check_refused(test: &str, source: &str, expected: &Expect) {
    let Some(compiler) = compiler(test, None) else { return };
    match compiler.compile(&mut worker(), &job(source), &LIMITS) {
        Err(CompileError::Refused { file_name, status, log }) => {
            assert_eq!(file_name, "copy.hx::copy");
            expected.assert_eq(&format!("{status}\n{}", log.replace('\t', "  ")));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_compiles_without_a_gpu() {
    let Some(compiler) = compiler("a_kernel_compiles_without_a_gpu", None) else { return };
    let outcome = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap();
    assert!(outcome.compiled.code.starts_with(b"\x7fELF"));
    let [kernel] = outcome.compiled.kernels.as_slice() else { panic!("{}", outcome.compiled.log) };
    assert_eq!(kernel.symbol, "copy");
    assert!(kernel.registers > 0 && kernel.spill_store_bytes == 0, "{kernel:?}");
    assert_eq!(outcome.compiled.warnings, []);
    assert!(!outcome.from_cache);
}

#[test]
fn ptx_comes_from_a_virtual_architecture() {
    let Some(compiler) = compiler("ptx_comes_from_a_virtual_architecture", None) else { return };
    let mut job = job(COPY);
    job.want = Want::Ptx;
    let outcome = compiler.compile(&mut worker(), &job, &LIMITS).unwrap();
    let text = String::from_utf8(outcome.compiled.code).unwrap();
    assert!(text.contains(".target sm_90a") && text.contains(".visible .entry copy("), "{text}");
    assert_eq!(outcome.compiled.kernels, []);
}

#[test]
fn every_architecture_of_the_road() {
    let Some(compiler) = compiler("every_architecture_of_the_road", None) else { return };
    let mut worker = worker();
    for arch in ["sm_80", "sm_89", "sm_90a"] {
        let mut job = job(COPY);
        job.arch = arch.to_owned();
        let outcome = compiler.compile(&mut worker, &job, &LIMITS).unwrap();
        assert!(outcome.compiled.log.contains(arch), "{}", outcome.compiled.log);
    }
    assert_eq!(worker.starts(), 1);
}

#[test]
fn a_refused_text_comes_with_the_log() {
    check_refused(
        "a_refused_text_comes_with_the_log",
        "extern \"C\" __global__ void copy(float *to) {\n    to[0] = from[0];\n}\n",
        &expect![[r#"
            NVRTC_ERROR_COMPILATION
            copy.hx::copy(2): error: identifier "from" is undefined
                  to[0] = from[0];
                          ^

            1 error detected in the compilation of "copy.hx::copy".
        "#]],
    );
}

#[test]
fn refused_assembly_comes_with_the_log() {
    check_refused(
        "refused_assembly_comes_with_the_log",
        "extern \"C\" __global__ void copy(float *to) {\n    asm volatile(\"mov.b99 a, b;\");\n}\n",
        &expect![[r#"
            NVRTC_ERROR_COMPILATION
            ptxas application ptx input, line 25; error   : Unknown modifier '.b99'
            ptxas application ptx input, line 25; error   : Unexpected instruction types specified for 'mov'
            ptxas application ptx input, line 25; error   : Unknown symbol 'a'
            ptxas application ptx input, line 25; error   : Unknown symbol 'b'
            ptxas fatal   : Ptx assembly aborted due to errors
        "#]],
    );
}

#[test]
fn an_unknown_architecture_is_refused() {
    let Some(compiler) = compiler("an_unknown_architecture_is_refused", None) else { return };
    let mut worker = worker();
    let mut bad = job(COPY);
    bad.arch = "sm_12345".to_owned();
    let error = compiler.compile(&mut worker, &bad, &LIMITS).unwrap_err();
    assert!(matches!(&error, CompileError::Refused { .. }), "{error}");
    bad.arch = "sm_90a\0".to_owned();
    let error = compiler.compile(&mut worker, &bad, &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "an option to compile holds a zero byte");
    // Neither error ended the worker.
    compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap();
    assert_eq!(worker.starts(), 1);
}

#[test]
fn spills_and_warnings_are_reported() {
    let Some(compiler) = compiler("spills_and_warnings_are_reported", None) else { return };
    let source = r#"
extern "C" __global__ void __launch_bounds__(1024, 2) copy(float *to, const float *from) {
    int unused;
    float held[96];
    for (int i = 0; i < 96; ++i) held[i] = from[i * 1024 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 96; ++i) to[i * 1024 + threadIdx.x] = held[95 - i] * held[i];
}
"#;
    let compiled = compiler.compile(&mut worker(), &job(source), &LIMITS).unwrap().compiled;
    let [kernel] = compiled.kernels.as_slice() else { panic!("{}", compiled.log) };
    assert_eq!(kernel.registers, 32);
    assert!(kernel.spill_store_bytes > 0 && kernel.spill_load_bytes > 0, "{kernel:?}");
    assert!(compiled.warnings.iter().any(|warning| warning.text.contains("\"unused\"")), "{}", compiled.log);
}

#[test]
fn a_cache_hit_starts_no_worker() {
    let dir = tempfile::tempdir().unwrap();
    let cache = || Some(Cache::open(dir.path().join("kernels")));
    let Some(compiler) = compiler("a_cache_hit_starts_no_worker", cache()) else { return };
    let first = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap();
    assert!(!first.from_cache);
    assert_eq!(first.cache_warnings, []);
    let again = Compiler::new(&search_env(), cache()).compile(&mut no_worker(), &job(COPY), &LIMITS).unwrap();
    assert!(again.from_cache);
    assert_eq!(again.compiled, first.compiled);
    // Another text has another key, so it needs the worker.
    let other = compiler.compile(&mut no_worker(), &job(&format!("{COPY}//")), &LIMITS).unwrap_err();
    assert!(matches!(other, CompileError::Worker(WorkerError::Spawn { .. })), "{other}");
}

#[test]
fn a_cached_kernel_needs_no_compiler() {
    let dir = tempfile::tempdir().unwrap();
    let cache = || Some(Cache::open(dir.path()));
    let Some(compiler) = compiler("a_cached_kernel_needs_no_compiler", cache()) else { return };
    let first = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap();
    let absent = SearchEnv { nvrtc: Some(PathBuf::from("/nowhere/lib")), ..SearchEnv::default() };
    let without = Compiler::new(&absent, cache());
    let again = without.compile(&mut no_worker(), &job(COPY), &LIMITS).unwrap();
    assert!(again.from_cache);
    assert_eq!(again.compiled, first.compiled);
    let error = without.compile(&mut no_worker(), &job("// another"), &LIMITS).unwrap_err();
    assert!(matches!(error, CompileError::Absent(_)), "{error}");
}

#[test]
fn the_worker_leaves_when_its_input_ends() {
    let output =
        std::process::Command::new(command().program).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success());
    let hello = format!("{{\"protocol\":{PROTOCOL_VERSION}}}");
    assert!(output.stdout.starts_with(b"hxw1") && output.stdout.ends_with(hello.as_bytes()));
}

#[test]
fn a_damaged_entry_is_compiled_anew() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path());
    let Some(compiler) = compiler("a_damaged_entry_is_compiled_anew", Some(cache)) else { return };
    let mut worker = worker();
    let first = compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap();
    let entry = kernels_below(dir.path()).remove(0);
    let mut bytes = fs::read(&entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&entry, bytes).unwrap();
    let second = compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap();
    assert!(!second.from_cache);
    assert_eq!(second.compiled, first.compiled);
    let [warning] = second.cache_warnings.as_slice() else { panic!("{second:?}") };
    assert!(warning.reason.starts_with("the entry is damaged"), "{warning}");
    assert!(compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap().from_cache);
}

fn kernels_below(dir: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

#[test]
fn an_unwritable_cache_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let in_the_way = dir.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let cache = Cache::open(in_the_way.join("kernels"));
    let Some(compiler) = compiler("an_unwritable_cache_is_a_warning", Some(cache)) else { return };
    let outcome = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap();
    assert!(outcome.compiled.code.starts_with(b"\x7fELF"));
    let [warning] = outcome.cache_warnings.as_slice() else { panic!("{outcome:?}") };
    assert!(warning.reason.starts_with("cannot be written"), "{warning}");
}

#[test]
fn an_absent_library_is_explained() {
    let env = SearchEnv { nvrtc: Some(PathBuf::from("/nowhere/lib")), ..SearchEnv::default() };
    let error = Compiler::new(&env, None).compile(&mut no_worker(), &job(COPY), &LIMITS).unwrap_err();
    expect!["the CUDA compiler (NVRTC) is not available: HX_NVRTC is `/nowhere/lib`, which does not exist"]
        .assert_eq(&error.to_string());
    let error = Compiler::new(&SearchEnv::default(), None);
    let absence = error.nvrtc().unwrap_err();
    expect![[r#"
        the library was not found
        CUDA_HOME, which is not set
        the loader's path
        the Python environment on PATH
        `hx setup` fetches it into your data folder, or set HX_NVRTC to the library"#]]
    .assert_eq(&format!(
        "{}\n{}\n{}",
        absence.reason,
        absence.looked_in.join("\n"),
        absence.help.clone().unwrap_or_default()
    ));
}

#[test]
fn a_file_that_is_no_library_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnvrtc.so.13");
    fs::write(&library, "not a library").unwrap();
    let env = SearchEnv { nvrtc: Some(library.clone()), ..SearchEnv::default() };
    let error = Compiler::new(&env, None).compile(&mut worker(), &job(COPY), &LIMITS).unwrap_err();
    let CompileError::Absent(absence) = &error else { panic!("{error:?}") };
    assert_eq!(absence.component, Component::Nvrtc);
    let start = format!("`{}` cannot be loaded: ", library.display());
    assert!(absence.reason.starts_with(&start), "{}", absence.reason);
}

#[test]
fn a_change_of_library_restarts_the_worker() {
    let Some(compiler) = compiler("a_change_of_library_restarts_the_worker", None) else { return };
    let mut worker = worker();
    compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap();
    let mut files = compiler.nvrtc().unwrap().clone();
    files.builtins = None;
    // Without its companion the library compiles nothing, and the message names the companion.
    match worker.compile(&files, &job(COPY), &LIMITS) {
        Err(WorkerError::Remote(RemoteError::Absent(absence))) => {
            assert!(
                absence.reason.starts_with("its companion `libnvrtc-builtins` is not beside it"),
                "{absence}"
            );
        }
        // If the loader's path contains the companion, compiling works.
        Ok(_) => {}
        Err(other) => panic!("{other}"),
    }
    assert_eq!(worker.starts(), 2);
}

#[test]
fn the_probe_reports_every_part() {
    let Some(compiler) = compiler("the_probe_reports_every_part", None) else { return };
    let mut worker = WorkerClient::new(command());
    let report = worker.probe(Some(compiler.nvrtc().unwrap()), &LIMITS).unwrap();
    let nvrtc = report.nvrtc.unwrap();
    assert!(nvrtc.version >= (12, 0), "{nvrtc:?}");
    match (&report.driver, &report.devices) {
        (Err(driver), Err(devices)) => assert_eq!(driver, devices),
        (Ok(driver), _) => assert!(driver.cuda_version >= (11, 0), "{driver:?}"),
        (Err(driver), Ok(_)) => panic!("devices without a driver: {driver}"),
    }
    let without = worker.probe(None, &LIMITS).unwrap();
    assert!(without.nvrtc.is_err());
    assert_eq!(worker.starts(), 1);
}

#[test]
fn machine_code_is_disassembled() {
    let Some(compiler) = compiler("machine_code_is_disassembled", None) else { return };
    let compiled = compiler.compile(&mut worker(), &job(COPY), &LIMITS).unwrap().compiled;
    match disassemble(&search_env(), &compiled.code, &LIMITS) {
        Ok(listing) => {
            let text = listing.text();
            assert!(text.contains(".text.copy") && text.contains("EXIT"), "{text}");
            assert!(listing.lines.iter().any(|line| line.live.is_some_and(|live| live > 0)), "{text}");
        }
        Err(absence) => {
            skip::<()>("machine_code_is_disassembled", &absence, "HX_REQUIRE_NVRTC");
        }
    }
}

#[test]
fn what_is_no_machine_code_is_not_disassembled() {
    let Err(absence) = disassemble(&search_env(), b"no cubin", &LIMITS) else { panic!("accepted") };
    assert_eq!(absence.component, Component::Disassembler);
}

#[test]
fn a_crash_of_the_compiler_costs_only_the_worker() {
    let Some(compiler) = compiler("a_crash_of_the_compiler_costs_only_the_worker", None) else { return };
    // Both descriptors are the constant 0, which crashes NVRTC 13.0.88.
    let source = r#"
extern "C" __global__ void copy(float *to) {
    float a = 0, b = 0, c = 0, d = 0;
    unsigned long long zero = 0;
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "l"(zero), "l"(zero));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    to[threadIdx.x] = a + b + c + d;
}
"#;
    let mut worker = worker();
    match compiler.compile(&mut worker, &job(source), &LIMITS) {
        Err(CompileError::Worker(WorkerError::Crashed { during, status, .. })) => {
            assert_eq!(during, "compiling `copy.hx::copy`");
            assert!(status.starts_with("signal 11"), "{status}");
        }
        // Another version of the compiler may handle it.
        Ok(outcome) => assert!(outcome.compiled.nvrtc_version != (13, 0), "no crash; the test shows nothing"),
        Err(other) => panic!("{other}"),
    }
    compiler.compile(&mut worker, &job(COPY), &LIMITS).unwrap();
}
