//! Limits of time and memory, numbers that are none, and a stdout that cannot be written.

use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

use super::hx;

/// Runs a command on `a.hx` and shows the exit code and stderr, without what tells the machine.
fn check(text: &str, args: &[&str], want: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.hx"), text).expect("writable");
    let output = hx(folder.path(), args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = stderr.lines().filter(|l| !l.starts_with("device:")).map(|l| format!("{}\n", l.trim_end()));
    want.assert_eq(&format!("exit {:?}\n{}", output.status.code(), lines.collect::<String>()));
}

#[test]
fn host_tensors_stay_below_the_limit() {
    let short = ["run", "a.hx", "--device", "sim", "--message-format", "short"];
    check(
        "main { let x = zeros(f32, [1000000, 1000000]); print(x); }\n",
        &short,
        expect![[r#"
        exit Some(1)
        a.hx:1:16: error[HX0633]: found a tensor of shape [1000000, 1000000], which takes 3.6 TiB to compute with, wanted at most 4 GiB more
        1 error
    "#]],
    );
    let little = [&short[..], &["--memory", "1MiB"]].concat();
    check(
        "main { print((randn(f32, [512, 512]) @ randn(f32, [512, 512])).sum()); }\n",
        &little,
        expect![[r#"
        exit Some(1)
        a.hx:1:15: error[HX0633]: found a tensor of shape [512, 512], which takes 2 MiB to compute with, wanted at most 1 MiB more
        1 error
    "#]],
    );
    check(
        "main { let t = \"ab\"; for i in 0..60 { t = t + t; } print(1); }\n",
        &little,
        expect![[r#"
        exit Some(1)
        a.hx:1:43: error[HX0633]: found a string, which takes 2 MiB to compute with, wanted at most 1 MiB more
        1 error
    "#]],
    );
    check(
        "main { let t = (1, 1); for i in 0..40 { t = (t, t); } print(1); }\n",
        &little,
        expect![[r#"
        exit Some(1)
        a.hx:1:45: error[HX0633]: found a tuple or list that takes more than the limit of 1 MiB
        1 error
    "#]],
    );
    // What is dropped is free again.
    check(
        "main { for i in 0..100 { let x = zeros(f32, [100000]); } }\n",
        &little,
        expect![[r#"
        exit Some(0)
    "#]],
    );
}

#[test]
fn a_product_ends_at_the_time_limit() {
    check(
        "main { print((ones(f64, [20000, 8000]) @ ones(f64, [8000, 20000])).sum()); }\n",
        &["run", "a.hx", "--device", "sim", "--timeout", "1", "--message-format", "short"],
        expect![[r#"
            exit Some(1)
            a.hx:1:15: error[HX0613]: stopped here, before the end
            1 error
        "#]],
    );
}

#[test]
fn numbers_that_are_no_limits_are_refused() {
    for number in ["2e19", "1e300", "nan", "inf", "-1", "0"] {
        for verb in ["run", "test", "bench", "repl"] {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::write(folder.path().join("a.hx"), "main {}\n").expect("writable");
            let file: &[&str] = if verb == "repl" { &[] } else { &["a.hx"] };
            for flag in ["--timeout", "--memory"] {
                let output = hx(folder.path(), &[&[verb], file, &[&format!("{flag}={number}")]].concat());
                assert_eq!(output.status.code(), Some(2), "{verb} {flag} {number}");
            }
            std::fs::write(folder.path().join("hx.toml"), format!("[test]\ntimeout = {number}\n"))
                .expect("writable");
            let output = hx(folder.path(), &[&[verb], file].concat());
            assert_eq!(output.status.code(), Some(1), "{verb} hx.toml {number}");
        }
    }
}

/// Runs a command whose stdout is a full disk.
#[cfg(target_os = "linux")]
fn on_a_full_disk(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the system has it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hx"));
    command.args(args).current_dir(folder).env("HX_CACHE_DIR", folder.join("cache"));
    let output = command.stdin(Stdio::null()).stdout(full).output().expect("the binary starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_is_lost_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "main { print(1); }\ntest \"t\" { assert(true); }\nkernel k(c: mut f32[32]) grid [1] threads 32 { copy(load(c) + 1.0, c); }\n";
    std::fs::write(folder.path().join("a.hx"), text).expect("writable");
    std::fs::write(folder.path().join("e.hx"), "1 + 1\n").expect("writable");
    let commands: [&[&str]; 12] = [
        &["--help"],
        &["--version"],
        &["run", "--help"],
        &["run", "a.hx", "--device", "sim"],
        &["test", "a.hx", "--device", "sim"],
        &["test", "a.hx", "--list"],
        &["check", "a.hx", "--emit", "tile"],
        &["explain", "HX0301"],
        &["explain"],
        &["completions", "bash"],
        &["layout", "eval", "(4, 2) : (2, 1)"],
        &["cache"],
    ];
    for args in commands {
        let (code, told) = on_a_full_disk(folder.path(), args);
        assert!(told.contains("cannot write to stdout"), "{args:?}: {code:?} {told}");
        assert_eq!(code, Some(3), "{args:?}");
    }
}
