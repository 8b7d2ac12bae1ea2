//! Tests the client and the pool of compilers against misbehaving workers.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod pool;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hx_worker::protocol::PROTOCOL_VERSION;
use hx_worker::{
    Arg, Launch, LaunchResult, Limits, Step, TimePlan, Work, WorkerClient, WorkerCommand, WorkerError,
};

const SECONDS: Duration = Duration::from_secs(20);

fn client(manner: &str) -> WorkerClient {
    WorkerClient::new(WorkerCommand::new(env!("CARGO_BIN_EXE_hx-fake-worker")).arg(manner))
}

fn launch(client: &mut WorkerClient, limits: &Limits<'_>) -> Result<LaunchResult, WorkerError> {
    client.launch(
        &Launch {
            device: 0,
            cubin: b"cubin",
            symbol: "k",
            grid: [1, 1, 1],
            cluster: [1, 1, 1],
            threads: 32,
            shared_bytes: 0,
            waits_for_previous: false,
            args: vec![
                Arg::i64(3),
                Arg::Buffer { data: b"in", writable: false },
                Arg::Buffer { data: b"out", writable: true },
            ],
        },
        limits,
    )
}

/// Checks the error of a launch in this manner, and that the next request reaches a new worker.
fn check(manner: &str, deadline: Duration, expected: &str) {
    let mut client = client(manner);
    let error = launch(&mut client, &Limits::within(deadline)).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let before = client.starts();
    if client.probe(None, &Limits::within(SECONDS)).is_ok() {
        assert_eq!(client.starts(), before + 1, "{manner}: the dead worker was asked again");
    }
}

#[test]
fn a_well_behaved_worker() {
    let mut client = client("good");
    let limits = Limits::within(SECONDS);
    assert!(!client.is_running());
    let first = launch(&mut client, &limits).unwrap();
    assert_eq!(first.outputs.into_iter().collect::<Vec<_>>(), [(2, b"out".to_vec())]);
    // The fake worker encodes in the time whether the cubin was sent: it must be sent once only.
    assert_eq!(first.gpu_ms, 1.0);
    assert_eq!(launch(&mut client, &limits).unwrap().gpu_ms, 0.5);
    assert_eq!(client.starts(), 1);
    assert!(client.probe(None, &limits).unwrap().devices.is_err());
    client.stop();
    assert!(!client.is_running());
    assert_eq!(launch(&mut client, &limits).unwrap().gpu_ms, 1.0);
    assert_eq!(client.starts(), 2);
}

#[test]
fn timed_works_share_their_code() {
    let mut client = client("good");
    let limits = Limits::within(SECONDS);
    let (from, to) = (client.alloc(0, 64, &limits).unwrap(), client.alloc(0, 64, &limits).unwrap());
    client.fill(from, b"pattern", &limits).unwrap();
    let launch = |cubin| {
        Step::Launch(Launch {
            device: 0,
            cubin,
            symbol: "k",
            grid: [1, 1, 1],
            cluster: [1, 1, 1],
            threads: 32,
            shared_bytes: 0,
            waits_for_previous: false,
            args: vec![Arg::Resident { buffer: to, offset: 0 }],
        })
    };
    let copy = Step::Copy { from, to, bytes: 64 };
    let works = [
        Work { variants: vec![vec![launch(b"cubin"), launch(b"cubin")], vec![launch(b"other")]] },
        Work { variants: vec![vec![copy]] },
    ];
    let times = |client: &mut WorkerClient| -> Vec<Vec<f32>> {
        let timings = client.time(0, &works, TimePlan::default(), &limits).unwrap();
        timings.into_iter().map(|timing| timing.gpu_ms).collect()
    };
    assert_eq!(times(&mut client), [[2.0, 2.0], [1.0, 2.0]]);
    // At the second request the worker has both pieces of code.
    assert_eq!(times(&mut client), [[2.0, 0.0], [1.0, 0.0]]);
    client.run(0, &[launch(b"cubin")], &limits).unwrap();
    client.stop();
    let lost = client.run(0, &[launch(b"cubin")], &limits).unwrap_err();
    assert_eq!(lost, WorkerError::LostBuffer);
}

#[test]
fn an_error_report_keeps_the_worker() {
    let mut client = client("good");
    let limits = Limits::within(SECONDS);
    let buffer = client.alloc(0, 64, &limits).unwrap();
    assert_eq!(client.download(buffer, 0, 64, &limits).unwrap_err().to_string(), "the buffer is empty");
    client.upload(buffer, 0, &[0; 64], &limits).unwrap();
    client.free(buffer, &limits).unwrap();
    assert_eq!(client.starts(), 1);
}

#[test]
#[cfg(unix)]
fn a_crash_is_named() {
    check("abort", SECONDS, "the worker process died while running `k`: signal 6 (abort)");
}

#[test]
fn an_exit_keeps_its_last_words() {
    let mut client = client("exit");
    let error = launch(&mut client, &Limits::within(SECONDS)).unwrap_err();
    assert_eq!(
        error,
        WorkerError::Crashed {
            during: "running `k`".to_owned(),
            status: "exit status 5".to_owned(),
            stderr: "a library said something\nand gave up".to_owned(),
        }
    );
}

#[test]
fn a_broken_off_answer_is_a_crash() {
    check("half", SECONDS, "the worker process died while running `k`: exit status 0");
}

#[test]
fn a_hang_ends_at_the_deadline() {
    let start = Instant::now();
    let deadline = Duration::from_millis(700);
    check("hang", deadline, "the worker gave no answer within 700ms while running `k` and was stopped");
    assert!(start.elapsed() < SECONDS);
}

#[test]
fn a_worker_that_never_greets() {
    let deadline = Duration::from_millis(300);
    let mut client = client("silent");
    let error = launch(&mut client, &Limits::within(deadline)).unwrap_err();
    assert!(
        matches!(&error, WorkerError::Deadline { during, .. } if during == "starting the worker"),
        "{error}"
    );
}

#[test]
fn a_worker_that_reads_nothing() {
    let mut client = client("deaf");
    let limits = Limits::within(SECONDS);
    client.start(&limits).unwrap();
    let buffer = vec![1u8; 8 << 20];
    let start = Instant::now();
    let error = client.launch(
        &Launch {
            device: 0,
            cubin: b"cubin",
            symbol: "k",
            grid: [1, 1, 1],
            cluster: [1, 1, 1],
            threads: 32,
            shared_bytes: 0,
            waits_for_previous: false,
            args: vec![Arg::Buffer { data: &buffer, writable: true }],
        },
        &Limits::within(Duration::from_millis(400)),
    );
    assert!(matches!(error, Err(WorkerError::Deadline { .. })), "{error:?}");
    assert!(start.elapsed() < SECONDS);
}

#[test]
fn cancelling_stops_the_worker() {
    let mut client = client("hang");
    client.start(&Limits::within(SECONDS)).unwrap();
    let cancelled = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            cancelled.store(true, Ordering::Relaxed);
        });
        let limits = Limits { deadline: SECONDS, cancelled: &|| cancelled.load(Ordering::Relaxed) };
        launch(&mut client, &limits).unwrap_err()
    });
    assert_eq!(error.to_string(), "cancelled while running `k`");
    assert!(!client.is_running());
}

#[test]
fn a_sticky_fault_costs_the_worker_and_its_buffers() {
    let mut client = client("fault");
    let limits = Limits::within(SECONDS);
    let buffer = client.alloc(0, 64, &limits).unwrap();
    let error = launch(&mut client, &limits).unwrap_err();
    assert_eq!(
        error.to_string(),
        "running `k` failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, code 700)"
    );
    assert!(error.cuda_fault().is_some());
    assert!(!client.is_running());
    assert_eq!(client.upload(buffer, 0, &[1], &limits), Err(WorkerError::LostBuffer));
    client.alloc(0, 64, &limits).unwrap();
    assert_eq!(client.starts(), 2);
    assert_eq!(client.upload(buffer, 0, &[1], &limits), Err(WorkerError::LostBuffer));
    client.free(buffer, &limits).unwrap();
}

#[test]
fn what_is_no_worker_is_noticed() {
    check(
        "noise",
        SECONDS,
        "the worker answered out of protocol while starting the worker: expected a frame, found the bytes \"Usag\"",
    );
    let versions = format!(
        "the worker answered out of protocol while starting the worker: it speaks version 99, this is version {PROTOCOL_VERSION}"
    );
    check("other-version", SECONDS, &versions);
    check(
        "wrong-id",
        SECONDS,
        "the worker answered out of protocol while running `k`: the answer belongs to another request",
    );
}

#[test]
fn a_program_that_is_not_there() {
    let mut client = WorkerClient::new(WorkerCommand::new("/nowhere/hx"));
    let error = client.start(&Limits::within(SECONDS)).unwrap_err();
    assert!(error.to_string().starts_with("cannot start the worker `/nowhere/hx`: "), "{error}");
}
