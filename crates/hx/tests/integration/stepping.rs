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

/// The block releases no stage, so its third `acquire` of two stages waits for ever.
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
    let (first, _) = first.rsplit_once(" (").unwrap_or_default();
    want.assert_eq(&format!("{first}\n{rest}{}", error.replace("device: simulator (sm_90a)\n", "")));
}

#[test]
fn a_race_is_stepped_back_to_the_write() {
    let commands = ["fault", "last s[2, 0]", "print s", "next", "print s", "next back", "quit"];
    session(
        RACE,
        &[],
        &commands,
        expect![[r#"
            recorded `turn`, block [0, 0, 0] of [1, 1, 1]: 3 steps, 10.1 KiB
            #2 `copy(s[0..8, 0..8] permuted [1, 0], s_tile)`  step 3 of 3, block [0, 0, 0], threads 0 to 31, thread 1
                2 │ kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {
                3 │     let s = shared_tensor(f32, [8, 8]);
                4 │     copy(load(x), s);
                5 ▶     copy(load(s.T), y);
                6 │ }
                7 │ 
                8 │ test "turn" {
            fault: reads element 20 of the shared tensor `s`, which thread 8 wrote in #1 `copy(x_tile, s[0..8, 0..8])`, with no barrier in between (HX0618)
              seen in thread 1 of block [0, 0, 0]
              the element is `s[2, 0]`: `last s[2, 0]` goes to its last write
              a.hx:4: thread 8 wrote it here
            step> fault
            fault: reads element 20 of the shared tensor `s`, which thread 8 wrote in #1 `copy(x_tile, s[0..8, 0..8])`, with no barrier in between (HX0618)
              seen in thread 1 of block [0, 0, 0]
              the element is `s[2, 0]`: `last s[2, 0]` goes to its last write
              a.hx:4: thread 8 wrote it here
            step> last s[2, 0]
            thread 8 writes `s[2, 0]` in `copy(x_tile, s[0..8, 0..8])`
            #1 `copy(x_tile, s[0..8, 0..8])`  step 1 of 3, block [0, 0, 0], threads 0 to 31, thread 8
                1 │ 
                2 │ kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {
                3 │     let s = shared_tensor(f32, [8, 8]);
                4 ▶     copy(load(x), s);
                5 │     copy(load(s.T), y);
                6 │ }
                7 │ 
            step> print s
            shared s f32[8, 8]
              │ 0 1 2 3 4 5 6 7
            0 │ - - - - - - - -
            1 │ - - - - - - - -
            2 │ - - - - - - - -
            3 │ - - - - - - - -
            4 │ - - - - - - - -
            5 │ - - - - - - - -
            6 │ - - - - - - - -
            7 │ - - - - - - - -
            step> next
            #2 `copy(s[0..8, 0..8] permuted [1, 0], s_tile)`  step 2 of 3, block [0, 0, 0], threads 0 to 31, thread 8
                2 │ kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {
                3 │     let s = shared_tensor(f32, [8, 8]);
                4 │     copy(load(x), s);
                5 ▶     copy(load(s.T), y);
                6 │ }
                7 │ 
                8 │ test "turn" {
            step> print s
            shared s f32[8, 8]
              │     0     1     2     3     4     5     6     7
            0 │  0.0*  1.0*  2.0*  3.0*  4.0*  5.0*  6.0*  7.0*
            1 │  8.0*  9.0* 10.0* 11.0* 12.0* 13.0* 14.0* 15.0*
            2 │ 16.0* 17.0* 18.0* 19.0* 20.0* 21.0* 22.0* 23.0*
            3 │ 24.0* 25.0* 26.0* 27.0* 28.0* 29.0* 30.0* 31.0*
            4 │ 32.0* 33.0* 34.0* 35.0* 36.0* 37.0* 38.0* 39.0*
            5 │ 40.0* 41.0* 42.0* 43.0* 44.0* 45.0* 46.0* 47.0*
            6 │ 48.0* 49.0* 50.0* 51.0* 52.0* 53.0* 54.0* 55.0*
            7 │ 56.0* 57.0* 58.0* 59.0* 60.0* 61.0* 62.0* 63.0*
            step> next back
            #1 `copy(x_tile, s[0..8, 0..8])`  step 1 of 3, block [0, 0, 0], threads 0 to 31, thread 8
                1 │ 
                2 │ kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {
                3 │     let s = shared_tensor(f32, [8, 8]);
                4 ▶     copy(load(x), s);
                5 │     copy(load(s.T), y);
                6 │ }
                7 │ 
            step> quit
        "#]],
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
        expect![[r#"
            recorded `shift`, block [1, 0, 0] of [2, 1, 1]: 4 steps, 2.8 KiB
            here: the last write of `y[4, 0]`, the first wrong element
            #2 `copy(doubled, y[block_idx.x * 4 + 0..4, 0..8])`  step 2 of 4, block [1, 0, 0], threads 0 to 31, thread 0
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 ▶     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
               10 │ test "shift" {
            step> ints
            first = 4
            from = 3
            block_idx = 1
            m = 8
            step> print doubled
            register doubled f32[4, 8]
              │      0    1     2     3     4     5     6     7
            0 │ [48.0] 50.0  52.0  54.0  56.0  58.0  60.0  62.0
            1 │   64.0 66.0  68.0  70.0  72.0  74.0  76.0  78.0
            2 │   80.0 82.0  84.0  86.0  88.0  90.0  92.0  94.0
            3 │   96.0 98.0 100.0 102.0 104.0 106.0 108.0 110.0
            step> print doubled[0, 3]
            doubled[0, 3] = 54.0, value 0 of thread 3
            step> last doubled[0, 3]
            thread 3 writes `doubled[0, 3]` in `doubled = (r * 2.0)`
            #1 `doubled = (r * 2.0)`  step 1 of 4, block [1, 0, 0], threads 0 to 31, thread 3
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 ▶     let doubled = r * 2.0;
                7 │     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
            step> where
            `shift` at a.hx:6
            step> go start
            #0 `copy(x[block_idx.x * 4 - min(1, block_idx.x) + 0..4, 0..8], r)`  step 0 of 4, block [1, 0, 0], threads 0 to 31, thread 3
                2 │ kernel shift(x: f32[m, 8], y: mut f32[m, 8]) grid [cdiv(m, 4)] threads 32 {
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 ▶     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 │     copy(doubled, y[first..first + 4, ..]);
                8 │ }
            step> op doubled
            #1 `doubled = (r * 2.0)`  step 1 of 4, block [1, 0, 0], threads 0 to 31, thread 3
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 ▶     let doubled = r * 2.0;
                7 │     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
        "#]],
    );
}

#[test]
fn blocks_that_write_one_element_meet_at_its_access() {
    let clash = INDEX.replace("y[first..first + 4", "y[from..from + 4");
    session(
        &clash,
        &[],
        &["quit"],
        expect![[r#"
            recorded `shift`, block [0, 0, 0] of [2, 1, 1]: 4 steps, 2.8 KiB
            #0 `copy(x[block_idx.x * 4 - min(1, block_idx.x) + 0..4, 0..8], r)`  step 0 of 4, block [0, 0, 0], threads 0 to 31, thread 0
                2 │ kernel shift(x: f32[m, 8], y: mut f32[m, 8]) grid [cdiv(m, 4)] threads 32 {
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 ▶     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 │     copy(doubled, y[from..from + 4, ..]);
                8 │ }
            step> quit
        "#]],
    );
}

#[test]
fn a_deadlock_shows_who_waits_for_what() {
    session(
        DEADLOCK,
        &[],
        &["agents", "barriers", "ints", "op back wait", "quit"],
        expect![[r#"
            recorded `relay`, block [0, 0, 0] of [1, 1, 1]: 42 steps, 19.8 KiB
            #0 `s = pipe.acquire()`  step 42 of 42, block [0, 0, 0], threads 0 to 63, thread 0, waits for the release of stage 0 of `pipe` (2 of 2 arrivals are missing)
                3 │     let stages = shared_tensor(f32, [256, 2]);
                4 │     let pipe = pipeline(2);
                5 │     for i in 0..cdiv(m, 256) {
                6 ▶         let s = pipe.acquire();
                7 │         copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
                8 │         let t = pipe.wait();
                9 │         copy(load(stages[.., t]), tile(y, [256])[.., i]);
            fault: deadlock: threads 0 to 63 wait in #0 `s = pipe.acquire()` for the release of stage 0 of `pipe` (2 of 2 arrivals are missing) (HX0620)
              seen in block [0, 0, 0]
              a.hx:4: nothing has arrived at this pipeline for it
            step> agents
            ▶ 0  block [0, 0, 0], threads 0 to 63 waits at `s = pipe.acquire()` (a.hx:6 in `relay`) for the release of stage 0 of `pipe` (2 of 2 arrivals are missing)
            step> barriers
            pipe[0].full: 1 phases complete, 0 of 1 arrivals
            pipe[1].full: 1 phases complete, 0 of 1 arrivals
            pipe[0].empty: 0 phases complete, 0 of 2 arrivals
            pipe[1].empty: 0 phases complete, 0 of 2 arrivals
            step> ints
            i = 2
            s = 1
            block_idx = 0
            m = 1024
            step> op back wait
            #2 `t = pipe.wait()`  step 30 of 42, block [0, 0, 0], threads 0 to 63, thread 0
                5 │     for i in 0..cdiv(m, 256) {
                6 │         let s = pipe.acquire();
                7 │         copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
                8 ▶         let t = pipe.wait();
                9 │         copy(load(stages[.., t]), tile(y, [256])[.., i]);
               10 │     }
               11 │ }
            step> quit
        "#]],
    );
}

#[test]
fn another_block_and_thread_are_named() {
    let args = ["--kernel", "shift", "--block", "0", "--thread", "5"];
    session(
        INDEX,
        &args,
        &["n", "n", "print r", "break 7", "c", "C", "thread 99", "jump"],
        expect![[r#"
            recorded `shift`, block [0, 0, 0] of [2, 1, 1]: 4 steps, 2.8 KiB
            #0 `copy(x[block_idx.x * 4 - min(1, block_idx.x) + 0..4, 0..8], r)`  step 0 of 4, block [0, 0, 0], threads 0 to 31, thread 5
                2 │ kernel shift(x: f32[m, 8], y: mut f32[m, 8]) grid [cdiv(m, 4)] threads 32 {
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 ▶     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 │     copy(doubled, y[first..first + 4, ..]);
                8 │ }
            step> n
            #1 `doubled = (r * 2.0)`  step 1 of 4, block [0, 0, 0], threads 0 to 31, thread 5
                3 │     let first = block_idx * 4;
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 ▶     let doubled = r * 2.0;
                7 │     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
            step> n
            #2 `copy(doubled, y[block_idx.x * 4 + 0..4, 0..8])`  step 2 of 4, block [0, 0, 0], threads 0 to 31, thread 5
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 ▶     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
               10 │ test "shift" {
            step> print r
            register r f32[4, 8]
              │    0    1    2    3    4     5    6    7
            0 │  0.0  1.0  2.0  3.0  4.0 [5.0]  6.0  7.0
            1 │  8.0  9.0 10.0 11.0 12.0  13.0 14.0 15.0
            2 │ 16.0 17.0 18.0 19.0 20.0  21.0 22.0 23.0
            3 │ 24.0 25.0 26.0 27.0 28.0  29.0 30.0 31.0
            step> break 7
            stops at a.hx:7
            step> c
            the record ends here
            the end  step 4 of 4, block [0, 0, 0], threads 0 to 31, thread 5
            step> C
            #2 `copy(doubled, y[block_idx.x * 4 + 0..4, 0..8])`  step 2 of 4, block [0, 0, 0], threads 0 to 31, thread 5
                4 │     let from = first - min(block_idx, 1);
                5 │     let r = load(x[from..from + 4, ..]);
                6 │     let doubled = r * 2.0;
                7 ▶     copy(doubled, y[first..first + 4, ..]);
                8 │ }
                9 │ 
               10 │ test "shift" {
            step> thread 99
            error: the block has no thread 99: `agents` lists its threads
            step> jump
            error: there is no command `jump`: `help` lists them
        "#]],
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
    expect![[r#"
        Some(1) error[HX0612]: 32 of 64 elements of f32[8, 8] are not equal
            ╭─[ a.hx:13:5 ]
            │
         13 │     assert_eq(y, x * 2.0);
            │     ──────────┬──────────
            │               ╰──────────── here
            │
            │ Note 1: first at [4, 0]: got 48.0, expected 64.0
            │
            │ Note 2: wrong: rows 4..8, the last 4
            │
            │ Note 3: element [i0, i1] agrees with the reference at [i0 - 1, i1]
        ────╯

        no launch of `turn` came before this failure"#]]
    .assert_eq(&error(INDEX, &["--kernel", "turn"]));
    expect![[r#"
        Some(1) error[HX0631]: there is no block [7, 0, 0] in a grid of [2, 1, 1] blocks
            ╭─[ a.hx:2:8 ]
            │
          2 │ kernel shift(x: f32[m, 8], y: mut f32[m, 8]) grid [cdiv(m, 4)] threads 32 {
            │        ──┬──
            │          ╰──── here
            │
         12 │     shift(x, y);
            │     ─────┬─────
            │          ╰─────── in this launch
        ────╯

        no launch of `shift` came before this failure"#]]
    .assert_eq(&error(INDEX, &["--kernel", "shift", "--block", "7"]));
    expect![[r#"
        Some(2) error: invalid value 'x' for '--block <X,Y,Z>': expected the index of a block along up to three axes, such as 3 or 3,1

        For more information, try '--help'."#]].assert_eq(&error(INDEX, &["--block", "x"]));
    expect![[r#"
        Some(2) error: the evaluation launches no kernel

        For more information, try '--help'."#]]
    .assert_eq(&error("test \"nothing\" { assert(true); }\n", &[]));
}

/// Sends requests to the debug adapter in a folder with the file `text`. Returns a line for each message that the adapter
/// sends.
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
    expect![[r##"
        response initialize {"supportsConfigurationDoneRequest":true,"supportsEvaluateForHovers":true,"supportsStepBack":true,"supportsExceptionInfoRequest":true,"supportsDelayedStackTraceLoading":false}
        event initialized null
        response setBreakpoints {"breakpoints":[{"id":1,"verified":false,"line":3},{"id":2,"verified":false,"line":40}]}
        response configurationDone null
        response launch null
        event breakpoint {"reason":"changed","breakpoint":{"id":1,"verified":true,"line":4}}
        event breakpoint {"reason":"changed","breakpoint":{"id":2,"verified":false,"message":"the recorded kernel has no operation at or after this line"}}
        event output …
        event stopped {"reason":"exception","description":"reads element 20 of the shared tensor `s`, which thread 8 wrote in #1 `copy(x_tile, s[0..8, 0..8])`, with no barrier in between","text":"reads element 20 of the shared tensor `s`, which thread 8 wrote in #1 `copy(x_tile, s[0..8, 0..8])`, with no barrier in between","threadId":1,"allThreadsStopped":true}
        response threads {"threads":[{"id":1,"name":"block [0, 0, 0], threads 0 to 31"}]}
        response stackTrace {"totalFrames":1,"stackFrames":[{"id":1000,"name":"turn","source":{"name":"a.hx","path":"FOLDER/a.hx"},"line":5,"column":10,"endLine":5,"endColumn":19}]}
        response exceptionInfo {"exceptionId":"HX0618 race","description":"reads element 20 of the shared tensor `s`, which thread 8 wrote in #1 `copy(x_tile, s[0..8, 0..8])`, with no barrier in between\nseen in thread 1 of block [0, 0, 0]","breakMode":"always"}
        response stepBack {"allThreadsContinued":true}
        event stopped {"reason":"step","description":"step 1 of 3","text":"step 1 of 3","threadId":1,"allThreadsStopped":true}
        response scopes {"scopes":[{"name":"Integers","variablesReference":1,"expensive":false},{"name":"Thread 1","variablesReference":2,"expensive":false},{"name":"Tensors","variablesReference":3,"expensive":false}]}
        response variables {"variables":[{"name":"x_tile","value":"2.0 3.0","type":"2 values","variablesReference":4},{"name":"s_tile","value":"- -","type":"2 values","variablesReference":5}]}
        response evaluate {"result":"-","type":"byte 4, bank 1","variablesReference":0}
        response evaluate {"result":"#1 `copy(x_tile, s[0..8, 0..8])`  step 1 of 3, block [0, 0, 0], threads 0 to 31, thread 9\n    1 │ \n    2 │ kernel turn(x: f32[8, 8], y: mut f32[8, 8]) grid [1] threads 32 {\n    3 │     let s = shared_tensor(f32, [8, 8]);\n    4 ▶     copy(load(x), s);\n    5 │     copy(load(s.T), y);\n    6 │ }\n    7 │","variablesReference":0}
        event continued {"threadId":1,"allThreadsContinued":true}
        event stopped {"reason":"goto","description":"step 1 of 3","text":"step 1 of 3","threadId":1,"allThreadsStopped":true}
        response hxTile {"name":"x_tile","memory":"register","dtype":"f32","shape":[8,8],"origin":[6,6],"extents":[2,2],"cells":[{"text":"54.0","thread":27,"value":0,"byte":null,"bank":null},{"text":"55.0","thread":27,"value":1,"byte":null,"bank":null},{"text":"62.0","thread":31,"value":0,"byte":null,"bank":null},{"text":"63.0","thread":31,"value":1,"byte":null,"bank":null}],"thread":9,"progress":[1,3],"fault":null,"operation":"copy(x_tile, s[0..8, 0..8])","place":"a.hx:4 in `turn`"}
        response reverseContinue {"allThreadsContinued":true}
        event stopped {"reason":"breakpoint","description":"the beginning of the record","text":"the beginning of the record","threadId":1,"allThreadsStopped":true}
        response disconnect null
    "##]].assert_eq(&found);
}
