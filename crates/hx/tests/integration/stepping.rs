//! `hx step` and `hx debug-adapter`: from a failed test to the line and the element.

use std::io::Write;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::hx;

/// A tile is read back transposed with no barrier in between.
const RACE: &str = r#"
kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {
    let s = shared_tensor(f32, [8, 8]);
    copy(load(x), s);
    copy(load(s.T), y);
}

test "turn" {
    let y = empty(f32, [8, 8]);
    turn(arange(f32, 64).reshape([8, 8]), y);
}
"#;

/// The second block loads its rows one too high.
const INDEX: &str = r#"
kernel shift(x: f32[m, 8], y: mut f32[m, 8]) grid [cdiv(m, 4)] threads 32 {
    let first = block_idx * 4;
    let from = first - min(block_idx, 1);
    let r = load(x[from..from + 4, ..]);
    let doubled = r * 2.0;
    copy(doubled, y[first..first + 4, ..]);
}

test "shift" {
    let (x, y) = (arange(f32, 64).reshape([8, 8]), full(f32, [8, 8], 0.0));
    shift(x, y);
    assert_eq(y, x * 2.0);
}
"#;

/// The reader releases no stage, so the writer waits for ever.
const DEADLOCK: &str = r#"
kernel relay(x: f32[m], y: mut f32[m]) where m % 4 == 0 grid [1] threads 64 {
    let stages = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    for i in 0..cdiv(m, 256) {
        let s = pipe.acquire();
        copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
        let t = pipe.wait();
        copy(load(stages[.., t]), tile(y, [256])[.., i]);
    }
}

test "relay" {
    let y = empty(f32, [1024]);
    relay(arange(f32, 1024), y);
}
"#;

/// Runs a program with lines on its standard input. Returns both streams.
fn with_input(folder: &std::path::Path, args: &[&str], input: &[u8]) -> [String; 2] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hx"));
    command.args(args).current_dir(folder).env("HX_CACHE_DIR", folder.join("cache")).env_remove("HX_TARGET");
    command.env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    child.stdin.take().expect("piped").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"))
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.hx"), text).expect("writable");
    folder
}

/// Runs commands, and compares the transcript without the time and the size of the record.
fn session(text: &str, args: &[&str], commands: &[&str], want: Expect) {
    let folder = folder(text);
    let input = commands.iter().map(|command| format!("{command}\n")).collect::<String>();
    let args = [&["step", "a.hx"], args].concat();
    let [out, error] = with_input(folder.path(), &args, input.as_bytes());
    let (first, rest) = out.split_once('\n').unwrap_or_default();
    let (first, _) = first.split_once(" in ").unwrap_or_default();
    want.assert_eq(&format!("{first}\n{rest}{}", error.replace("device: simulator (sm_90a)\n", "")));
}

#[test]
fn a_race_is_stepped_back_to_the_write() {
    let commands = ["fault", "last s[2, 0]", "print s", "next", "print s", "next back", "quit"];
    session(
        RACE,
        &[],
        &commands,
        expect![[r#""#]],
    );
}

#[test]
fn a_wrong_index_is_found_at_the_last_write() {
    let commands = [
        "ints",
        "print doubled",
        "print doubled[0, 3]",
        "last doubled[0, 3]",
        "where",
        "go start",
        "op doubled",
    ];
    session(
        INDEX,
        &[],
        &commands,
        expect![[r#""#]],
    );
}

#[test]
fn blocks_that_write_one_element_meet_at_its_access() {
    let clash = INDEX.replace("y[first..first + 4", "y[from..from + 4");
    session(&clash, &[], &["quit"], expect![[r#""#]]);
}

#[test]
fn a_deadlock_shows_who_waits_for_what() {
    session(
        DEADLOCK,
        &[],
        &["agents", "barriers", "ints", "op back wait", "quit"],
        expect![[r#""#]],
    );
}

#[test]
fn another_block_and_thread_are_named() {
    let args = ["--kernel", "shift", "--block", "0", "--thread", "5"];
    session(
        INDEX,
        &args,
        &["n", "n", "print r", "break 7", "c", "C", "thread 99", "jump"],
        expect![[r#""#]],
    );
}

#[test]
fn a_launch_that_is_not_there_is_an_error_with_its_reason() {
    let error = |text: &str, args: &[&str]| {
        let folder = folder(text);
        let output = hx(folder.path(), &[&["step", "a.hx"], args].concat());
        let text = String::from_utf8_lossy(&output.stderr).replace("device: simulator (sm_90a)\n", "");
        format!("{:?} {}", output.status.code(), text.trim())
    };
    expect![[r#""#]]
    .assert_eq(&error(INDEX, &["--kernel", "turn"]));
    expect![[r#""#]]
    .assert_eq(&error(INDEX, &["--kernel", "shift", "--block", "7"]));
    expect![[r#""#]].assert_eq(&error(INDEX, &["--block", "x"]));
    expect![[r#""#]]
    .assert_eq(&error("test \"nothing\" { assert(true); }\n", &[]));
}

/// Sends requests to the debug adapter, and describes what it sends.
fn adapter(text: &str, requests: &[(&str, Value)]) -> String {
    let folder = folder(text);
    let mut input = String::new();
    let all = [("initialize", json!({}))];
    for (seq, (command, arguments)) in all.iter().chain(requests).enumerate() {
        let text = json!({ "seq": seq + 1, "type": "request", "command": command, "arguments": arguments })
            .to_string();
        input += &format!("Content-Length: {}\r\n\r\n{text}", text.len());
    }
    let [out, _] = with_input(folder.path(), &["debug-adapter"], input.as_bytes());
    let messages = out.split("Content-Length: ").filter_map(|part| part.split_once("\r\n\r\n"));
    let messages = messages.map(|(_, body)| serde_json::from_str::<Value>(body).expect("JSON"));
    messages.map(|message| described(&message, folder.path())).collect()
}

fn described(message: &Value, folder: &std::path::Path) -> String {
    let body = message["body"].to_string().replace(&folder.display().to_string(), "FOLDER");
    let body = if message["event"] == "output" { "…".to_owned() } else { body };
    let name = message["event"].as_str().or(message["command"].as_str()).unwrap_or_default();
    let ok = if message["success"] == false { " failed" } else { "" };
    format!("{} {name}{ok} {body}\n", message["type"].as_str().unwrap_or_default())
}

#[test]
fn an_editor_steps_back_from_a_fault() {
    let path = |folder: &str| json!({ "program": folder, "test": "a.hx::turn" });
    let thread = json!({ "threadId": 1 });
    let found = adapter(
        RACE,
        &[
            (
                "setBreakpoints",
                json!({ "source": { "path": "a.hx" }, "breakpoints": [{ "line": 3 }, { "line": 40 }] }),
            ),
            ("launch", path("a.hx")),
            ("configurationDone", json!({})),
            ("threads", json!({})),
            ("stackTrace", thread.clone()),
            ("exceptionInfo", thread.clone()),
            ("stepBack", thread.clone()),
            ("scopes", json!({ "frameId": 1000 })),
            ("variables", json!({ "variablesReference": 2 })),
            ("evaluate", json!({ "expression": "s[0, 1]", "context": "hover" })),
            ("evaluate", json!({ "expression": "thread 9", "context": "repl" })),
            ("hxTile", json!({ "name": "x_tile", "origin": [6, 6] })),
            ("reverseContinue", thread),
            ("disconnect", json!({})),
        ],
    );
    expect![[r#""#]].assert_eq(&found);
}
