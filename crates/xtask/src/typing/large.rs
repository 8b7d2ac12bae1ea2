//! Workspaces of a given size: copies of the library in one file, and in many files that use each other.
//!
//! For each, the chore opens one file and measures the time until its first diagnostics and until the server is idle, the times of
//! edits at the beginning of the file, the formatting of the file, and the memory.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::client::Client;
use super::texts::{Workspace, many_files, one_file};
use super::{Options, Typist, WHOLE, quantiles, say_memory};
use crate::say;

/// The number of lines that an editor shows on each side of the edited line.
const SHOWN: usize = 30;

/// The number of formatting requests that are measured.
const FORMATTED: usize = 10;

pub(super) fn measure(server: &Path, options: &Options, lines: usize) -> Result<(), String> {
    measure_one(server, options, "one file", &one_file(lines)?)?;
    measure_one(server, options, "many files", &many_files(lines)?)
}

fn measure_one(server: &Path, options: &Options, shape: &str, workspace: &Workspace) -> Result<(), String> {
    let lines: usize = workspace.files.iter().map(|(_, text)| text.lines().count()).sum();
    let kernel = |line: &&str| line.starts_with("kernel ");
    let kernels: usize = workspace.files.iter().map(|(_, text)| text.lines().filter(kernel).count()).sum();
    say(&format!("\n{shape}: {lines} lines, {kernels} kernels, {} files", workspace.files.len()));
    let (path, text) = &workspace.files[0];
    let begin = Instant::now();
    let mut client = Client::start(server, &workspace.files)?;
    let uri = client.open(path, text);
    let asked = Instant::now();
    client.ask_hints(&uri, "first hints", 0..2 * SHOWN);
    client.wait_until_answered()?;
    let first = client.published.iter().find(|message| message.uri == uri).map(|message| message.when);
    let hints = asked + client.answered("first hints").first().copied().unwrap_or_default();
    let all = client.idle()?;
    let seconds = |at: Instant| at.saturating_duration_since(begin).as_secs_f64();
    say(&format!(
        "opening: first diagnostics after {:.2} s, visible hints after {:.2} s, everything after {:.2} s; {:.1} s of processor time",
        first.map_or(0.0, seconds),
        seconds(hints),
        seconds(all),
        client.processor_time().as_secs_f64(),
    ));
    let last = client.published.iter().rev().find(|message| message.uri == uri);
    say(&format!("findings in the open file: {}", last.map_or(0, |message| message.count)));
    client.forget();
    let mut typist = Typist::new(&mut client, uri.clone(), text, &workspace.kernel)?;
    client.wait_until_answered()?;
    typist.memory.insert(0, client.memory());
    for (subject, whole) in [("hints of the whole file", true), ("visible hints", false)] {
        client.forget();
        let before = client.processor_time();
        let shown = |line: usize| if whole { WHOLE } else { line.saturating_sub(SHOWN)..line + SHOWN };
        typist.type_keys(&mut client, options, subject, shown)?;
        let used = (client.processor_time() - before).as_secs_f64() * 1e3 / options.edits as f64;
        say(&format!(
            "{} edits at {} a second, {used:.1} ms of processor time each",
            options.edits, options.rate
        ));
        quantiles("diagnostics", client.diagnostics_after.clone());
        quantiles(subject, client.answered(subject));
    }
    for _ in 0..FORMATTED {
        let params =
            json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 4, "insertSpaces": true } });
        client.ask("formatting", "textDocument/formatting", params);
        client.wait_until_answered()?;
    }
    quantiles("formatting", client.answered("formatting"));
    say_memory(&typist.memory);
    Ok(())
}
