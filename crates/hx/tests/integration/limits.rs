//! Limits of time and memory, invalid numbers, and a stdout or a file that cannot be written.

use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

use super::hx;

/// Runs a command on `a.hx`, and compares the exit code and stderr without the line about the machine.
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
            a.hx:1:16: error[HX0633]: found a tensor of shape [1000000, 1000000], which takes 3.6 TiB to compute with, expected at most 4 GiB more
            1 error
        "#]],
    );
    let little = [&short[..], &["--memory", "1MiB"]].concat();
    check(
        "main { print((randn(f32, [512, 512]) @ randn(f32, [512, 512])).sum()); }\n",
        &little,
        expect![[r#"
            exit Some(1)
            a.hx:1:15: error[HX0633]: found a tensor of shape [512, 512], which takes 2 MiB to compute with, expected at most 1 MiB more
            1 error
        "#]],
    );
    check(
        "main { let t = \"ab\"; for i in 0..60 { t = t + t; } print(1); }\n",
        &little,
        expect![[r#"
            exit Some(1)
            a.hx:1:43: error[HX0633]: found a string, which takes 1 MiB to compute with, expected at most 512 KiB more
            1 error
        "#]],
    );
    check(
        "main { let t = (1, 1); for i in 0..40 { t = (t, t); } print(1); }\n",
        &little,
        expect![[r#"
            exit Some(1)
            a.hx:1:45: error[HX0633]: found a tuple or list of more than 16384 parts, which is the limit
            1 error
        "#]],
    );
    // A dropped tensor's memory is free again.
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
        "main { print((ones(f64, [6000, 4000]) @ ones(f64, [4000, 6000])).sum()); }\n",
        &["run", "a.hx", "--device", "sim", "--timeout", "1", "--message-format", "short"],
        expect![[r#"
            exit Some(1)
            a.hx:1:15: error[HX0613]: stopped here, before the end
            1 error
        "#]],
    );
}

/// A kernel that takes very long to compile.
fn slow_kernel() -> String {
    let statements = "acc = exp(acc) * 1.5 + load(c);\n".repeat(4000);
    format!(
        "kernel slow(c: mut f32[32]) grid [1] threads 32 {{\nlet acc = load(c);\n{statements}copy(acc, c);\n}}\n"
    )
}

#[test]
fn the_time_limit_covers_host_work_and_compiling() {
    // Each of these takes many times the limit, also on a fast machine.
    let limited = ["--device", "sim", "--timeout", "0.1", "--message-format", "short"];
    let run = [&["run", "a.hx"], &limited[..]].concat();
    for work in [
        "randn(f64, [10000, 10000])",
        "(zeros(i8, [20000, 20000]) + 1).sum()",
        "zeros(u4, [20000, 20000]).T.copy()",
    ] {
        let (code, told) = ended(&format!("main {{ let x = {work}; }}\n"), &run);
        assert_eq!(code, Some(1), "{work}: {told}");
        assert!(told.contains(": error[HX0613]: stopped here, before the end"), "{work}: {told}");
    }
    let kernel = slow_kernel();
    let test = [&["test", "a.hx"], &limited[..]].concat();
    for (item, args) in [("main", run), ("test \"t\"", test)] {
        let (code, told) =
            ended(&format!("{item} {{\nlet c = ones(f32, [32]);\nslow(c);\n}}\n{kernel}"), &args);
        assert_eq!(code, Some(1), "{item}: {told}");
        // The machine's speed decides which stage is stopped, and with it the place.
        assert!(told.contains(": error[HX0613]: "), "{item}: {told}");
    }
}

/// Runs a command on `a.hx`, and returns its exit code and stderr.
fn ended(text: &str, args: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.hx"), text).expect("writable");
    let output = hx(folder.path(), args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn strings_and_tuples_do_not_double_for_ever() {
    let short = ["run", "a.hx", "--device", "sim", "--message-format", "short"];
    check(
        "main { let t = \"ab\"; for i in 0..60 { t = t + t; } print(1); }\n",
        &short,
        expect![[r#"
            exit Some(1)
            a.hx:1:43: error[HX0633]: found a string of 32 MiB, expected at most 16 MiB
            1 error
        "#]],
    );
    check(
        "main { let t = (1, 1); for i in 0..40 { t = (t, t); } print(1); }\n",
        &short,
        expect![[r#"
        exit Some(1)
        a.hx:1:45: error[HX0633]: found a tuple or list of more than 262144 parts, which is the limit
        1 error
    "#]],
    );
    check(
        "main { let t = (); for i in 0..40 { t = (t, t); } print(1); }\n",
        &short,
        expect![[r#"
        exit Some(1)
        a.hx:1:41: error[HX0633]: found a tuple or list of more than 262144 parts, which is the limit
        1 error
    "#]],
    );
    check(
        "main { let t = (1, 1); for i in 0..40 { t = t + t; } print(1); }\n",
        &short,
        expect![[r#"
        exit Some(1)
        a.hx:1:45: error[HX0633]: found a tuple or list of more than 262144 parts, which is the limit
        1 error
    "#]],
    );
    let test = ["test", "a.hx", "--device", "sim", "--message-format", "short"];
    check(
        "test \"t\" for i in 0..1000000000000 { }\n",
        &test,
        expect![[r#"
        exit Some(1)
        a.hx:1:19: error[HX0633]: found a tuple or list of more than 262144 parts, which is the limit
        a.hx:1:14: warning[HX0106]: nothing uses `i`
    "#]],
    );
}

#[test]
fn what_variables_hold_counts() {
    let little = ["run", "a.hx", "--device", "sim", "--message-format", "short", "--memory", "1MiB"];
    let strings: String = (0..20).map(|i| format!("let s{i} = t + \"{i}\";\n")).collect();
    check(
        &format!("main {{\nlet t = \"ab\";\nfor i in 0..15 {{ t = t + t; }}\n{strings}}}\n"),
        &little,
        expect![[r#"
            exit Some(1)
            a.hx:18:11: error[HX0633]: found a string, which takes 64.0 KiB to compute with, expected at most 64.0 KiB more
            1 error
        "#]],
    );
    let tuples: String = (1..200).map(|i| format!("let t{i} = t{} + (1, 1);\n", i - 1)).collect();
    check(
        &format!("main {{\nlet t0 = (1, 1);\n{tuples}}}\n"),
        &little,
        expect![[r#"
            exit Some(1)
            a.hx:129:12: error[HX0633]: found a tuple or list, which takes 16 KiB to compute with, expected at most 7.9 KiB more
            1 error
        "#]],
    );
}

/// Each of the 400 constants is a tuple of 8193 numbers and shares 8192 of them with the others. Without sharing, `hx check` would
/// exceed the limit of memory.
#[cfg(target_os = "linux")]
#[test]
fn constants_share_their_parts() {
    let doubled: String = (1..13).map(|i| format!("const T{i} = (T{}, T{});\n", i - 1, i - 1)).collect();
    let pairs: String = (0..400).map(|i| format!("const C{i} = (T12, {i});\n")).collect();
    let uses: String = (0..400).map(|i| format!("let _v{i} = C{i};\n")).collect();
    let text = format!(
        "const T0 = (1, 1);\n{doubled}{pairs}kernel k(c: mut f32[32]) grid [1] threads 32 {{\n{uses}copy(load(c), c);\n}}\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.hx"), text).expect("writable");
    // 3 GiB of address space, in KiB.
    let limited = format!("ulimit -v {}; exec \"$0\" check a.hx", 3 << 20);
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_hx")]).current_dir(folder.path());
    let output = command.output().expect("the shell starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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

/// Runs a command that can write at most 512 bytes to a file; `input` is its stdin.
#[cfg(target_os = "linux")]
fn with_little_room(folder: &Path, args: &[&str], input: &str) -> (Option<i32>, String) {
    use std::io::Write as _;
    // With its signal ignored, a write beyond the limit returns an error.
    let shell = ["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hx")];
    let mut command = Command::new("sh");
    command.args(shell).args(args).current_dir(folder).env("HX_CACHE_DIR", folder.join("cache"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the shell starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_written_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let long = format!("const LONG = \"{}\";\n", "x".repeat(5000));
    let saves = |what: &str| format!("main {{ let x = ones(f64, [1000]); save({what}); }}\n");
    std::fs::write(at("npy.hx"), saves("\"old.npy\", x")).expect("writable");
    std::fs::write(at("many.hx"), saves("\"old.safetensors\", [(\"x\", x)]")).expect("writable");
    let unformatted = format!("  {long}");
    let session = format!("{long}:save! old.hx\n");
    let commands: [(&str, &[&str], &str); 5] = [
        ("old.svg", &["layout", "show", "(8,8):(8,1)", "--svg", "old.svg"], ""),
        ("old.npy", &["run", "npy.hx", "--device", "sim"], ""),
        ("old.safetensors", &["run", "many.hx", "--device", "sim"], ""),
        ("old.hx", &["repl", "--device", "sim"], &session),
        ("old.hx", &["fmt", "old.hx"], ""),
    ];
    for (file, args, input) in commands {
        std::fs::write(at(file), &unformatted).expect("writable");
        let (code, told) = with_little_room(folder.path(), args, input);
        assert_eq!(code, Some(1), "{args:?}: {told}");
        assert!(told.contains(&format!("cannot write `{file}`: File too large")), "{args:?}: {told}");
        assert_eq!(std::fs::read_to_string(at(file)).expect("readable"), unformatted, "{args:?}");
        std::fs::remove_file(at(file)).expect("it is there");
    }
    let left = std::fs::read_dir(folder.path()).expect("readable").flatten().map(|entry| entry.file_name());
    let mut left: Vec<_> = left.filter(|name| name != "cache").collect();
    left.sort();
    assert_eq!(left, ["many.hx", "npy.hx"]);
}
