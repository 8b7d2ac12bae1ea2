//! Bad input of every kind, through the command: what it says on each stream, how it exits, and that it never panics.

mod environment;
mod files;
mod forms;
mod launches;
mod resources;
mod texts;

use expect_test::Expect;

use crate::support::Sandbox;

/// A matmul with room for mistakes.
const MATMUL: &str = include_str!("../std/matmul.hx");

/// The command on a file `a.hx` with this text.
fn check(text: &str, args: &[&str], expected: Expect) {
    Sandbox::with("a.hx", text).run(args).check(expected);
}

/// The same with diagnostics of one line each.
fn check_short(text: &str, args: &[&str], expected: Expect) {
    check(text, &[args, &["--message-format", "short"]].concat(), expected);
}

/// `hx check a.hx`, one line for each diagnostic.
fn check_file(text: &str, expected: Expect) {
    check_short(text, &["check", "a.hx"], expected);
}

/// A kernel around a body, with `x: f16[m, n]` and `y: mut f16[m, n]`.
fn kernel(body: &str) -> String {
    format!("kernel k(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64 {{\n{body}\n}}\n")
}

/// The body of `main` on the simulator.
fn check_main(text: &str, body: &str, expected: Expect) {
    let text = format!("{text}main {{\n{body}\n}}\n");
    check_short(&text, &["run", "a.hx", "--device", "sim"], expected);
}
