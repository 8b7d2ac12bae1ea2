//! Benches: their cases, and their results as files. A made-up clock replaces the GPU, so the tests need none.

use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_host::bench::Group;
use hx_host::device::{Device, LaunchError, LaunchReport, LaunchRequest, Step, Times};
use hx_host::eval::{Options, Session};
use hx_host::{HostError, HostResult, Value};
use hx_target::Target;

use super::{open, show, simulator};
use crate::{BenchFile, BenchOptions, Filter, Roofs, changes, list_benches, run_benches};

const KERNEL: &str = "kernel k<B = 1>(x: f32[n]) grid [1] threads 32 { }\n";

/// A device on which every step takes this many microseconds ± 1. Each further candidate takes one microsecond more.
struct Clock(f64);

/// Returns the number of candidates that a kernel has here: the number of letters of its name.
fn count(request: &LaunchRequest) -> u32 {
    request.kernel.name.len() as u32
}

impl Device for Clock {
    fn launch(&mut self, _: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        Ok(LaunchReport { written: vec![0], ..LaunchReport::default() })
    }

    fn candidates(&mut self, request: &LaunchRequest) -> Result<u32, LaunchError> {
        Ok(count(request))
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        let one = |step: &Step| match step {
            Step::Launch(request) => self.0 + f64::from(request.candidate.unwrap_or(0)),
            _ => self.0,
        };
        let times = |steps: &Vec<Step>| {
            let median = steps.iter().map(one).sum::<f64>();
            let (low, high) = (median - 1.0, median + 1.0);
            Times { samples: vec![low, median, high], median, low, high, ..Times::default() }
        };
        Ok(works.iter().map(times).collect())
    }
}

/// Times the first bench of a text and returns its groups.
fn timed(text: &str, micros: f64) -> Vec<Group> {
    let (db, file) = open(text);
    let listing = list_benches(&db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let item = listing.cases[0].test.find(&db).expect("a bench");
    let item = hx_hir::Sound::of(&db, item).expect("no errors");
    let (mut lines, mut device) = (Vec::<String>::new(), Clock(micros));
    let mut session = Session::new(&db, &mut device, &mut lines, Options::default());
    session.bench(item, None).expect("it runs")
}

fn record(text: &str, micros: f64) -> BenchFile {
    let mut file = BenchFile::new("0.1.0", &simulator(), true);
    let roofs = Roofs { flops: Some(1e6), bytes: Some(4e6) };
    file.add("t.hx::b", &timed(text, micros), &roofs);
    file
}

#[test]
fn results_as_a_file() {
    let text = format!(
        "{KERNEL}bench \"b\" {{ let x = ones(f32, 4); measure flops 8 bytes 20 {{ k<B = 4>(x) }} baseline k(x); baseline copy(8) }}"
    );
    let file = record(&text, 10.0);
    let json = file.to_json().expect("plain numbers");
    expect![[r#"
        {
          "format": 1,
          "hx": "0.1.0",
          "device": "sim",
          "target": "sm_90a",
          "cold_l2": true,
          "benches": [
            {
              "name": "t.hx::b",
              "groups": [
                {
                  "measures": [
                    {
                      "label": "k<B = 4>",
                      "median_us": 10.0,
                      "low_us": 9.0,
                      "high_us": 11.0,
                      "samples_us": [
                        9.0,
                        10.0,
                        11.0
                      ],
                      "flops": 8.0,
                      "bytes": 20.0,
                      "tflops": 8.000000000000001e-7,
                      "gbs": 0.0020000000000000005,
                      "roof_share": 0.8000000000000002,
                      "memory": {
                        "of": "copy",
                        "bytes": 32.0,
                        "median_us": 10.0,
                        "share": 1.0
                      },
                      "against": [
                        {
                          "baseline": "k",
                          "ratio": 1.0,
                          "by": "time",
                          "max_difference": 0.0,
                          "max_ulps": 0.0,
                          "compared": true
                        },
                        {
                          "baseline": "copy",
                          "ratio": 1.25,
                          "by": "bandwidth",
                          "max_difference": null,
                          "max_ulps": null,
                          "compared": false
                        }
                      ]
                    }
                  ],
                  "baselines": [
                    {
                      "label": "k",
                      "median_us": 10.0,
                      "low_us": 9.0,
                      "high_us": 11.0,
                      "samples_us": [
                        9.0,
                        10.0,
                        11.0
                      ],
                      "flops": null,
                      "bytes": null,
                      "tflops": null,
                      "gbs": null,
                      "roof_share": null,
                      "memory": {
                        "of": "copy",
                        "bytes": 32.0,
                        "median_us": 10.0,
                        "share": 1.0
                      },
                      "against": []
                    },
                    {
                      "label": "copy",
                      "median_us": 10.0,
                      "low_us": 9.0,
                      "high_us": 11.0,
                      "samples_us": [
                        9.0,
                        10.0,
                        11.0
                      ],
                      "flops": null,
                      "bytes": 16.0,
                      "tflops": null,
                      "gbs": 0.0016000000000000003,
                      "roof_share": 0.4000000000000001,
                      "against": []
                    }
                  ],
                  "missing": []
                }
              ]
            }
          ]
        }
    "#]]
    .assert_eq(&json);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    std::fs::write(&path, &json).expect("writable");
    assert_eq!(BenchFile::load(&path).expect("it was written"), file);
    std::fs::write(&path, json.replace("\"format\": 1", "\"format\": 7")).expect("writable");
    let error = BenchFile::load(&path).expect_err("another format").to_string();
    assert!(
        error.ends_with("holds no results of `hx bench`: its format is 7, this version reads 1"),
        "{error}"
    );
    let missing: HostError = BenchFile::load(&folder.path().join("nothing")).expect_err("no file");
    assert_eq!(missing.code.id, "HX0606");
}

#[test]
fn what_changed_between_two_files() {
    let text = format!(
        "{KERNEL}bench \"b\" {{ let x = ones(f32, 4); measure {{ k(x) }} measure {{ k(x); k(x) }} measure {{ k(x) }} }}"
    );
    let check = |before: f64, after: f64, want: Expect| {
        let found = changes(&record(&text, before), &record(&text, after));
        let line =
            |c: &crate::Change| format!("{} {} {} {} {:?}\n", c.name, c.label, c.before, c.after, c.verdict);
        want.assert_eq(&found.iter().map(line).collect::<String>());
    };
    check(
        10.0,
        10.5,
        expect![[r#"
            t.hx::b k 10 10.5 Same
            t.hx::b k + k 20 21 Same
            t.hx::b k 10 10.5 Same
        "#]],
    );
    check(
        10.0,
        5.0,
        expect![[r#"
            t.hx::b k 10 5 Faster
            t.hx::b k + k 20 10 Faster
            t.hx::b k 10 5 Faster
        "#]],
    );
    check(
        10.0,
        11.5,
        expect![[r#"
            t.hx::b k 10 11.5 Same
            t.hx::b k + k 20 23 Slower
            t.hx::b k 10 11.5 Same
        "#]],
    );
}

/// A device that adds one to every element of the first argument. Its third candidate does not launch.
struct Adder(Clock);

impl Device for Adder {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        if request.candidate == Some(2) {
            return Err(LaunchError::call(HostError::unsupported("too many threads")));
        }
        let Some(Value::Tensor(x)) = request.args.first().map(|arg| &arg.value) else {
            return self.0.launch(request);
        };
        let held = x.to_host().data;
        let words = held.as_chunks::<4>().0.iter();
        let bytes: Vec<u8> = words.flat_map(|word| (f32::from_le_bytes(*word) + 1.0).to_le_bytes()).collect();
        x.write_packed(&bytes).map_err(LaunchError::call)?;
        self.0.launch(request)
    }

    fn candidates(&mut self, request: &LaunchRequest) -> Result<u32, LaunchError> {
        self.0.candidates(request)
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.0.time(works)
    }
}

/// For each candidate the launches repeat with the initial tensors, while the other statements run once. A kernel with fewer
/// candidates than another kernel of the block keeps the compiler's choice.
#[test]
fn candidates_are_measures_of_their_own() {
    let text = "kernel ab(x: mut f32[n]) grid [1] threads 32 { }
kernel four(x: mut f32[n]) grid [1] threads 32 { }
bench \"b\" {
    let x = ones(f32, 4);
    measure { ab(x) }
    assert_close(x, full(f32, 4, 2.0), ulp: 0);
    measure { print(\"once\"); four(x); ab(x) }
    assert_close(x, full(f32, 4, 4.0), ulp: 0);
    baseline ab(x)
}
";
    let (db, file) = open(text);
    let listing = list_benches(&db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let item = listing.cases[0].test.find(&db).expect("a bench");
    let item = hx_hir::Sound::of(&db, item).expect("no errors");
    let (mut lines, mut device) = (Vec::<String>::new(), Adder(Clock(10.0)));
    let options = Options { candidates: true, ..Options::default() };
    let mut session = Session::new(&db, &mut device, &mut lines, options);
    let groups = session.bench(item, None).expect("it runs");
    let mut out = format!("{lines:?}\n");
    let [group] = &groups[..] else { panic!("one group") };
    for (at, work) in group.measures.iter().enumerate() {
        let median = work.times.as_ref().map_or(0.0, |times| times.median);
        out += &format!("{} {:?} {median} µs:", work.label, work.candidate);
        for comparison in group.comparisons(at) {
            let ratio = comparison.ratio.unwrap_or(0.0);
            let apart = comparison.difference.map_or(f64::NAN, |difference| difference.absolute);
            out += &format!(" {ratio:.3}× {}, {apart} apart", comparison.other.label);
        }
        out += "\n";
    }
    for (label, error) in &group.missing {
        out += &format!("{label}: {}\n", error.message);
    }
    expect![[r#"
        ["once"]
        ab None 10 µs: 1.000× ab, 3 apart
        ab Some(1) 11 µs: 0.909× ab, 0 apart
        four + ab None 20 µs: 0.500× ab, 1 apart
        four + ab Some(1) 22 µs: 0.909× four + ab, 0 apart
        four + ab Some(3) 23 µs: 0.870× four + ab, 0 apart
        four + ab, candidate 2: too many threads
    "#]]
    .assert_eq(&out);
}

#[test]
fn benches_have_cases_and_need_a_gpu() {
    let text = format!(
        "{KERNEL}bench \"b\" for n in [1, 2] {{ let x = ones(f32, n); measure {{ k(x) }} }}\ntest \"b\" {{ }}"
    );
    let (db, file) = open(&text);
    let filter = Filter { names: vec!["[2]".to_owned()], ..Filter::default() };
    let listing = list_benches(&db, &[file], &filter, crate::WorkLimit::unlimited());
    let names: Vec<&str> = listing.cases.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["t.hx::b[2]"]);
    let mut out = String::new();
    let options = BenchOptions::default();
    run_benches(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), &|_, _| {}, |report| {
        let found = report.outcome.expect_err("the simulator does not time");
        out += &format!("{}\n{}", report.case.name, show(&db, &found));
    });
    expect![[r#"
        t.hx::b[2]
        HX0609 `bench "b" for n in [1, 2] { let x = ones(f32, n); measure { k(x) } }`: benches need a GPU; the simulator does not time
          help: `hx test` checks results on any machine
    "#]]
    .assert_eq(&out);
}

#[test]
fn the_kernels_of_all_benches_are_compiled_ahead() {
    let text = "
        kernel fill1<B = 32>(x: mut f32[n]) grid [cdiv(n, B)] threads 32 {
            let r = register_tensor(f32, [B]);
            fill(r, 1.0);
            copy(r, tile(x, [B])[.., block_idx]);
        }
        bench \"a\" for n in [64, 128] { let x = randn(f32, [n]); measure { fill1(x) } }
        bench \"b\" { let x = uniform(f32, [65]); measure { fill1<B = 64>(x) } baseline copy(8) }
    ";
    let (db, file) = open(text);
    let listing = list_benches(&db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let machine = hx_launch::Machine::TextOnly(hx_launch::Texts::new(Target::usual()));
    // The first report sets `stop`, so no later bench compiles: the kernels below come from the pass before the first bench.
    let stop = AtomicBool::new(false);
    let mut first = None;
    run_benches(&db, &listing.cases, &machine, &BenchOptions::default(), &stop, &|_, _| {}, |report| {
        first.get_or_insert((report.case.name, report.outcome.is_ok()));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(first, Some(("t.hx::a[64]".to_owned(), true)));
    let hx_launch::Machine::TextOnly(texts) = machine else { unreachable!("made above") };
    let names: Vec<String> = texts.into_sorted().into_iter().map(|(name, _)| name).collect();
    expect![[r#"
        t.hx::fill1<B = 32>
        t.hx::fill1<B = 64> n % 1"#]]
    .assert_eq(&names.join("\n"));
}

/// A bench whose kernels only compile draws no numbers: a matrix of 2³³ elements would take minutes and 8 GiB.
#[test]
fn benches_that_only_compile_draw_nothing() {
    let text = "
        kernel k(x: i8[n]) grid [1] threads 32 { let _t = load(tile(x, [32])[.., 0]); }
        bench \"b\" {
            let x = uniform(i8, [64], low: 3, high: 9, seed: 1);
            let y = randn(f32, [64], seed: 2);
            print(min(x), max(x), max(y));
            measure { k(x) }
        }
    ";
    let (db, file) = open(text);
    let listing = list_benches(&db, &[file], &Filter::default(), crate::WorkLimit::unlimited());
    let machine = hx_launch::Machine::TextOnly(hx_launch::Texts::new(Target::usual()));
    let mut printed = Vec::new();
    let stop = AtomicBool::new(false);
    run_benches(&db, &listing.cases, &machine, &BenchOptions::default(), &stop, &|_, _| {}, |report| {
        assert!(report.outcome.is_ok(), "{:?}", report.outcome);
        printed.extend(report.output);
    });
    assert_eq!(printed, ["3 3 0.0"]);
}
