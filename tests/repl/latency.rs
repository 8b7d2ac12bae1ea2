//! Latency of answers through a pipe, from writing the line to reading the last line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Sandbox, busy};

/// Number of rounds over the entries. The session has solved `matmul` before the first round.
const ROUNDS: usize = 20;

/// Entries that answer without running a kernel. The test sends `print("answered")` after each, whose output marks the end of
/// the answer.
const ENTRIES: &[&str] = &[
    "1 + 1",
    ":type 2.5",
    "let a = arange(i32, 8)",
    "const N = 3",
    ":layout (8,8):(8,1)",
    ":layout matmul.rc",
    ":why matmul.sc",
    ":type matmul",
    "?randn",
];

/// The time within which 95 % of the answers arrive. The promise is 50 ms in a release build; a debug build
/// gets more, and so does a machine with other load. The test prints the measured times.
const LIMIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 250 } else { 50 });

#[test]
fn answers_are_quick() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["repl"], &[("HX_DEVICE", "sim")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut ask = |entry: &str| {
        let start = Instant::now();
        stdin.write_all(format!("{entry}\nprint(\"answered\")\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        while line != "answered\n" {
            line.clear();
            assert!(stdout.read_line(&mut line).expect("it answers") > 0, "the session ended at `{entry}`");
        }
        start.elapsed()
    };
    let first = ask("use std::matmul::matmul");
    let solved = ask(":layout matmul.rc");
    let mut times: Vec<Duration> =
        (0..ROUNDS).flat_map(|_| ENTRIES.iter().map(|e| ask(e)).collect::<Vec<_>>()).collect();
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let _ = writeln!(
        std::io::stderr(),
        "latency of the prompt ({profile}): start and first answer {first:?}, matmul solved {solved:?}, then p50 {:?}, p95 {:?}, worst {:?} of {}",
        at(50),
        at(95),
        at(100),
        times.len(),
    );
    assert!(at(95) < LIMIT * busy(), "p95 is {:?}", at(95));
}
