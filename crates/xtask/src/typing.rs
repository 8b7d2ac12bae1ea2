//! `cargo xtask typing`: types into a file at human speed, and measures the response times of the language server.
//!
//! The file consists of the kernels of the standard library. At 20 keystrokes a second, the chore types a statement, a call, a
//! comment and a number into the body of one kernel and deletes them again, so about half of the texts have errors. For each
//! keystroke it measures two times: until the diagnostics of that text arrive, and until the hints requested after it arrive. It
//! prints quantiles, the memory of the server, and the time until the first hints in a project that uses all of `std`. `--of
//! gemm,attention_hopper` makes the file of these modules of the library, and types into the first kernel of the first. `--lines N`
//! measures workspaces of that size. `--server PATH` measures an `hx` that was built before. `--random N` makes random edits instead,
//! and compares the server with fresh ones.

mod client;
mod large;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::{root, say};
use client::{Client, Lines};
use texts::{file_of, library, long_file, position};

/// The modules whose kernel is typed into; the first one that the library has is used.
const EDITED: &[&str] = &["attention", "matmul_pipelined"];

struct Options {
    edits: usize,
    rate: f64,
    release: bool,
    /// The modules of the library that make up the file; empty for the default file.
    of: Vec<String>,
    /// The number of lines of the workspaces that are measured instead of the default file.
    lines: Option<usize>,
    /// The path of an `hx` that is measured instead of a new build.
    server: Option<PathBuf>,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut options =
        Options { edits: 1000, rate: 20.0, release: true, of: Vec::new(), lines: None, server: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || {
            let text = args.next().ok_or_else(|| format!("`{arg}` needs a number"))?;
            text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))
        };
        match arg.as_str() {
            "--edits" => options.edits = number()? as usize,
            "--rate" => options.rate = number()?,
            "--lines" => options.lines = Some(number()? as usize),
            "--random" => return random(number()? as usize),
            "--debug" => options.release = false,
            "--server" => {
                let path = args.next().ok_or("`--server` needs the path of an `hx`")?;
                options.server = Some(PathBuf::from(path));
            }
            "--of" => {
                let names = args
                    .next()
                    .ok_or("`--of` needs modules of the library, as in `gemm,attention_hopper`")?;
                options.of = names.split(',').map(str::to_owned).collect();
            }
            other => {
                return Err(format!(
                    "`{other}` is not understood: --edits N, --rate N, --of MODULES, --lines N, --server PATH, --random N, --debug"
                ));
            }
        }
    }
    let server = match &options.server {
        Some(server) => server.clone(),
        None => build(options.release)?,
    };
    say_load();
    if let Some(lines) = options.lines {
        return large::measure(&server, &options, lines);
    }
    opening(&server)?;
    typing(&server, &options)
}

/// Makes `edits` random edits, and compares the server with a fresh one after every forty. Runs the suite's own test with more
/// edits.
fn random(edits: usize) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["test", "--release", "-p", "hx-tests", "random_edits_lead"]);
    build(true)?;
    let status = command.env("HX_RANDOM_EDITS", edits.to_string()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the servers do not agree".to_owned()),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

/// Prints the load of the machine, because other load lengthens the measured times.
pub(crate) fn say_load() {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    let load = if load.is_empty() { "not known".to_owned() } else { load.join(" ") };
    say(&format!("{cores} cores; load before, over 1, 5 and 15 minutes: {load}"));
}

pub(crate) fn build(release: bool) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["build", "-q", "-p", "hx"]);
    if release {
        command.arg("--release");
    }
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("hx does not build".to_owned());
    }
    let profile = if release { "release" } else { "debug" };
    Ok(root().join("target").join(profile).join(format!("hx{}", std::env::consts::EXE_SUFFIX)))
}

/// A keystroke at the end of the typed text: the number of bytes to remove before it, and the text to insert.
struct Key {
    remove: usize,
    insert: String,
}

/// Returns the keystrokes of one round, all at the end of the typed text: a statement, an abandoned call, a comment, and their
/// deletion.
fn round() -> Vec<Key> {
    let typed =
        |text: &str| -> Vec<Key> { text.chars().map(|c| Key { remove: 0, insert: c.to_string() }).collect() };
    let back =
        |count: usize| -> Vec<Key> { (0..count).map(|_| Key { remove: 1, insert: String::new() }).collect() };
    let mut keys = typed("let q = 12;");
    // The number changes the program but not its layouts.
    keys.extend(back(1));
    keys.extend(typed("3;"));
    keys.extend(typed(" // a note"));
    keys.extend(back(4));
    keys.push(Key { remove: " // a note".len() - 4, insert: String::new() });
    keys.extend(typed(" copy(q, "));
    keys.push(Key { remove: " copy(q, ".len(), insert: String::new() });
    // Each additional barrier changes the layouts' problem, so the kernel is solved again.
    keys.extend(typed(" sync(); sync();"));
    keys.extend(back(" sync();".len()));
    keys.push(Key { remove: "let q = 123; sync();".len(), insert: String::new() });
    keys
}

fn typing(server: &Path, options: &Options) -> Result<(), String> {
    let (text, edited) = if options.of.is_empty() { long_file()? } else { file_of(&options.of)? };
    let kernels = text.lines().filter(|line| line.starts_with("kernel ")).count();
    say(&format!(
        "typing into `{edited}` in {} lines with {kernels} kernels, {} edits at {} a second, {} build",
        text.lines().count(),
        options.edits,
        options.rate,
        if options.release { "release" } else { "debug" },
    ));
    let mut client = Client::start(server, &[])?;
    let uri = client.open("typed.hx", &text);
    client.wait_until_answered()?;
    let mut typist = Typist::new(&mut client, uri, &text, &edited)?;
    typist.type_keys(&mut client, options, "hints", |_| WHOLE)?;
    say(&format!("{} of {} states were typed halfway", typist.broken, options.edits));
    quantiles("diagnostics", client.diagnostics_after.clone());
    quantiles("hints", client.answered("hints"));
    say_memory(&typist.memory);
    Ok(())
}

fn say_memory(memory: &BTreeMap<usize, u64>) {
    for (edits, bytes) in memory {
        say(&format!("memory after {edits} edits: {:.1} MiB", *bytes as f64 / (1 << 20) as f64));
    }
}

/// A range that covers all lines of a file of at most 100,000 lines.
const WHOLE: Lines = 0..100_000;

/// A simulated user who types into a kernel.
struct Typist {
    uri: String,
    /// The position at which the typed text begins, from 0.
    line: usize,
    column: usize,
    typed: String,
    /// The number of edits so far; `broken` counts those that left an incomplete statement.
    edits: usize,
    broken: usize,
    /// The memory of the server in bytes, by the number of edits before the measurement.
    memory: BTreeMap<usize, u64>,
}

impl Typist {
    /// Inserts a line after the first statement of a kernel in an open document, into which the typist types.
    fn new(client: &mut Client, uri: String, text: &str, kernel: &str) -> Result<Typist, String> {
        let header = text.find(&format!("kernel {kernel}")).ok_or("the kernel is not there")?;
        let body = text[header..].find("\n{\n").ok_or("its body is not there")? + header + 3;
        let (line, column) = position(text, body + text[body..].find('\n').unwrap_or(0));
        client.change(&uri, (line, column), (line, column), "\n    ");
        let (typed, memory) = (String::new(), BTreeMap::new());
        Ok(Typist { uri, line: line + 1, column: 4, typed, edits: 0, broken: 0, memory })
    }

    /// Makes edits at the rate of the options, and requests hints after each, for the lines that `shown` returns for the edited
    /// line.
    fn type_keys(
        &mut self,
        client: &mut Client,
        options: &Options,
        subject: &'static str,
        shown: impl Fn(usize) -> Lines,
    ) -> Result<(), String> {
        let mut keys = Vec::new();
        while keys.len() < options.edits {
            keys.extend(round());
        }
        keys.truncate(options.edits.max(1));
        let interval = Duration::from_secs_f64(1.0 / options.rate.max(0.1));
        let begin = Instant::now();
        for (i, key) in keys.iter().enumerate() {
            while begin.elapsed() < interval * i as u32 {
                client.listen(begin + interval * i as u32)?;
            }
            self.press(client, key);
            client.ask_hints(&self.uri, subject, shown(self.line));
        }
        client.wait_until_answered()?;
        self.memory.insert(self.edits, client.memory());
        // Remove the rest of the text, so that the next round begins with an empty line.
        if !self.typed.is_empty() {
            self.press(client, &Key { remove: self.typed.len(), insert: String::new() });
        }
        client.wait_until_answered()
    }

    fn press(&mut self, client: &mut Client, key: &Key) {
        let end = (self.line, self.column + self.typed.len());
        let start = (self.line, self.column + self.typed.len().saturating_sub(key.remove));
        self.typed.truncate(self.typed.len().saturating_sub(key.remove));
        self.typed.push_str(&key.insert);
        client.change(&self.uri, start, end, &key.insert);
        self.edits += 1;
        let whole =
            ["", "let q = 12;", "let q = 123;", "let q = 123; sync();", "let q = 123; sync(); sync();"];
        if !whole.contains(&self.typed.trim()) && !self.typed.contains("//") {
            self.broken += 1;
        }
        if self.edits.is_multiple_of(1000) {
            self.memory.insert(self.edits, client.memory());
        }
    }
}

fn quantiles(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| {
        let last = times.len().saturating_sub(1);
        times.get((last as f64 * share).round() as usize).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    say(&format!(
        "{what}: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, worst {:.1} ms over {} measurements",
        at(0.50),
        at(0.95),
        at(0.99),
        at(1.0),
        times.len()
    ));
}

/// Measures the time from the start of the process to the first hints, in a project with a test for every kernel of the library.
fn opening(server: &Path) -> Result<(), String> {
    let mut text = String::new();
    let mut kernel = String::new();
    let mut kernels = 0;
    for (module, file) in library()? {
        for line in file.lines() {
            let Some(rest) = line.strip_prefix("kernel ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            text.push_str(&format!("use std::{module}::{name};\n"));
            kernels += 1;
        }
        if module == "matmul" {
            let lines = file.lines().skip_while(|line| !line.starts_with("kernel "));
            let own: Vec<&str> = lines.take_while(|line| !line.starts_with("test ")).collect();
            kernel = own.join("\n").replacen("kernel matmul", "kernel own", 1);
        }
    }
    text.push_str(&kernel);
    let mut times = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        let mut client = Client::start(server, &[])?;
        let uri = client.open("typed.hx", &text);
        client.ask_hints(&uri, "hints", WHOLE);
        client.wait_until_answered()?;
        times.push(begin.elapsed());
    }
    times.sort();
    let middle = times[times.len() / 2].as_secs_f64() * 1e3;
    let worst = times[times.len() - 1].as_secs_f64() * 1e3;
    say(&format!(
        "opening a project that uses {kernels} kernels of std, to its first hints and diagnostics: median {middle:.0} ms, worst {worst:.0} ms"
    ));
    Ok(())
}
