//! Tests that run several times: `hx test --retries` and `hx test --watch`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use expect_test::expect;

use super::hx;

/// Fails once: it counts its runs in a file.
const FLAKY: &str = r#"test "flaky" {
    let runs = load("runs.npy");
    save("runs.npy", runs + 1.0);
    assert_eq(runs, ones(f64, [1]));
}
"#;

fn flaky_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    write("f.hx", FLAKY);
    write("zero.hx", "main { save(\"runs.npy\", zeros(f64, [1])); }\n");
    assert!(hx(folder.path(), &["run", "zero.hx", "--device", "sim"]).status.success());
    folder
}

#[test]
fn a_retry_tells_flaky_from_failed() {
    let folder = flaky_folder();
    let text = |args: &[&str]| {
        let output = hx(folder.path(), &[&["test", "f.hx", "--device", "sim"], args].concat());
        let time = |line: &str| line.split_once(" (").map_or(line.to_owned(), |(head, _)| head.to_owned());
        let both = [output.stdout, output.stderr].concat();
        let lines: Vec<String> = String::from_utf8_lossy(&both).lines().map(time).collect();
        format!("exit {:?}\n{}\n", output.status.code(), lines.join("\n"))
    };
    expect![[r#"
        exit Some(0)
        test f.hx::flaky ... flaky, ok in run 2
        1 passed, 0 failed, 0 skipped
        device: simulator
          failed before with: 1 of 1 elements of f64[1] are not equal
        1 test is flaky: failed, then passed
    "#]]
    .assert_eq(&text(&["--retries", "2"]));
    let json = hx(folder.path(), &["test", "f.hx", "--device", "sim", "--retries", "1", "--format", "json"]);
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    let test: serde_json::Value = serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!((test["result"].as_str(), test["runs"].as_u64()), (Some("failed"), Some(2)));
    assert_eq!(test["flaky"].as_bool(), Some(false));
}

/// A running `hx test --watch`, and the lines that it writes to stderr.
struct Watching {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Watching {
    fn begin(folder: &Path) -> Watching {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hx"));
        command.args(["test", ".", "--device", "sim", "--watch", "--message-format", "short"]);
        command.current_dir(folder).env("HX_CACHE_DIR", folder.join("cache")).env_remove("HX_DEVICE");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        Watching { child, lines }
    }

    /// Returns the lines up to the next wait for changes.
    fn round(&mut self) -> String {
        let mut out = String::new();
        for line in &mut self.lines {
            let line = line.expect("text");
            if line.starts_with("waiting for changes") {
                return out;
            }
            if !line.starts_with("device:") && !line.trim().is_empty() {
                out += &format!("{line}\n");
            }
        }
        panic!("the watch ended after {out}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_change_runs_the_tests_that_it_affects() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    write("hx.toml", "[package]\nname = \"w\"\n");
    write("lib.hx", "const N = 3;\n");
    write("a.hx", "use lib::N;\ntest \"uses N\" { assert(N > 2); }\ntest \"alone\" { assert(true); }\n");
    let mut watching = Watching::begin(folder.path());
    let mut log = watching.round();
    let mut change = |name: &str, text: &str| {
        write(name, text);
        log += &format!("--\n{}", watching.round());
    };
    change("lib.hx", "const N = 1;\n");
    // A comment affects no test, but the failed one runs again.
    change(
        "a.hx",
        "// A comment.\nuse lib::N;\ntest \"uses N\" { assert(N > 2); }\ntest \"alone\" { assert(true); }\n",
    );
    change("lib.hx", "const N = 5;\n");
    change("b.hx", "test \"new\" { assert(1 == 2); }\n");
    expect![[r#"
        --
        lib.hx changed: 1 of 2 tests run
        a.hx:2:24: error[HX0612]: `N > 2` does not hold
          rerun: hx test 'a.hx::uses N' --exact --device sim --seed 0
        --
        a.hx changed: 1 of 2 tests run
        a.hx:3:24: error[HX0612]: `N > 2` does not hold
          rerun: hx test 'a.hx::uses N' --exact --device sim --seed 0
        --
        lib.hx changed: 1 of 2 tests run
        --
        b.hx changed: 1 of 3 tests run
        b.hx:1:21: error[HX0612]: `1 == 2` does not hold
          rerun: hx test 'b.hx::new' --exact --device sim --seed 0
    "#]]
    .assert_eq(&log);
}
