//! Launching: needs a GPU, but for the tests of its absence.

use std::time::Duration;

use hx_worker::protocol::TimePlan;
use hx_worker::{
    Arg, Cache, CompileError, Compiled, Compiler, Component, Launch, LaunchResult, Limits, RemoteError,
    WorkerClient, WorkerError,
};

use crate::{COPY, LIMITS, job, search_env, skip, worker};

/// A worker with a device, and a kernel compiled for it; `None` with the reason said.
///
/// `HX_TEST_CACHE` names a kernel cache. Running these tests with it where there is a compiler fills it for `sm_90a`,
/// and running them with it where there is a GPU of that kind needs no compiler then.
fn ready(test: &str, source: &str) -> Option<(WorkerClient, Compiled)> {
    let cache = std::env::var_os("HX_TEST_CACHE").map(Cache::open);
    let compiler = Compiler::new(&search_env(), cache);
    let mut worker = worker();
    let devices = worker.probe(None, &LIMITS).unwrap().devices;
    let mut job = job(source);
    if let Ok(devices) = &devices {
        job.arch = devices[0].arch();
    }
    if devices.is_ok() || compiler.cache().is_some() {
        match compiler.compile(&mut worker, &job, &LIMITS) {
            Ok(outcome) if devices.is_ok() => return Some((worker, outcome.compiled)),
            Ok(_) => {}
            Err(CompileError::Absent(absence)) => return skip(test, &absence, "HX_REQUIRE_NVRTC"),
            Err(other) => panic!("{other}"),
        }
    }
    skip(test, &devices.err()?, "HX_REQUIRE_GPU")
}

fn launch<'a>(cubin: &'a [u8], symbol: &'a str, args: Vec<Arg<'a>>) -> Launch<'a> {
    Launch {
        device: 0,
        cubin,
        symbol,
        grid: [1, 1, 1],
        cluster: [1, 1, 1],
        threads: 32,
        shared_bytes: 0,
        args,
    }
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn run_copy(worker: &mut WorkerClient, cubin: &[u8]) -> Result<LaunchResult, WorkerError> {
    let from = floats((0..100u8).map(f32::from));
    let to = floats([0.0; 100]);
    let args = vec![
        Arg::Buffer { data: &to, writable: true },
        Arg::Buffer { data: &from, writable: false },
        Arg::i32(99),
    ];
    let result = worker.launch(&Launch { grid: [4, 1, 1], ..launch(cubin, "copy", args) }, &LIMITS)?;
    let mut expected = from;
    expected[99 * 4..].fill(0);
    assert_eq!(result.outputs.get(&0), Some(&expected));
    assert_eq!(result.outputs.len(), 1);
    Ok(result)
}

#[test]
fn without_a_device_a_launch_says_so() {
    let mut worker = worker();
    let Err(expected) = worker.probe(None, &LIMITS).unwrap().devices else { return };
    let error = worker.launch(&launch(b"", "copy", Vec::new()), &LIMITS).unwrap_err();
    assert_eq!(error, WorkerError::Remote(RemoteError::Absent(expected.clone())));
    assert!(matches!(expected.component, Component::Driver | Component::Device));
    let error = worker.alloc(0, 16, &LIMITS).unwrap_err();
    assert_eq!(error, WorkerError::Remote(RemoteError::Absent(expected)));
    assert_eq!(worker.starts(), 1);
}

#[test]
fn a_kernel_runs() {
    let Some((mut worker, compiled)) = ready("a_kernel_runs", COPY) else { return };
    let result = run_copy(&mut worker, &compiled.code).unwrap();
    assert!(result.gpu_ms > 0.0);
    run_copy(&mut worker, &compiled.code).unwrap();
    assert_eq!(worker.starts(), 1);
}

#[test]
fn an_empty_grid_leaves_the_buffers() {
    let Some((mut worker, compiled)) = ready("an_empty_grid_leaves_the_buffers", COPY) else { return };
    let args = || {
        vec![
            Arg::Buffer { data: b"abcd", writable: true },
            Arg::Buffer { data: b"", writable: true },
            Arg::i32(1),
        ]
    };
    let empty = Launch { grid: [0, 1, 1], ..launch(&compiled.code, "copy", args()) };
    let result = worker.launch(&empty, &LIMITS).unwrap();
    assert_eq!(result.outputs.into_iter().collect::<Vec<_>>(), [(0, b"abcd".to_vec()), (1, Vec::new())]);
}

#[test]
fn device_memory_stays_between_launches() {
    let Some((mut worker, compiled)) = ready("device_memory_stays_between_launches", COPY) else { return };
    let (from, to) = (worker.alloc(0, 128, &LIMITS).unwrap(), worker.alloc(0, 256, &LIMITS).unwrap());
    let data = floats((0..32u8).map(f32::from));
    worker.upload(from, 0, &data, &LIMITS).unwrap();
    let args = vec![
        Arg::Resident { buffer: to, offset: 128 },
        Arg::Resident { buffer: from, offset: 0 },
        Arg::i32(32),
    ];
    worker.launch(&launch(&compiled.code, "copy", args), &LIMITS).unwrap();
    let got = worker.download(to, 0, 256, &LIMITS).unwrap();
    assert_eq!(got, [vec![0; 128], data].concat());
    let error = worker.download(to, 200, 57, &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "57 bytes at offset 200 do not lie in a buffer of 256 bytes");
    worker.free(from, &LIMITS).unwrap();
    worker.free(to, &LIMITS).unwrap();
}

#[test]
fn wrong_parameters_are_refused() {
    let Some((mut worker, compiled)) = ready("wrong_parameters_are_refused", COPY) else { return };
    let pointer = || Arg::Buffer { data: b"abcd", writable: true };
    let cases = [
        (vec![pointer(), pointer()], "`copy` has more than the 2 parameters that it was given"),
        (vec![pointer(), pointer(), Arg::i64(1)], "parameter 2 of `copy` has 4 bytes, it was given 8"),
        (vec![pointer(), pointer(), Arg::i32(1), Arg::i32(1)], "`copy` has 3 parameters, it was given 4"),
    ];
    for (args, expected) in cases {
        let error = worker.launch(&launch(&compiled.code, "copy", args), &LIMITS).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let args = || vec![pointer(), pointer(), Arg::i32(0)];
    let many = Launch { threads: 2048, ..launch(&compiled.code, "copy", args()) };
    let error = worker.launch(&many, &LIMITS).unwrap_err().to_string();
    assert!(error.starts_with("`copy` was launched with 2048 threads in a block"), "{error}");
    let wide = Launch { shared_bytes: 1 << 20, ..launch(&compiled.code, "copy", args()) };
    let error = worker.launch(&wide, &LIMITS).unwrap_err().to_string();
    assert!(error.starts_with("`copy` needs 1048576 bytes of shared memory in a block"), "{error}");
    let error = worker.launch(&launch(&compiled.code, "paste", args()), &LIMITS).unwrap_err().to_string();
    assert!(error.starts_with("finding `paste` in its code failed"), "{error}");
    let error = worker.launch(&launch(b"\x7fELF\x02 cut", "copy", args()), &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "the kernel's code is no cubin");
    run_copy(&mut worker, &compiled.code).unwrap();
    assert_eq!(worker.starts(), 1);
}

#[test]
fn much_shared_memory() {
    let source = r#"
extern "C" __global__ void turn(int *data) {
    extern __shared__ int held[];
    for (int i = threadIdx.x; i < 24576; i += blockDim.x) held[24575 - i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 24576; i += blockDim.x) data[i] = held[i];
}
"#;
    let Some((mut worker, compiled)) = ready("much_shared_memory", source) else { return };
    let data: Vec<u8> = (0..24576i32).flat_map(i32::to_le_bytes).collect();
    let args = vec![Arg::Buffer { data: &data, writable: true }];
    let wide = Launch { threads: 256, shared_bytes: 98304, ..launch(&compiled.code, "turn", args) };
    let result = worker.launch(&wide, &LIMITS).unwrap();
    let expected: Vec<u8> = (0..24576i32).rev().flat_map(i32::to_le_bytes).collect();
    assert!(result.outputs[&0] == expected);
}

#[test]
fn a_bad_address_costs_only_the_worker() {
    let source = r#"
extern "C" __global__ void astray(int *data, long long by) { data[by] = 1; }
"#;
    let Some((mut worker, compiled)) = ready("a_bad_address_costs_only_the_worker", source) else { return };
    let args = |by| vec![Arg::Buffer { data: &[0; 64], writable: true }, Arg::i64(by)];
    let error = worker.launch(&launch(&compiled.code, "astray", args(1 << 40)), &LIMITS).unwrap_err();
    let fault = error.cuda_fault().unwrap();
    assert!(fault.sticky && fault.during == "running `astray`", "{error}");
    assert!(!worker.is_running());
    worker.launch(&launch(&compiled.code, "astray", args(0)), &LIMITS).unwrap();
    assert_eq!(worker.starts(), 2);
}

#[test]
fn an_endless_kernel_ends_at_the_deadline() {
    let source = r#"
extern "C" __global__ void spin(volatile int *data) { while (data[0] == 0) {} }
"#;
    let Some((mut worker, compiled)) = ready("an_endless_kernel_ends_at_the_deadline", source) else {
        return;
    };
    worker.warm(0, &LIMITS).unwrap();
    let args = || vec![Arg::Buffer { data: &[0; 4], writable: true }];
    let limits = Limits::within(Duration::from_secs(2));
    let error = worker.launch(&launch(&compiled.code, "spin", args()), &limits).unwrap_err();
    assert_eq!(error.to_string(), "the worker gave no answer within 2s while running `spin` and was stopped");
    let ends = vec![Arg::Buffer { data: &[1; 4], writable: true }];
    worker.launch(&launch(&compiled.code, "spin", ends), &LIMITS).unwrap();
}

#[test]
fn repeated_runs_are_timed() {
    let Some((mut worker, compiled)) = ready("repeated_runs_are_timed", COPY) else { return };
    let data = vec![0u8; 4096];
    let args = vec![
        Arg::Buffer { data: &data, writable: true },
        Arg::Buffer { data: &data, writable: false },
        Arg::i32(1024),
    ];
    let plan = TimePlan { warmup: 2, repeats: 5, flush_l2: true };
    let launch = Launch { grid: [8, 1, 1], threads: 128, ..launch(&compiled.code, "copy", args) };
    let timing = worker.time(&launch, plan, &LIMITS).unwrap();
    assert_eq!(timing.gpu_ms.len(), 5);
    assert!(timing.gpu_ms.iter().all(|ms| *ms > 0.0 && *ms < 1000.0), "{timing:?}");
}

#[test]
fn clusters_are_launched() {
    let source = r#"
extern "C" __global__ void rank(unsigned *data) {
    unsigned rank, count;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    if (threadIdx.x == 0) data[blockIdx.x] = rank * 16 + count;
}
"#;
    let Some((mut worker, compiled)) = ready("clusters_are_launched", source) else { return };
    let args = vec![Arg::Buffer { data: &[0; 16], writable: true }];
    let paired = Launch { grid: [4, 1, 1], cluster: [2, 1, 1], ..launch(&compiled.code, "rank", args) };
    match worker.launch(&paired, &LIMITS) {
        Ok(result) => {
            let got: Vec<u8> = result.outputs[&0].iter().step_by(4).copied().collect();
            assert_eq!(got, [2, 18, 2, 18]);
        }
        // Devices before 9.0 have no clusters, and the driver says so.
        Err(error) => assert!(error.cuda_fault().is_some(), "{error}"),
    }
}
