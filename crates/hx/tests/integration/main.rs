//! End-to-end tests of the binary: streams, exit codes, the last line.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod bench;
mod blame;
mod build;
mod calibrate;
mod costs;
mod errors;
mod fmt;
mod layout;
mod limits;
mod orders;
mod properties;
mod repeating;
mod reports;
mod stepping;
mod testing;
mod tune;
mod unchecked;
mod why;
mod why_not;
mod why_not_compared;

use std::path::Path;
use std::process::{Command, Output};

use expect_test::{Expect, expect};

fn hx(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hx"));
    command.args(args).current_dir(folder);
    for name in ["HX_DEVICE", "HX_TARGET", "CLICOLOR_FORCE", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.env("HX_CACHE_DIR", folder.join("cache")).output().expect("the binary starts")
}

/// Runs in a folder with these files, and compares the exit code and both streams.
fn check(files: &[(&str, &str)], args: &[&str], want: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("writable");
    }
    let output = hx(folder.path(), args);
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&folder.path().display().to_string(), "DIR");
        // Remove times, which differ between runs.
        let line = |l: &str| match l.rsplit_once(" (") {
            Some((head, tail)) if tail.ends_with("ms)") || tail.ends_with(" s)") => head.to_owned(),
            _ => l.to_owned(),
        };
        text.lines().map(|l| format!("{}\n", line(l).trim_end())).collect::<String>()
    };
    let code = output.status.code().map_or("none".to_owned(), |c| c.to_string());
    want.assert_eq(&format!("exit {code}\n{}--\n{}", shown(&output.stdout), shown(&output.stderr)));
}

const GOOD: (&str, &str) =
    ("good.hx", "test \"sums\" for n in [1, 2] { assert_eq(ones(f32, n).sum(), n); }\n");
const BAD: (&str, &str) = ("bad.hx", "test \"fails\" { print(\"before\"); assert(1 == 2); }\n");

#[test]
fn tests_pass_and_fail() {
    check(
        &[GOOD],
        &["test", "good.hx", "--device", "sim"],
        expect![[r#"
        exit 0
        test good.hx::sums[1] ... ok
        test good.hx::sums[2] ... ok
        2 passed, 0 failed, 0 skipped
        --
        device: simulator (sm_90a)
    "#]],
    );
    check(
        &[GOOD, BAD],
        &["test", "--device", "sim", "--message-format", "short"],
        expect![[r#"
        exit 1
        test bad.hx::fails ... FAILED
        test good.hx::sums[1] ... ok
        test good.hx::sums[2] ... ok
        2 passed, 1 failed, 0 skipped
        --
        device: simulator (sm_90a)
          | before
        bad.hx:1:40: error[HX0612]: `1 == 2` does not hold
          rerun: hx test 'bad.hx::fails' --exact --device sim --seed 0

    "#]],
    );
    check(
        &[GOOD, BAD],
        &["test", "good.hx::sums[2]", "--exact", "--device", "sim"],
        expect![[r#"
        exit 0
        test good.hx::sums[2] ... ok
        1 passed, 0 failed, 0 skipped
        --
        device: simulator (sm_90a)
    "#]],
    );
    check(
        &[GOOD],
        &["test", "good.hx", "nothing"],
        expect![[r#"
        exit 4
        0 passed, 0 failed, 0 skipped
        --
        no test matches
    "#]],
    );
    // An error in another file does not affect the counts.
    check(
        &[GOOD, ("broken.hx", "const A = 1 +;\n")],
        &["test", "nothing", "--message-format", "short"],
        expect![[r#"
            exit 1
            0 passed, 0 failed, 0 skipped
            --
            broken.hx:1:14: error[HX0001]: found `;` where an expression was expected
            no test matches
        "#]],
    );
    check(
        &[GOOD],
        &["test", "--list"],
        expect![[r#"
        exit 0
        good.hx::sums[1]
        good.hx::sums[2]
        --
    "#]],
    );
}

#[test]
fn main_prints_to_stdout() {
    let file =
        ("m.hx", "main { print(args[0], 1 + 1); save(args[1], ones(f16, [2, 2])); print(load(args[1])); }\n");
    check(
        &[file],
        &["run", "m.hx", "--device", "sim", "--", "hello", "x.npy"],
        expect![[r#"
        exit 0
        hello 2
        f16[2, 2]
        [[1.0, 1.0],
         [1.0, 1.0]]
        --
        device: simulator (sm_90a)
    "#]],
    );
    check(
        &[file],
        &["run", "m.hx", "--device", "sim", "--", "hello", "no/x.npy"],
        expect![[r#"
            exit 1
            hello 2
            --
            device: simulator (sm_90a)
            error[HX0627]: cannot write `no/x.npy`: no such folder
               ╭─[ m.hx:1:31 ]
               │
             1 │ main { print(args[0], 1 + 1); save(args[1], ones(f16, [2, 2])); print(load(args[1])); }
               │                               ────────────────┬───────────────
               │                                               ╰───────────────── here
            ───╯

            1 error
        "#]],
    );
}

#[test]
fn mistakes_of_the_command_line_are_2() {
    let code = |args: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        hx(folder.path(), args).status.code()
    };
    assert_eq!(code(&["frobnicate"]), Some(2));
    assert_eq!(code(&["test", "--device", "gpu"]), Some(2));
    assert_eq!(code(&["check", "--target", "sm_1"]), Some(2));
    assert_eq!(code(&["explain", "HX9999"]), Some(2));
    assert_eq!(code(&["run"]), Some(2));
    assert_eq!(code(&["explain", "HX0612"]), Some(0));
    assert_eq!(code(&["explain", "0612"]), Some(0));
    assert_eq!(code(&["explain", "hx0612"]), Some(0));
    assert_eq!(code(&["doctor"]), Some(0));
    assert_eq!(code(&["--version"]), Some(0));
    assert_eq!(code(&[]), Some(0));
    check(
        &[GOOD],
        &["check", "good.hx", "--emit", "tile", "--set", "BM"],
        expect![[r#"
        exit 2
        --
        error: --set BM: found `BM`, expected `NAME=VALUE`

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn checking() {
    check(
        &[GOOD],
        &["check", "good.hx"],
        expect![[r#"
        exit 0
        --
        checked 1 file for sm_90a: no errors
    "#]],
    );
    check(
        &[("b.hx", "main { let x = ; }\n")],
        &["check", "b.hx", "--message-format", "short"],
        expect![[r#"
            exit 1
            --
            b.hx:1:12: warning[HX0106]: nothing uses `x`
            b.hx:1:16: error[HX0001]: found `;` where an expression was expected
            1 error, 1 warning
        "#]],
    );
    check(
        &[],
        &["check", "nowhere.hx"],
        expect![[r#"
        exit 1
        --
        error[HX0606]: cannot open `nowhere.hx`: no such file or folder
    "#]],
    );
    check(
        &[("hx.toml", "[tset]\n"), GOOD],
        &["check", "--message-format", "short"],
        expect![[r#"
        exit 1
        --
        hx.toml:1:2: error[HX0625]: found the table `tset`, which means nothing
    "#]],
    );
}

#[test]
fn stages_are_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |name: &str| {
        format!(
            "kernel {name}(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {{\n    let r = register_tensor(f32, [256]);\n    \
             copy(tile(x, [256])[.., block_idx], r);\n    copy(r, tile(y, [256])[.., block_idx]);\n}}\n"
        )
    };
    std::fs::write(folder.path().join("a.hx"), copy("first") + &copy("second")).expect("writable");
    std::fs::write(folder.path().join("b.hx"), copy("third")).expect("writable");
    let output = hx(folder.path(), &["check", "--timings", "."]);
    let table = String::from_utf8_lossy(&output.stdout);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut lines = table.lines().map(words);
    assert_eq!(lines.next(), Some(words("ms tile layouts thread cuda sync checks all")), "{table}");
    let kernels: Vec<String> = lines.clone().filter_map(|line| line.first().cloned()).collect();
    assert_eq!(kernels, ["first", "second", "third"]);
    assert!(lines.all(|line| line[1..].iter().all(|time| time.parse::<f64>().is_ok())), "{table}");
    let output = hx(folder.path(), &["check", "--timings", "--message-format", "json", "b.hx"]);
    let times: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((&times["path"], &times["kernel"]), (&"b.hx".into(), &"third".into()));
    assert!(times["milliseconds"]["layouts"].is_f64());
}

/// With `STAGES = 1` the loop that fills the pipeline never runs, so its indices cause no error. The only error is the wait for -1
/// groups.
#[test]
fn a_pipeline_of_one_stage_waits_for_none() {
    check(
        &[],
        &[
            "--message-format",
            "short",
            "check",
            "std/matmul_pipelined.hx",
            "--emit",
            "tile",
            "--set",
            "STAGES=1",
        ],
        expect![[r#"
            exit 1
            --
            std/matmul_pipelined.hx:35:14: error[HX0216]: found -1 groups, expected 0 to 64
        "#]],
    );
}

/// Constraints without a solution are shown as far as they were built, followed by the reason. The other kernels of the file are
/// shown normally.
#[test]
fn constraints_without_a_solution_are_shown() {
    let text = "\
kernel apart(x: f16[m, n], y: mut f16[n, m]) grid [1] threads 64 {
    let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (1, 64));
    copy_async(tile(x, [64, 64])[.., .., 0, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [64, 64])[.., .., 0, 0]);
}
kernel plain(x: f16[m], y: mut f16[m]) grid [1] threads 32 {
    copy(load(tile(x, [256])[.., 0]), tile(y, [256])[.., 0]);
}
";
    check(
        &[("k.hx", text)],
        &["--message-format", "short", "check", "k.hx", "--emit", "constraints"],
        expect![[r#"
            exit 1
            #0 copy_async(x[0..64, 0..64], s[0..64, 0..64])
                m_s = (64,64):(1,64) (pinned)
                m_s ∘ p⁻¹ = m_x ∘ p⁻¹
                m_s = (64,(2,32)):(D,(1,D))
            #4 copy(s[0..64, 0..64], s_tile)
                f_s_tile ∘ q⁻¹ = m_s ∘ p⁻¹
                m_s = (64,64):(D,D)
            #5 copy(s_tile, y[0..64, 0..64])
                f_s_tile ∘ q⁻¹ = m_y ∘ p⁻¹
                with st.global.v4.b32

            #0 copy(x[0..256], x_tile)
                f_x_tile ∘ q⁻¹ = m_x ∘ p⁻¹
                with ld.global.v4.b32
            #1 copy(x_tile, y[0..256])
                f_x_tile ∘ q⁻¹ = m_y ∘ p⁻¹
                with st.global.v4.b32
            --
            k.hx:3:5: error[HX0301]: `s` is pinned to a layout that one of its accesses cannot use
        "#]],
    );
}

/// Several threads check the files, but the diagnostics come in the order of the paths.
#[test]
fn many_files_are_checked_in_order() {
    let names: Vec<String> = (10..40).map(|i| format!("f{i}.hx")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "const A = ;\n")).collect();
    let errors: String = names
        .iter()
        .map(|name| format!("{name}:1:11: error[HX0001]: found `;` where an expression was expected\n"))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("writable");
    }
    let output = hx(folder.path(), &["check", "--message-format", "short"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{errors}30 errors\n"));
}

#[test]
fn the_version_says_who_it_is() {
    let output = hx(Path::new("."), &["--version"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("the hx kernel language toolchain"));
}
