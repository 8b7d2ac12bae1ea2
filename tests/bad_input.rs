//! Bad input of every kind, on the command line: the output of each stream, the exit code, and that nothing panics.

mod environment;
mod files;
mod forms;
mod launches;
mod resources;
mod texts;

use expect_test::Expect;

use crate::support::Sandbox;

/// A matmul kernel, into which tests put mistakes.
const MATMUL: &str = include_str!("../std/matmul.hx");

/// Runs the command on a file `a.hx` with this text, and compares the result.
fn check(text: &str, args: &[&str], expected: Expect) {
    Sandbox::with("a.hx", text).run(args).check(expected);
}

/// Like [`check`], with diagnostics of one line each.
fn check_short(text: &str, args: &[&str], expected: Expect) {
    check(text, &[args, &["--message-format", "short"]].concat(), expected);
}

/// Runs `hx check a.hx`, with one line for each diagnostic.
fn check_file(text: &str, expected: Expect) {
    check_short(text, &["check", "a.hx"], expected);
}

/// Returns a kernel with this body, and the parameters `x: f16[m, n]` and `y: mut f16[m, n]`.
fn kernel(body: &str) -> String {
    format!("kernel k(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64 {{\n{body}\n}}\n")
}

/// Runs the body of `main` on the simulator.
fn check_main(text: &str, body: &str, expected: Expect) {
    let text = format!("{text}main {{\n{body}\n}}\n");
    check_short(&text, &["run", "a.hx", "--device", "sim"], expected);
}
