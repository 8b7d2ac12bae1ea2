//! End-to-end tests of `hx test`: choosing tests, report formats, the history of failures, Ctrl-C, skipped assertions,
//! `--fail-fast`, shards, and the slowest tests.

use std::path::Path;

use expect_test::{Expect, expect};

use super::hx;

const MIXED: &str = r#"
/// Sums.
test "sums" for n in [1, 2] { assert_eq(ones(f32, n).sum(), n); }
test "a < b" { print("before"); assert(1 == 2, "no & \"never\""); }
"#;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("writable");
    }
    folder
}

/// Compares the exit code and stdout, without times.
fn check(folder: &Path, args: &[&str], want: Expect) {
    let output = hx(folder, &[&["test", "--device", "sim"], args].concat());
    let mut shown = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line = match line.rsplit_once(" (") {
            Some((head, tail)) if tail.ends_with("ms)") || tail.ends_with(" s)") => head,
            _ => line,
        };
        // Remove times, which differ between runs.
        let mut rest = line;
        while let Some((head, tail)) = rest.split_once("time=\"") {
            shown += head;
            rest = tail.split_once('"').map_or("", |(_, tail)| tail.trim_start());
        }
        shown += &format!("{}\n", rest.trim_end());
    }
    let code = output.status.code().map_or("none".to_owned(), |c| c.to_string());
    want.assert_eq(&format!("exit {code}\n{shown}"));
}

#[test]
fn failed_tests_run_again() {
    let folder = folder(&[("a.hx", MIXED), ("b.hx", "test \"fine\" { assert(true); }\n")]);
    let at = folder.path();
    check(
        at,
        &["--failed"],
        expect![[r#"
        exit 4
        0 passed, 0 failed, 0 skipped
    "#]],
    );
    check(
        at,
        &[],
        expect![[r#"
        exit 1
        test a.hx::sums[1] ... ok
        test a.hx::sums[2] ... ok
        test a.hx::a < b ... FAILED
        test b.hx::fine ... ok
        3 passed, 1 failed, 0 skipped
    "#]],
    );
    check(
        at,
        &["--failed"],
        expect![[r#"
        exit 1
        test a.hx::a < b ... FAILED
        0 passed, 1 failed, 0 skipped
    "#]],
    );
    // The history keeps the results of tests that did not run.
    check(
        at,
        &["b.hx"],
        expect![[r#"
        exit 0
        test b.hx::fine ... ok
        1 passed, 0 failed, 0 skipped
    "#]],
    );
    check(
        at,
        &["--failed", "--list"],
        expect![[r#"
        exit 0
        a.hx::a < b
    "#]],
    );
    check(
        at,
        &["--failed", "b.hx"],
        expect![[r#"
        exit 4
        0 passed, 0 failed, 0 skipped
    "#]],
    );
    std::fs::write(at.join("a.hx"), MIXED.replace("1 == 2", "1 == 1")).expect("writable");
    check(
        at,
        &["--failed"],
        expect![[r#"
        exit 0
        test a.hx::a < b ... ok
        1 passed, 0 failed, 0 skipped
    "#]],
    );
    check(
        at,
        &["--failed"],
        expect![[r#"
        exit 4
        0 passed, 0 failed, 0 skipped
    "#]],
    );
    // A test with errors represents all of its cases.
    std::fs::write(at.join("a.hx"), MIXED.replace("ones(f32, n)", "one(f32, n)")).expect("writable");
    check(
        at,
        &["--message-format", "short"],
        expect![[r#"
        exit 1
        test a.hx::sums ... FAILED (it has errors)
        test a.hx::a < b ... FAILED
        test b.hx::fine ... ok
        1 passed, 2 failed, 0 skipped
    "#]],
    );
    std::fs::write(at.join("a.hx"), MIXED).expect("writable");
    check(
        at,
        &["--failed", "--list"],
        expect![[r#"
        exit 0
        a.hx::sums[1]
        a.hx::sums[2]
        a.hx::a < b
    "#]],
    );
}

#[test]
fn junit() {
    let folder = folder(&[("a.hx", MIXED)]);
    check(
        folder.path(),
        &["--format", "junit"],
        expect![[r#"
        exit 1
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="3" failures="1" errors="0" skipped="0" >
          <testsuite name="a.hx" tests="3" failures="1" errors="0" skipped="0" >
            <testcase classname="a.hx" name="sums[1]" />
            <testcase classname="a.hx" name="sums[2]" />
            <testcase classname="a.hx" name="a &lt; b" >
              <failure message="no &amp; &quot;never&quot;" type="assertion-failed">error[HX0612]: no &amp; "never"
           ╭─[ a.hx:4:40 ]
           │
         4 │ test "a &lt; b" { print("before"); assert(1 == 2, "no &amp; \"never\""); }
           │                                        ───┬──
           │                                           ╰──── here
           │
           │ Note 1: `1 == 2` does not hold
           │
           │ Note 2: left: 1
           │
           │ Note 3: right: 2
        ───╯
        rerun: hx test 'a.hx::a &lt; b' --exact --device sim --seed 0
        </failure>
              <system-out>before
        </system-out>
            </testcase>
          </testsuite>
        </testsuites>
    "#]],
    );
}

#[test]
fn lists_for_programs() {
    let folder = folder(&[("a.hx", MIXED)]);
    check(
        folder.path(),
        &["--list", "--format", "json"],
        expect![[r#"
            exit 0
            {"type":"case","name":"a.hx::sums[1]","place":{"path":"a.hx","line":3,"column":1}}
            {"type":"case","name":"a.hx::sums[2]","place":{"path":"a.hx","line":3,"column":1}}
            {"type":"case","name":"a.hx::a < b","place":{"path":"a.hx","line":4,"column":1}}
        "#]],
    );
}

#[test]
fn choosing() {
    let folder = folder(&[("a.hx", MIXED)]);
    let at = folder.path();
    check(
        at,
        &["--skip", "sums", "--list"],
        expect![[r#"
        exit 0
        a.hx::a < b
    "#]],
    );
    check(
        at,
        &["--skip", "a.hx::sums[1]", "--exact", "--list"],
        expect![[r#"
        exit 0
        a.hx::sums[2]
        a.hx::a < b
    "#]],
    );
    check(
        at,
        &["sums", "a <", "--list"],
        expect![[r#"
        exit 0
        a.hx::sums[1]
        a.hx::sums[2]
        a.hx::a < b
    "#]],
    );
    check(
        at,
        &["sums", "--exact"],
        expect![[r#"
        exit 4
        0 passed, 0 failed, 0 skipped
    "#]],
    );
}

/// The complete report of a wrong kernel.
#[test]
fn a_failure_says_all_of_it() {
    let text = r#"
kernel double(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let r = register_tensor(f16, [64, 64]);
    copy(global_view(x[bm * 64.., bn * 64..], (64, 64) : (n, 1)), r);
    copy(r + r + r, global_view(y[bm * 64.., bn * 64..], (64, 64) : (n, 1)));
}
test "it's double" {
    let x = full(f16, [96, 70], 1.5);
    let y = empty(f16, [96, 70]);
    double(x, y);
    x[..64, ..] *= 1.5;
    print(randn(f16, [1, 1]).shape);
    assert_close(y, x * 2, ulp: 1);
}
"#;
    let folder = folder(&[("w.hx", text)]);
    let output = hx(folder.path(), &["test", "--device", "sim", "--seed", "7", "--target", "sm_80"]);
    expect![[r#"
        device: simulator (sm_80)
          | (1, 1)
        error[HX0612]: 2240 of 6720 elements of f16[96, 70] are not within ulp: 1 of the reference
            ╭─[ w.hx:17:5 ]
            │
          6 │     let [bm, bn] = block_idx;
            │                    ────┬────
            │                        ╰────── `bm` = 1, `bn` = 0
            │
          8 │     copy(global_view(x[bm * 64.., bn * 64..], (64, 64) : (n, 1)), r);
            │     ────────────────────────────────┬───────────────────────────────
            │                                     ╰───────────────────────────────── block [1, 0] reads `x[64..96, 0..64]`, `r` = 1.5
          9 │     copy(r + r + r, global_view(y[bm * 64.., bn * 64..], (64, 64) : (n, 1)));
            │     ─────────┬──────────────────────────┬───────────────────────────────────
            │              ╰──────────────────────────────────────────────────────────────── value 4.5
            │                                         │
            │                                         ╰───────────────────────────────────── block [1, 0] writes `y[64..96, 0..64]`
            │
         17 │     assert_close(y, x * 2, ulp: 1);
            │     ───────────────┬──────────────
            │                    ╰──────────────── here
            │
            │ Note 1: first at [64, 0]: got 4.5, expected 3.0
            │
            │ Note 2: worst at [64, 0]: absolute 1.50, relative 0.50, 384 ulp of f16 (got 4.5, expected 3.0)
            │
            │ Note 3: wrong: rows 64..96, the last 32
            │
            │ Note 4: all of them are 1.5 times the reference
            │
            │ Note 5: [64, 0] was written in block [1, 0] by thread 0 (warp 0), from value 0 of the stored tile in its layout ((32,4),(2,16)):((128,1),(64,4)); the lines show the values that led to it
            │
            │ Note 6: the wrong elements are those that blocks [1, 0] and [1, 1] wrote
        ────╯

          seed: 7
          rerun: hx test 'w.hx::it'\''s double' --exact --device sim --target sm_80 --seed 7
          step:  hx step 'w.hx::it'\''s double' --exact --seed 7 --target sm_80

    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
    // The printed command reproduces the failure.
    let name = "w.hx::it's double";
    let again = ["test", name, "--exact", "--device", "sim", "--target", "sm_80", "--seed", "7"];
    let again = hx(folder.path(), &again);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(again.stderr, output.stderr);
}

#[test]
fn the_report_is_the_same_for_any_number_of_jobs() {
    let text: String = (0..12)
        .map(|i| format!("test \"t{i}\" {{ print({i}, randn(f32, [1, 2])); for _ in 0..{} {{ }} assert({i} % 3 > 0); }}\n", (12 - i) * 500))
        .collect();
    let folder = folder(&[("t.hx", &text)]);
    let run = |jobs: &str| {
        let output = hx(folder.path(), &["test", "--device", "sim", "-j", jobs, "--format", "json"]);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let without_time = |l: &str| {
            let (head, tail) = l.split_once("\"seconds\":").unwrap_or((l, ""));
            format!("{head}{}\n", tail.split_once(',').unwrap_or_default().1)
        };
        (stdout.lines().map(without_time).collect::<String>(), output.stderr)
    };
    let one = run("1");
    assert_eq!(one.0.lines().count(), 13);
    assert!(one == run("2") && one == run("7"));
}

/// Starts the process, waits for its first line, and sends it SIGINT. Returns its exit code, stdout and stderr.
#[cfg(unix)]
fn interrupted(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};

    let mut child = Command::new(env!("CARGO_BIN_EXE_hx"))
        .args(args)
        .current_dir(folder)
        .env("HX_CACHE_DIR", folder.join("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    stdout.read_line(&mut said).expect("readable");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
    stdout.read_to_string(&mut said).expect("readable");
    let mut errors = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut errors).expect("readable");
    (child.wait().expect("it ended").code(), said, errors)
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_in_order() {
    let text = "test \"first\" { assert(1 == 2); }\ntest \"second\" { while true { } }\ntest \"third\" { }\n";
    let folder = folder(&[("t.hx", text), ("m.hx", "main { print(\"on\"); while true { } }\n")]);
    let (code, stdout, stderr) =
        interrupted(folder.path(), &["test", "-j", "1", "--device", "sim", "--message-format", "short"]);
    assert_eq!(code, Some(130));
    assert!(stdout.ends_with("0 passed, 1 failed, 0 skipped\n"), "{stdout}");
    assert!(stderr.ends_with("interrupted: 1 of 3 tests ended\n  interrupted in t.hx::second\n"), "{stderr}");
    // The history contains the tests that ended before the interrupt.
    check(
        folder.path(),
        &["--failed", "--list"],
        expect![[r#"
        exit 0
        t.hx::first
    "#]],
    );
    let (code, stdout, stderr) = interrupted(folder.path(), &["run", "m.hx", "--device", "sim"]);
    assert_eq!((code, stdout.as_str()), (Some(130), "on\n"));
    assert!(stderr.ends_with("interrupted\n"), "{stderr}");
}

const SCALE: &str = r#"
kernel scale(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 512)]
    threads 128
{
    let [b] = block_idx;
    let r = register_tensor(f32, [512]);
    copy(global_view(x[b * 512..], (512) : (1)), r);
    copy(r * 2.0, global_view(y[b * 512..], (512) : (1)));
}
"#;

#[test]
fn a_skipped_assertion_is_counted() {
    let test = r#"
test "code" {
    let x = ones(f32, 1024);
    let y = empty(f32, 1024);
    scale(x, y);
    assert(uses("ld.global.v4") && bytes_per_access("r") == 16);
    assert(spills() == 0);
}
"#;
    let folder = folder(&[("c.hx", &format!("{SCALE}{test}"))]);
    // First without a CUDA compiler, then with the machine's own, if it has one.
    let missing = ["test", "--device", "sim", "--nvrtc", "nowhere"];
    let output = hx(folder.path(), &missing);
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains(", 1 assertion skipped)\n1 passed, 0 failed, 0 skipped\n"), "{stdout}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("1 assertion was skipped: `spills` is not known: "), "{stderr}");
    let json = hx(folder.path(), &[missing.as_slice(), &["--format", "json"]].concat());
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    assert!(json.contains("\"skipped_assertions\":[\"`spills` is not known: "), "{json}");
    // With a compiler the assertion is judged.
    let output = hx(folder.path(), &["test", "--device", "sim"]);
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let judged = !String::from_utf8_lossy(&output.stdout).contains("assertion skipped");
    assert!(judged || stderr.contains("the CUDA compiler"), "{stderr}");
    assert!(judged || std::env::var_os("HX_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "{stderr}");
    // If the run before found a compiler, the code is cached, and the assertion is judged without a compiler.
    let again = hx(folder.path(), &missing);
    let skips = String::from_utf8_lossy(&again.stdout).contains("assertion skipped");
    assert_eq!(skips, !judged);
}

const FIVE: &str = r#"
test "sums" for n in [1, 2, 3, 4] { assert(n != 2); }
test "broken" { assert(missing); }
"#;

#[test]
fn a_failure_can_stop_the_run() {
    let folder = folder(&[("a.hx", &FIVE.replace("test \"broken\" { assert(missing); }", ""))]);
    let args = ["--fail-fast", "--jobs", "1"];
    check(
        folder.path(),
        &args,
        expect![[r#"
            exit 1
            test a.hx::sums[1] ... ok
            test a.hx::sums[2] ... FAILED
            1 passed, 1 failed, 0 skipped
        "#]],
    );
    let output = hx(folder.path(), &[&["test", "--device", "sim"], &args[..]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("stopped after a failure: 2 of 4 tests ended"), "{told}");
    // A test that cannot run has failed before any other begins.
    std::fs::write(folder.path().join("a.hx"), FIVE).expect("writable");
    check(
        folder.path(),
        &args,
        expect![[r#"
            exit 1
            test a.hx::broken ... FAILED (it has errors)
            0 passed, 1 failed, 0 skipped
        "#]],
    );
}

#[test]
fn shards_are_disjoint_and_together_all() {
    let folder = folder(&[("a.hx", FIVE)]);
    let listed = |args: &[&str]| {
        let output = hx(folder.path(), &[&["test", "--list"], args].concat());
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = listed(&[]);
    let parts: Vec<Vec<String>> = ["1/3", "2/3", "3/3"].map(|part| listed(&["--shard", part])).to_vec();
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    let mut together = parts.concat();
    together.sort();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!((all.len(), together), (5, sorted));
    for wrong in ["0/3", "4/3", "3", "a/b"] {
        let output = hx(folder.path(), &["test", "--shard", wrong]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains("such as 1/4"), "{told}");
    }
    // There are fewer tests than shards, so the last shard is empty; that is not an error.
    std::fs::write(folder.path().join("a.hx"), MIXED).expect("writable");
    let output = hx(folder.path(), &["test", "--device", "sim", "--shard", "9/9", "sums"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 passed, 0 failed, 0 skipped\n");
}

#[test]
fn the_slowest_tests_are_listed() {
    let folder = folder(&[("a.hx", MIXED)]);
    let output = hx(folder.path(), &["test", "--device", "sim", "--slowest=2"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("slowest 2 of 3 tests, which took "), "{told}");
    let listed = told.lines().skip_while(|line| !line.starts_with("slowest")).skip(1).take(2);
    assert!(listed.clone().count() == 2 && listed.clone().all(|line| line.contains("a.hx::")), "{told}");
}
