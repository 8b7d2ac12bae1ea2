use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use hx_inspect::{DeviceChoice, parse_override};
use hx_launch::Machine;
use hx_target::Target;

use super::{check, open, simulator};
use crate::{Filter, TestOptions, WorkLimit, list_tests};

const TESTS: &str = r#"
test "plain" { }
test "cases" for (m, t) in [(1, f16), (2, f32), (1, f16)] { }
test "one" for n in 0..2 { }
test "plain" { }
"#;

fn names(filter: &Filter, want: Expect) {
    let (db, file) = open(TESTS);
    let listing = list_tests(&db, &[file], filter, WorkLimit::unlimited());
    let text: String = listing.cases.iter().map(|c| format!("{}\n", c.name)).collect();
    want.assert_eq(&text);
}

#[test]
fn names_are_stable_and_unique() {
    names(
        &Filter::default(),
        expect![[r#"
        t.hx::plain
        t.hx::cases[1, f16]
        t.hx::cases[2, f32]
        t.hx::cases[1, f16]#2
        t.hx::one[0]
        t.hx::one[1]
        t.hx::plain#2
    "#]],
    );
}

#[test]
fn filters() {
    let filter = |names: &[&str], exact, skip: &[&str]| {
        let owned = |v: &[&str]| v.iter().map(|s| (*s).to_owned()).collect();
        Filter { names: owned(names), exact, skip: owned(skip) }
    };
    names(
        &filter(&["one", "f32"], false, &[]),
        expect![[r#"
        t.hx::cases[2, f32]
        t.hx::one[0]
        t.hx::one[1]
    "#]],
    );
    names(
        &filter(&["t.hx::cases[1, f16]#2"], true, &[]),
        expect![[r#"
        t.hx::cases[1, f16]#2
    "#]],
    );
    names(
        &filter(&[], false, &["cases", "one"]),
        expect![[r#"
        t.hx::plain
        t.hx::plain#2
    "#]],
    );
}

#[test]
fn errors_break_the_tests_they_are_in() {
    check(
        "test \"a\" { print(1, *); }\ntest \"b\" { }",
        expect![[r#"
            HX0001 `*`: found `*` where an argument was expected
            t.hx::a: broken
            t.hx::b: passed
        "#]],
    );
    check(
        "test \"a\" for n in 3 { print(n); }\ntest \"b\" { print(1); }",
        expect![[r#"
            HX0614 `3`: found an integer, a list of cases is needed
            t.hx::a: broken
            | 1
            t.hx::b: passed
        "#]],
    );
    // A test without cases would leave no trace.
    check(
        "test \"a\" for n in [] { print(n); }\ntest \"b\" for n in 3..3 { print(n); }\ntest \"c\" { print(1); }",
        expect![[r#"
            HX0614 `[]`: found an empty list, expected at least one case
              help: nothing would run: remove the test, or write a case
            HX0614 `3..3`: found the empty range `3..3`, expected at least one case
              help: nothing would run: remove the test, or write a case
            t.hx::a: broken
            t.hx::b: broken
            | 1
            t.hx::c: passed
        "#]],
    );
}

#[test]
fn a_loop_without_end_meets_the_limit() {
    use std::sync::atomic::AtomicBool;
    let (db, file) = open("test \"loop\" { while true { } }");
    let listing = list_tests(&db, &[file], &Filter::default(), WorkLimit::unlimited());
    let options =
        crate::TestOptions { timeout: Some(Duration::from_millis(50)), ..crate::TestOptions::default() };
    let start = Instant::now();
    crate::run_tests(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), |report| {
        let crate::Verdict::Failed(found) = report.verdict else { panic!("it has no end") };
        assert_eq!(found[0].code.id, "HX0613");
    });
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The second machine collects texts and runs nothing, so its cases are skipped: each case is on the machine that its report names.
#[test]
fn machines_take_turns_and_reports_keep_the_order_of_the_text() {
    use std::sync::atomic::AtomicBool;
    let text = "kernel k(x: mut f32[32]) grid [1] threads 32 {
        let r = register_tensor(f32, [32]); fill(r, 1.0); copy(r, tile(x, [32])[.., 0]);
    }
    test \"t\" for n in [0, 1, 2, 3, 4, 5, 6] { let x = zeros(f32, [32]); k(x); assert_eq(x, ones(f32, [32])); }";
    let (db, file) = open(text);
    let listing = list_tests(&db, &[file], &Filter::default(), WorkLimit::unlimited());
    let simulator = || Machine::Simulator { target: Target::usual(), instead_of: None, compiler: None };
    let machines = [simulator(), Machine::TextOnly(hx_launch::Texts::new(Target::usual())), simulator()];
    for jobs in [1, 2, 8] {
        let options = crate::TestOptions { jobs, ..crate::TestOptions::default() };
        let mut lines = Vec::new();
        crate::run_tests_on(&db, &listing.cases, &machines, &options, &AtomicBool::new(false), |report| {
            let verdict = match &report.verdict {
                crate::Verdict::Passed => "passed",
                crate::Verdict::Skipped(_) => "skipped",
                crate::Verdict::Failed(_) => "failed",
            };
            lines.push(format!("{} {verdict} on {}", report.case.name, report.machine));
        });
        expect![[r#"
            t.hx::t[0] passed on 0
            t.hx::t[1] skipped on 1
            t.hx::t[2] passed on 2
            t.hx::t[3] passed on 0
            t.hx::t[4] skipped on 1
            t.hx::t[5] passed on 2
            t.hx::t[6] passed on 0"#]]
        .assert_eq(&lines.join("\n"));
    }
}

#[test]
fn devices_and_overrides_are_read() {
    let device = |text: &str| text.parse::<DeviceChoice>().map_err(|e| e.to_string());
    assert_eq!(device("cuda:3"), Ok(DeviceChoice::Cuda(Some(3))));
    assert_eq!(device("cuda:all"), Ok(DeviceChoice::AllCuda));
    assert_eq!(device("sim"), Ok(DeviceChoice::Sim));
    expect!["found the device `gpu`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`"]
        .assert_eq(&device("gpu").expect_err("no device"));
    let set = |text: &str| parse_override(text).map(|(n, v)| format!("{n} = {v}")).unwrap_or_else(|e| e);
    assert_eq!(set("BM=128"), "BM = 128");
    assert_eq!(set("T = bf16"), "T = bf16");
    assert_eq!(set("W=(8,8):(8,1)"), "W = (8,8):(8,1)");
    assert_eq!(set("x=0.5"), "x = 0.5");
    assert_eq!(set("BM"), "found `BM`, expected `NAME=VALUE`");
    assert_eq!(set("a b=1"), "`a b` is not a name of a compile-time parameter");
}

/// A tensor that takes minutes to fill.
const SLOW: &str = "randn(f64, [10000, 10000])";

#[test]
fn the_time_limit_covers_the_cases_of_a_test_and_what_it_computes() {
    let text = format!(
        "test \"cases\" for x in [{SLOW}] {{ print(1); }}\ntest \"body\" {{ let x = {SLOW}; }}\ntest \"good\" {{ }}\n"
    );
    let (db, file) = super::open(&text);
    let limit = Some(Duration::from_millis(300));
    let listing = list_tests(&db, &[file], &Filter::default(), WorkLimit { limit, ..WorkLimit::unlimited() });
    let mut out = super::show(&db, &listing.diagnostics);
    listing.broken.iter().for_each(|name| out += &format!("{name}: broken\n"));
    let options = TestOptions { timeout: limit, ..TestOptions::default() };
    crate::run_tests(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), |report| {
        out += &format!("{}: ", report.case.name);
        match report.verdict {
            crate::Verdict::Failed(found) => out += &super::show(&db, &found),
            other => out += &format!("{other:?}\n"),
        }
    });
    expect![[r#"
        HX0613 `randn(f64, [10000, 10000])`: stopped here, before the end
          help: `--timeout SECONDS` changes the limit
        HX0106 `x`: nothing uses `x`
        HX0106 `x`: nothing uses `x`
        t.hx::cases: broken
        t.hx::body: HX0613 `randn(f64, [10000, 10000])`: stopped here, before the end
          note: the test has run for its limit of 0.3 s
          help: `--timeout SECONDS` changes the limit
        t.hx::good: Passed
    "#]]
    .assert_eq(&out);
}
