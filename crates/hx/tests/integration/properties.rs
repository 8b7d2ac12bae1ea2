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
    check(&[PLANTED], &["test", "p.hx", "--device", "sim", "--seed", "3"], expect![[""]]);
    check(
        &[PLANTED],
        &["test", "p.hx::sums[m = 65, T = f16]", "--exact", "--device", "sim", "--seed", "3"],
        expect![[""]],
    );
    check(&[PLANTED], &["test", "p.hx", "--list"], expect![[""]]);
    check(&[PLANTED], &["test", "p.hx", "few", "--device", "sim", "--cases", "1"], expect![[""]]);
    check(&[PLANTED], &["test", "p.hx", "--device", "sim", "--cases", "0"], expect![[""]]);
}

/// Compares what programs read of each test.
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
    write("hx.toml", "[package]\nname = \"p\"\n[test]\ncases = 4\n");
    check_json(at, &["p.hx"], expect![[""]]);
    // A case that passes alone does not clear the failure of its test, and one that fails marks the test.
    check_json(at, &["p.hx::sums[m = 1, T = f16]", "--exact"], expect![[""]]);
    check_json(at, &["--failed"], expect![[""]]);
    write("p.hx", &PLANTED.1.replace("m < 65", "m < 400"));
    check_json(at, &["--failed"], expect![[""]]);
    check_json(at, &["--failed"], expect![[""]]);
    write("p.hx", PLANTED.1);
    check_json(at, &["p.hx::sums[m = 70, T = f16]", "--exact"], expect![[""]]);
    check_json(at, &["--failed"], expect![[""]]);
}
