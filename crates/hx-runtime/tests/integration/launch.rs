//! Tests launching, which needs a GPU, except in the tests of its absence.

use std::time::Duration;

use hx_worker::toolkit::find_cublaslt;
use hx_worker::{
    Arg, Buffer, Cache, CompileError, Compiled, Compiler, Component, Element, Gemm, Launch, LaunchResult,
    Limits, Matrix, RemoteError, Step, TimePlan, Work, WorkerClient, WorkerError,
};

use crate::{COPY, LIMITS, job, search_env, skip, worker};

/// Returns a worker with a device, and a kernel compiled for it; otherwise reports the reason and returns `None`.
///
/// `HX_TEST_CACHE` names a kernel cache. Running these tests with it on a machine with a compiler fills it for `sm_90a`. Running
/// them with it on a machine with such a GPU then needs no compiler.
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
        waits_for_previous: false,
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
    assert_eq!(error.to_string(), "the kernel's code is not a cubin");
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
fn works_are_timed_in_turn() {
    let Some((mut worker, compiled)) = ready("works_are_timed_in_turn", COPY) else { return };
    let count = 1 << 24;
    let bytes = 4 * count as u64;
    let (from, to) = (worker.alloc(0, bytes, &LIMITS).unwrap(), worker.alloc(0, bytes, &LIMITS).unwrap());
    worker.fill(from, b"123456789", &LIMITS).unwrap();
    let kernel = || {
        let args = vec![
            Arg::Resident { buffer: to, offset: 0 },
            Arg::Resident { buffer: from, offset: 0 },
            Arg::i32(count),
        ];
        let blocks = count as u32 / 256;
        Step::Launch(Launch { grid: [blocks, 1, 1], threads: 256, ..launch(&compiled.code, "copy", args) })
    };
    let copy = || Step::Copy { from, to, bytes };
    let works = [
        Work { variants: vec![vec![kernel()]] },
        Work { variants: vec![vec![copy()]] },
        Work { variants: vec![vec![kernel(), kernel()], vec![copy(), copy()]] },
    ];
    for flush_l2 in [true, false] {
        let plan = TimePlan { warmup: 2, warmup_ms: 20, repeats: 8, flush_l2, ..TimePlan::default() };
        let timings = worker.time(0, &works, plan, &LIMITS).unwrap();
        let medians: Vec<f64> = timings.iter().map(|timing| timing.median().unwrap()).collect();
        assert!(timings.iter().all(|timing| timing.gpu_ms.len() == 8), "{timings:?}");
        // 128 MiB are moved, at 0.1 to 100 TB/s, and twice the work takes about twice the time.
        assert!(medians.iter().all(|ms| *ms > 0.0013 && *ms < 1.3), "{medians:?}");
        assert!(medians[2] > 1.3 * medians[0].min(medians[1]), "{medians:?}");
    }
    let got = worker.download(to, bytes - 10, 10, &LIMITS).unwrap();
    let expected: Vec<u8> = (bytes - 10..bytes).map(|at| b"123456789"[at as usize % 9]).collect();
    assert_eq!(got, expected);
    let past = Step::Copy { from, to, bytes: bytes + 1 };
    let error = worker.run(0, &[past], &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "a copy past the end of a buffer");
}

/// Returns -1, 0 or 1. Their products and sums are exact in every type and order.
fn small(at: usize) -> f32 {
    (at * 7 % 13 % 3) as f32 - 1.0
}

fn encoded(element: Element, values: &[f32]) -> Vec<u8> {
    let half = |value: f32| {
        // These are normal numbers of f16 whose low bits are zero, so the exponent is rebiased and the mantissa truncated.
        let bits = value.to_bits();
        if value == 0.0 {
            return 0u16;
        }
        let exponent = (bits >> 23 & 0xff) + 15 - 127;
        ((bits >> 16 & 0x8000) | exponent << 10 | bits >> 13 & 0x3ff) as u16
    };
    match element {
        Element::F32 => floats(values.iter().copied()),
        Element::Bf16 => values.iter().flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect(),
        Element::F16 => values.iter().flat_map(|v| half(*v).to_le_bytes()).collect(),
        other => panic!("{other:?} is not encoded here"),
    }
}

#[test]
fn the_matrix_library_multiplies() {
    const TEST: &str = "the_matrix_library_multiplies";
    let Some((mut worker, _)) = ready(TEST, COPY) else { return };
    let library = match find_cublaslt(&search_env()) {
        Ok(library) => library,
        Err(absence) => return skip(TEST, &absence, "HX_REQUIRE_CUBLASLT").unwrap_or_default(),
    };
    let (m, n, k) = (24usize, 40, 16);
    for element in [Element::F16, Element::Bf16, Element::F32] {
        for (turned_a, turned_b, turned_c) in
            [(false, false, false), (false, true, false), (true, false, false), (true, true, true)]
        {
            let stored = |rows: usize, columns: usize, turned: bool, value: &dyn Fn(usize, usize) -> f32| {
                let (outer, inner) = if turned { (columns, rows) } else { (rows, columns) };
                let at = |i, j| if turned { value(j, i) } else { value(i, j) };
                (0..outer)
                    .flat_map(|i| (0..inner).map(move |j| (i, j)))
                    .map(|(i, j)| at(i, j))
                    .collect::<Vec<_>>()
            };
            let value_a = |i: usize, l: usize| small(i * k + l);
            let value_b = |l: usize, j: usize| small(l * n + j + 5);
            let product = |i: usize, j: usize| (0..k).map(|l| value_a(i, l) * value_b(l, j)).sum::<f32>();
            let matrix = |worker: &mut WorkerClient, rows, columns, turned, values: &[f32]| {
                let data = encoded(element, values);
                let buffer = worker.alloc(0, data.len() as u64, &LIMITS).unwrap();
                worker.upload(buffer, 0, &data, &LIMITS).unwrap();
                let strides = if turned { [1, rows as u64] } else { [columns as u64, 1] };
                Matrix { buffer, offset: 0, element, strides, apart: 0 }
            };
            let a = matrix(&mut worker, m, k, turned_a, &stored(m, k, turned_a, &value_a));
            let b = matrix(&mut worker, k, n, turned_b, &stored(k, n, turned_b, &value_b));
            let c = matrix(&mut worker, m, n, turned_c, &vec![f32::NAN; m * n]);
            let (m, n, k) = (m as u64, n as u64, k as u64);
            let gemm = Gemm { library: library.clone(), batch: 1, m, n, k, a, b, c };
            worker.run(0, &[Step::Gemm(gemm.clone())], &LIMITS).unwrap();
            let bytes = c.buffer.bytes();
            let got = worker.download(c.buffer, 0, bytes, &LIMITS).unwrap();
            let case = format!("{element:?} {turned_a} {turned_b} {turned_c}");
            let wanted = stored(m as usize, n as usize, turned_c, &product);
            assert!(got == encoded(element, &wanted), "{case}");
            let works = [Work { variants: vec![vec![Step::Gemm(gemm)]] }];
            let plan = TimePlan { warmup: 1, warmup_ms: 1, repeats: 5, ..TimePlan::default() };
            let timing = worker.time(0, &works, plan, &LIMITS).unwrap().remove(0);
            assert!(timing.median().is_some_and(|ms| ms > 0.0 && ms < 10.0), "{timing:?}");
            for buffer in [a, b, c].map(|matrix: Matrix| -> Buffer { matrix.buffer }) {
                worker.free(buffer, &LIMITS).unwrap();
            }
        }
    }
    assert_eq!(worker.starts(), 1);
}

#[test]
fn a_missing_matrix_library_costs_nothing() {
    const TEST: &str = "a_missing_matrix_library_costs_nothing";
    let Some((mut worker, compiled)) = ready(TEST, COPY) else { return };
    let buffer = worker.alloc(0, 1024, &LIMITS).unwrap();
    let matrix = Matrix { buffer, offset: 0, element: Element::F32, strides: [4, 1], apart: 0 };
    let gemm = Gemm {
        library: "/nowhere/libcublasLt.so".into(),
        batch: 1,
        m: 4,
        n: 4,
        k: 4,
        a: matrix,
        b: Matrix { offset: 64, ..matrix },
        c: Matrix { offset: 128, ..matrix },
    };
    let error = worker.run(0, &[Step::Gemm(gemm)], &LIMITS).unwrap_err();
    let WorkerError::Remote(RemoteError::Absent(absence)) = error else { panic!("{error}") };
    assert_eq!(absence.component, Component::Cublas);
    run_copy(&mut worker, &compiled.code).unwrap();
    assert_eq!(worker.starts(), 1);
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
        // Devices before 9.0 have no clusters, and the driver reports an error.
        Err(error) => assert!(error.cuda_fault().is_some(), "{error}"),
    }
}
