//! `--device cuda:all`: tests are spread over the GPUs that the driver reports; `--compare-levels`: each launch runs at two levels of
//! the assembler. A worker pretends to have GPUs, so that a machine without one can say how.

mod benches;

use std::process::Command;
use std::sync::atomic::AtomicBool;

use expect_test::expect;
use hx_driver::{Filter, TestOptions, Verdict, WorkLimit, list_tests, run_tests_on};
use hx_inspect::{Choosing, DeviceChoice, Setup};
use hx_launch::{Levels, Machine, open_machine, open_machines};
use hx_target::Target;
use hx_worker::protocol::PROTOCOL_VERSION;
use hx_worker::{Cache, WorkerCommand};
use hx_workspace::Database;

use crate::support::{Sandbox, compiler, root, search_env, skip};

/// A test of seven cases with one launch each. The pretended launches write nothing, so every case fails.
const CASES: &str = "kernel filled(x: mut f32[32]) grid [1] threads 32 {
    let r = register_tensor(f32, [32]);
    fill(r, 1.0);
    copy(r, tile(x, [32])[.., 0]);
}
test \"t\" for n in 0..7 {
    let x = zeros(f32, [32]);
    filled(x);
    assert_eq(x, ones(f32, [32]));
}
";

/// Returns the setup of all pretended GPUs of these capabilities. `None` if the machine lacks Python or the CUDA compiler, without
/// which no GPU is opened.
fn setup(test: &str, sandbox: &Sandbox, capabilities: &[&str]) -> Option<Setup> {
    compiler(test)?;
    if let Err(error) = Command::new("python3").arg("--version").output() {
        skip(test, &format!("python3 does not start: {error}"), "HX_REQUIRE_PYTHON");
        return None;
    }
    let worker = WorkerCommand::new("python3").arg("-B").arg(root().join("tests/devices/fake_worker.py"));
    let worker = worker.arg(PROTOCOL_VERSION.to_string()).arg(sandbox.path("launches"));
    let worker = capabilities.iter().fold(worker, |worker, capability| worker.arg(*capability));
    let search = search_env();
    Some(Setup {
        device: DeviceChoice::AllCuda,
        target: Target::usual(),
        costs: None,
        worker,
        search,
        cache: None,
        choosing: Choosing::default(),
    })
}

fn named(machines: &[Machine]) -> Vec<String> {
    machines.iter().map(Machine::device).collect()
}

#[test]
fn tests_are_spread_over_all_gpus() {
    let sandbox = Sandbox::with("t.hx", CASES);
    let Some(setup) = setup("tests_are_spread_over_all_gpus", &sandbox, &["9.0", "8.6", "9.0"]) else {
        return;
    };
    let machines = open_machines(&setup).expect("the worker pretends to have them");
    assert_eq!(named(&machines), ["cuda:0", "cuda:1", "cuda:2"]);
    assert_eq!(
        machines.iter().map(Machine::target).collect::<Vec<_>>(),
        [Target::usual(), Target::builtin("sm_86"), Target::usual()]
    );
    let mut db = Database::default();
    let files = db.open(&sandbox.path("t.hx").to_string_lossy()).expect("the file is there").files;
    let listing = list_tests(&db, &files, &Filter::default(), WorkLimit::unlimited());
    let options = TestOptions { jobs: 4, ..TestOptions::default() };
    let mut lines = Vec::new();
    run_tests_on(&db, &listing.cases, &machines, &options, &AtomicBool::new(false), |report| {
        let Verdict::Failed(found) = &report.verdict else { panic!("{} did not fail", report.case.name) };
        let name = report.case.name.rsplit("::").next().unwrap_or_default();
        lines.push(format!("{name} on {}: {}", machines[report.machine].device(), found[0].code.name));
    });
    expect![[r#"
        t[0] on cuda:0: assertion-failed
        t[1] on cuda:1: assertion-failed
        t[2] on cuda:2: assertion-failed
        t[3] on cuda:0: assertion-failed
        t[4] on cuda:1: assertion-failed
        t[5] on cuda:2: assertion-failed
        t[6] on cuda:0: assertion-failed"#]]
    .assert_eq(&lines.join("\n"));
    let launches = std::fs::read_to_string(sandbox.path("launches")).expect("there were launches");
    let mut devices: Vec<&str> = launches.lines().collect();
    devices.sort_unstable();
    assert_eq!(devices, ["0", "0", "0", "1", "1", "2", "2"]);
}

#[test]
fn one_gpu_is_all_and_none_is_an_error() {
    const TEST: &str = "one_gpu_is_all_and_none_is_an_error";
    let sandbox = Sandbox::new();
    let Some(one) = setup(TEST, &sandbox, &["9.0"]) else { return };
    assert_eq!(named(&open_machines(&one).expect("there is one")), ["cuda:0"]);
    let first = Setup { device: DeviceChoice::Cuda(None), ..one.clone() };
    assert_eq!(named(&open_machines(&first).expect("there is one")), ["cuda:0"]);
    let error = |setup: &Setup| open_machines(setup).expect_err("it cannot be used").0.message;
    assert_eq!(
        open_machine(&one).expect_err("it asks for all").0.message,
        "`cuda:all` names all GPUs, expected one device"
    );
    let Some(none) = setup(TEST, &sandbox, &[]) else { return };
    let first = Setup { device: DeviceChoice::Cuda(None), ..none.clone() };
    assert_eq!(error(&none), error(&first));
    let Some(old) = setup(TEST, &sandbox, &["9.0", "7.5"]) else { return };
    expect!["Pretended 7.5 has compute capability 7.5, and the oldest target is `sm_80`"]
        .assert_eq(&error(&old));
    let Some(new) = setup(TEST, &sandbox, &["13.0"]) else { return };
    let opened = open_machines(&new).map_err(|error| error.0.message).expect("its driver translates PTX");
    assert_eq!(opened[0].target(), Target::builtin("sm_121"));
    expect!["Pretended 13.0 is newer than this build: its driver translates PTX for sm_121"]
        .assert_eq(&opened[0].warnings().into_iter().collect::<Vec<_>>().join("; "));
}

/// Two tests with one launch each. The second launch writes columns 0..4 of a tensor with 8 columns.
const LEVELS: &str = "kernel filled<N = 4>(x: mut f32[m, n] : [ld, 1]) grid [1] threads 32 {
    let r = register_tensor(f32, [4, 8]);
    fill(r, 1.0);
    copy(r, tile(x, [4, 8])[.., .., 0, 0]);
}
test \"t\" {
    let x = zeros(f32, [4, 8]);
    filled(x);
    assert_eq(x, ones(f32, [4, 8]));
}
test \"part\" {
    let x = zeros(f32, [4, 8]);
    filled(x[.., 0..4]);
}
";

/// Runs the tests of [`LEVELS`] at these levels on one pretended GPU. `mode` is a mode of `fake_worker.py`: `right`, `differ`
/// or `drift`. Returns the reports, followed by the worker's lines about its launches; `None` if the test is skipped, as in
/// [`setup`].
fn at_levels(mode: &str, levels: Levels) -> Option<String> {
    let sandbox = Sandbox::with("t.hx", LEVELS);
    let setup = setup("levels", &sandbox, &[&format!("fills={mode}"), "9.0"])?;
    let machines = open_machines(&setup).expect("the worker pretends to have one");
    let mut db = Database::default();
    let files = db.open(&sandbox.path("t.hx").to_string_lossy()).expect("the file is there").files;
    let listing = list_tests(&db, &files, &Filter::default(), WorkLimit::unlimited());
    let options = TestOptions { levels, ..TestOptions::default() };
    let mut lines = String::new();
    run_tests_on(&db, &listing.cases, &machines, &options, &AtomicBool::new(false), |report| {
        let name = report.case.name.rsplit("::").next().unwrap_or_default();
        let shown = |text: &str| text.replace(&*sandbox.path("t.hx").to_string_lossy(), "t.hx");
        let verdict = match &report.verdict {
            Verdict::Failed(found) => format!("{}: {}", found[0].code.id, shown(&found[0].message)),
            other => format!("{other:?}"),
        };
        lines += &format!("{name}: {verdict}\n");
        report.remarks.iter().for_each(|remark| lines += &format!("  {}\n", shown(remark)));
    });
    let launches = std::fs::read_to_string(sandbox.path("launches")).expect("there were launches");
    Some(lines + &launches)
}

#[test]
fn launches_at_two_levels_are_compared() {
    let Some(right) = at_levels("right", Levels::Compared) else { return };
    expect![[r"
        t: Passed
        part: Passed
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
    "]]
    .assert_eq(&right);
    let differ = at_levels("differ", Levels::Compared).unwrap_or_default();
    expect![[r#"
        t: HX0640: `t.hx::filled<N = 4> ld % 8 m % 4 n % 8` writes 1 (0x3f800000) to element [0, 5] of `x`, and 2 (0x40000000) without optimization
        part: HX0640: `t.hx::filled<N = 4> ld % 8 m % 4 n % 4` writes 1 (0x3f800000) to the element 5 behind the first of `x`, and 2 (0x40000000) without optimization
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
    "#]]
    .assert_eq(&differ);
    let drift = at_levels("drift", Levels::Compared).unwrap_or_default();
    expect![[r#"
        t: Passed
          the results of `t.hx::filled<N = 4> ld % 8 m % 4 n % 8` differ from run to run, so those of two levels are not compared
        part: Passed
          the results of `t.hx::filled<N = 4> ld % 8 m % 4 n % 4` differ from run to run, so those of two levels are not compared
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
        0 code []
        0 code ['0']
    "#]]
    .assert_eq(&drift);
    let plain = at_levels("right", Levels::One(Some(0))).unwrap_or_default();
    expect![[r"
        t: Passed
        part: Passed
        0 code ['0']
        0 code ['0']
    "]]
    .assert_eq(&plain);
}

/// A family of three members. The test takes the same one twice.
const FAMILY: &str = "#[family(filled<N = 32>, filled<N = 64>, filled<N = 256>)]
kernel filled<N = 32>(x: mut f32[n]) where n % N == 0 grid [n / N] threads 32 {
    let r = register_tensor(f32, [N]);
    fill(r, 1.0);
    copy(r, tile(x, [N])[.., block_idx]);
}
test \"t\" {
    let x = zeros(f32, [128]);
    filled(x);
    filled(x);
    assert_eq(x, ones(f32, [128]));
}
";

/// Runs the test of [`FAMILY`] on one pretended GPU with a cache, for each way to choose, and returns the verdicts and remarks. The
/// pretended GPU needs less time for each member that it measures.
fn chosen(cache: &Sandbox, ways: &[Choosing]) -> Option<String> {
    let mut lines = String::new();
    let sandbox = Sandbox::with("t.hx", FAMILY);
    for &choosing in ways {
        let setup = setup("chosen", &sandbox, &["fills=right", "times=falling", "9.0"])?;
        let setup = Setup { choosing, cache: Some(Cache::open(cache.path("cache"))), ..setup };
        let machines = open_machines(&setup).expect("the worker pretends to have one");
        let mut db = Database::default();
        let files = db.open(&sandbox.path("t.hx").to_string_lossy()).expect("the file is there").files;
        let listing = list_tests(&db, &files, &Filter::default(), WorkLimit::unlimited());
        let options = TestOptions::default();
        run_tests_on(&db, &listing.cases, &machines, &options, &AtomicBool::new(false), |report| {
            lines += &format!("{choosing:?}: {:?}\n", report.verdict);
            report.remarks.iter().for_each(|remark| lines += &format!("  {remark}\n"));
        });
    }
    Some(lines)
}

#[test]
fn a_first_call_measures_the_members_that_later_calls_take() {
    let cache = Sandbox::new();
    let ways = [Choosing::Model, Choosing::FirstCall, Choosing::Model];
    let Some(lines) = chosen(&cache, &ways) else { return };
    expect![[r#"
        Model: Passed
          `filled` runs as `filled<N = 32>`, 0.0 µs by the cost model, the fastest of 2 members of its family that fit; next is `filled<N = 64>`, 0.0 µs
        FirstCall: Passed
          `filled` runs as `filled<N = 64>`, 10.0 µs as measured, the fastest of 2 measured, of 2 members of its family that fit; next is `filled<N = 32>`, 20.0 µs
        Model: Passed
          `filled` runs as `filled<N = 64>`, 10.0 µs as measured, the fastest of 2 measured, of 2 members of its family that fit; next is `filled<N = 32>`, 20.0 µs
    "#]].assert_eq(&lines);
}
