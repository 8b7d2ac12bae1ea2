//! End-to-end tests of tests with a `forall`: the report, the rerun line, the history, and the number of cases.

use std::path::Path;

use expect_test::{Expect, expect};

use super::{check, hx};

const PLANTED: (&str, &str) = (
    "p.hx",
    r#"
test "sums" forall m in 1..=300, T in [f16, f32] {
    let x = randn(T, [m]);
    assert(m < 65 || T == f32 || x[0] > 100);
}
test "few" forall T in [f16, bf16] { assert(T != f32); }
"#,
);

#[test]
fn the_smallest_case_is_reported_with_its_rerun() {
    check(
        &[PLANTED],
        &["test", "p.hx", "--device", "sim", "--seed", "3"],
        expect![[r#"
            exit 1
            test p.hx::sums ... FAILED
            test p.hx::few ... ok
            1 passed, 1 failed, 0 skipped
            --
            device: simulator (sm_90a)
            error[HX0612]: `m < 65 || T == f32 || x[0] > 100` does not hold
               ╭─[ p.hx:4:12 ]
               │
             4 │     assert(m < 65 || T == f32 || x[0] > 100);
               │            ────────────────┬───────────────
               │                            ╰───────────────── here
               │
               │ Note 1: the smallest case that fails: m = 65, T = f16, shrunk from m = 256, T = f16 in 27 runs
               │
               │ Note 2: `m < 65` is false: left 65, right 65
               │
               │ Note 3: `T == f32` is false: left f16, right f32
               │
               │ Note 4: `x[0] > 100` is false: left 0.3193359375, right 100
            ───╯

              seed: 3
              rerun: hx test 'p.hx::sums[m = 65, T = f16]' --exact --device sim --seed 3

        "#]],
    );
    check(
        &[PLANTED],
        &["test", "p.hx::sums[m = 65, T = f16]", "--exact", "--device", "sim", "--seed", "3"],
        expect![[r#"
            exit 1
            test p.hx::sums[m = 65, T = f16] ... FAILED
            0 passed, 1 failed, 0 skipped
            --
            device: simulator (sm_90a)
            error[HX0612]: `m < 65 || T == f32 || x[0] > 100` does not hold
               ╭─[ p.hx:4:12 ]
               │
             4 │     assert(m < 65 || T == f32 || x[0] > 100);
               │            ────────────────┬───────────────
               │                            ╰───────────────── here
               │
               │ Note 1: `m < 65` is false: left 65, right 65
               │
               │ Note 2: `T == f32` is false: left f16, right f32
               │
               │ Note 3: `x[0] > 100` is false: left 0.3193359375, right 100
            ───╯

              seed: 3
              rerun: hx test 'p.hx::sums[m = 65, T = f16]' --exact --device sim --seed 3

        "#]],
    );
    check(
        &[PLANTED],
        &["test", "p.hx", "--list"],
        expect![[r#"
        exit 0
        p.hx::sums
        p.hx::few
        --
    "#]],
    );
    check(
        &[PLANTED],
        &["test", "p.hx", "few", "--device", "sim", "--cases", "1"],
        expect![[r#"
        exit 0
        test p.hx::few ... ok
        1 passed, 0 failed, 0 skipped
        --
        device: simulator (sm_90a)
    "#]],
    );
    check(
        &[PLANTED],
        &["test", "p.hx", "--device", "sim", "--cases", "0"],
        expect![[r#"
        exit 2
        --
        error: invalid value '0' for '--cases <N>': 0 is not in 1..=4294967295

        For more information, try '--help'.
    "#]],
    );
}

/// Compares the name, result, number of cases, failing case and rerun command of each test in the JSON output.
fn check_json(folder: &Path, args: &[&str], want: Expect) {
    let output = hx(folder, &[&["test", "--device", "sim", "--format", "json"], args].concat());
    let mut shown = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("an object");
        if object["type"] == "test" {
            let part = |name: &str| object[name].to_string();
            let parts = ["name", "result", "cases", "failing_case", "rerun"].map(part);
            shown += &format!("{}\n", parts.join(" "));
        }
    }
    want.assert_eq(&shown);
}

#[test]
fn programs_and_the_history_see_one_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("writable");
    write("p.hx", PLANTED.1);
    write("hx.toml", "[package]\nname = \"p\"\n[test]\ncases = 16\n");
    check_json(
        at,
        &["p.hx"],
        expect![[r#"
            "p.hx::sums" "failed" 14 "m = 65, T = f16" "hx test 'p.hx::sums[m = 65, T = f16]' --exact --device sim --seed 0"
            "p.hx::few" "passed" 2 null "hx test 'p.hx::few' --exact --device sim --seed 0"
        "#]],
    );
    // A case that passes alone does not clear the failure of its test.
    check_json(
        at,
        &["p.hx::sums[m = 1, T = f16]", "--exact"],
        expect![[r#"
        "p.hx::sums[m = 1, T = f16]" "passed" null null "hx test 'p.hx::sums[m = 1, T = f16]' --exact --device sim --seed 0"
    "#]],
    );
    // The failed case runs first.
    check_json(
        at,
        &["--failed", "--seed", "9"],
        expect![[r#"
        "p.hx::sums" "failed" 1 "m = 65, T = f16" "hx test 'p.hx::sums[m = 65, T = f16]' --exact --device sim --seed 9"
    "#]],
    );
    write("p.hx", &PLANTED.1.replace("m < 65", "m < 400"));
    check_json(
        at,
        &["--failed"],
        expect![[r#"
        "p.hx::sums" "passed" 16 null "hx test 'p.hx::sums' --exact --device sim --seed 0"
    "#]],
    );
    check_json(at, &["--failed"], expect![[""]]);
    // A case that fails alone is a failure of its test, and is found without being drawn.
    write("p.hx", PLANTED.1);
    check_json(
        at,
        &["p.hx::sums[m = 70, T = f16]", "--exact"],
        expect![[r#"
        "p.hx::sums[m = 70, T = f16]" "failed" null null "hx test 'p.hx::sums[m = 70, T = f16]' --exact --device sim --seed 0"
    "#]],
    );
    check_json(
        at,
        &["--failed", "--cases", "1"],
        expect![[r#"
        "p.hx::sums" "failed" 1 "m = 65, T = f16" "hx test 'p.hx::sums[m = 65, T = f16]' --exact --device sim --seed 0"
    "#]],
    );
    write("p.hx", &PLANTED.1.replace("1..=300", "1..=60"));
    check_json(
        at,
        &["--failed", "--cases", "1"],
        expect![[r#"
        "p.hx::sums" "passed" 1 null "hx test 'p.hx::sums' --exact --device sim --seed 0 --cases 1"
    "#]],
    );
}
