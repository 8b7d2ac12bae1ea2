//! `cargo xtask typing`: types into a file at human speed, and measures the response times of the language server.
//!
//! The file consists of the kernels of the standard library. At 20 keystrokes a second, the chore types a statement, a call, a
//! comment and a number into the body of one kernel and deletes them again, so about half of the texts have errors. For each
//! keystroke it measures two times: until the diagnostics of that text arrive, and until the hints requested after it arrive. It
//! prints quantiles, the memory of the server, and the time until the first hints in a project that uses all of `std`. `--of
//! gemm,attention_hopper` makes the file of these modules of the library, and types into the first kernel of the first. `--random N`
//! makes random edits instead, and compares the server with fresh ones.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{root, say};

/// Kernels to type into; the first that the library has is used.
const EDITED: &[&str] = &["attention", "matmul_pipelined"];

struct Options {
    edits: usize,
    rate: f64,
    release: bool,
    /// The modules of the library that make up the file; none for the default file.
    of: Vec<String>,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut options = Options { edits: 1000, rate: 20.0, release: true, of: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || {
            let text = args.next().ok_or_else(|| format!("`{arg}` needs a number"))?;
            text.parse::<f64>().map_err(|_| format!("`{text}` is no number"))
        };
        match arg.as_str() {
            "--edits" => options.edits = number()? as usize,
            "--rate" => options.rate = number()?,
            "--random" => return random(number()? as usize),
            "--debug" => options.release = false,
            "--of" => {
                let names = args
                    .next()
                    .ok_or("`--of` needs modules of the library, as in `gemm,attention_hopper`")?;
                options.of = names.split(',').map(str::to_owned).collect();
            }
            other => {
                return Err(format!(
                    "`{other}` is not understood: --edits N, --rate N, --of MODULES, --random N, --debug"
                ));
            }
        }
    }
    let server = build(options.release)?;
    say_load();
    opening(&server)?;
    typing(&server, &options)
}

/// Makes that many random edits, with a fresh server after every forty. This runs the suite's own test for longer.
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

/// Returns the files of the library without tests and benches, and without repeated `use` items.
fn library() -> Result<Vec<(String, String)>, String> {
    let folder = root().join("std");
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read std: {error}"))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut library = Vec::new();
    for path in files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "hx")) {
        let text =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        library.push((name, text));
    }
    Ok(library)
}

/// Returns a file of these modules of the library, and the name of its first kernel.
fn file_of(names: &[String]) -> Result<(String, String), String> {
    let library = library()?;
    let mut text = String::new();
    for name in names {
        let module = library.iter().find(|(module, _)| module == name);
        append(&mut text, &module.ok_or_else(|| format!("the library has no module `{name}`"))?.1);
    }
    let header = text.lines().find_map(|line| line.strip_prefix("kernel "));
    let header = header.ok_or("the modules have no kernel to type into")?;
    let name = header.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    Ok((text, name))
}

/// Appends a module to a file, without its header and repeated `use` items.
fn append(text: &mut String, module: &str) {
    for line in module.lines().filter(|line| !line.starts_with("//!")) {
        if !(line.starts_with("use ") && text.contains(line)) {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// Returns a file of at least 500 lines and five kernels, in which the edited kernel is the first.
fn long_file() -> Result<(String, String), String> {
    let mut library = library()?;
    let edited = EDITED.iter().find(|name| library.iter().any(|(file, _)| file == *name));
    let edited = *edited.ok_or("the library has no kernel to type into")?;
    library.sort_by_key(|(name, _)| (name != edited, !EDITED.contains(&name.as_str()), name.clone()));
    let mut text = String::new();
    for (_, file) in &library {
        let kernels = text.lines().filter(|line| line.starts_with("kernel ")).count();
        if text.lines().count() >= 500 && kernels >= 5 {
            break;
        }
        append(&mut text, file);
    }
    // The text is valid: `use` items may be anywhere, and names of the same file need no `use`.
    Ok((text, edited.to_owned()))
}

/// A change of the text at a place: the number of bytes to remove, and the text to insert.
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
    // The number affects the program but not its layouts.
    keys.extend(back(1));
    keys.extend(typed("3;"));
    keys.extend(typed(" // a note"));
    keys.extend(back(4));
    keys.push(Key { remove: " // a note".len() - 4, insert: String::new() });
    keys.extend(typed(" copy(q, "));
    keys.push(Key { remove: " copy(q, ".len(), insert: String::new() });
    // Each additional barrier makes a different program, which has to be solved again.
    keys.extend(typed(" sync(); sync();"));
    keys.extend(back(" sync();".len()));
    keys.push(Key { remove: "let q = 123; sync();".len(), insert: String::new() });
    keys
}

fn typing(server: &Path, options: &Options) -> Result<(), String> {
    let (mut text, edited) = if options.of.is_empty() { long_file()? } else { file_of(&options.of)? };
    let kernels = text.lines().filter(|line| line.starts_with("kernel ")).count();
    say(&format!(
        "typing into `{edited}` in {} lines with {kernels} kernels, {} edits at {} a second, {} build",
        text.lines().count(),
        options.edits,
        options.rate,
        if options.release { "release" } else { "debug" },
    ));
    let header = text.find(&format!("kernel {edited}")).ok_or("the kernel is not there")?;
    let body = text[header..].find("\n{\n").ok_or("its body is not there")? + header + 3;
    // The place is after the first statement.
    let at = body + text[body..].find('\n').unwrap_or(0);
    let mut client = Client::start(server)?;
    let uri = client.open(&text);
    client.settle()?;
    let (line, column) = position(&text, at);
    text.clear();
    let mut keys = Vec::new();
    while keys.len() < options.edits {
        keys.extend(round());
    }
    keys.truncate(options.edits.max(1));
    let interval = Duration::from_secs_f64(1.0 / options.rate.max(0.1));
    let begin = Instant::now();
    let (mut typed, mut broken) = (String::from("\n    "), 0);
    client.change(&uri, (line, column), (line, column), &typed);
    let (line, column) = (line + 1, 4);
    typed.clear();
    let mut memory = BTreeMap::new();
    for (i, key) in keys.iter().enumerate() {
        while begin.elapsed() < interval * i as u32 {
            client.listen(begin + interval * i as u32)?;
        }
        let end = (line, column + typed.len());
        let start = (line, column + typed.len().saturating_sub(key.remove));
        typed.truncate(typed.len().saturating_sub(key.remove));
        typed.push_str(&key.insert);
        client.change(&uri, start, end, &key.insert);
        client.ask_hints(&uri);
        if !matches!(
            typed.trim(),
            "" | "let q = 12;" | "let q = 123;" | "let q = 123; sync();" | "let q = 123; sync(); sync();"
        ) && !typed.contains("//")
        {
            broken += 1;
        }
        if (i + 1) % 1000 == 0 {
            memory.insert(i + 1, client.memory());
        }
    }
    client.settle()?;
    memory.entry(keys.len()).or_insert_with(|| client.memory());
    say(&format!("{broken} of {} states were typed halfway", keys.len()));
    quantiles("diagnostics", client.diagnostics_after.clone());
    quantiles("hints", client.hints_after.clone());
    for (edits, bytes) in &memory {
        say(&format!("memory after {edits} edits: {:.1} MiB", *bytes as f64 / (1 << 20) as f64));
    }
    Ok(())
}

fn quantiles(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| {
        let last = times.len().saturating_sub(1);
        times.get((last as f64 * share).round() as usize).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    say(&format!(
        "{what}: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, worst {:.1} ms over {} keystrokes",
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
        let mut client = Client::start(server)?;
        let uri = client.open(&text);
        client.ask_hints(&uri);
        client.settle()?;
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

/// Returns the line and column of a byte, both from 0.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    (before.matches('\n').count(), at - before.rfind('\n').map_or(0, |i| i + 1))
}

/// The longest time without a message before the server counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client that measures response times.
struct Client {
    process: Child,
    input: ChildStdin,
    messages: Receiver<(Instant, Value)>,
    next: i64,
    version: i64,
    /// The send time of each version, until its diagnostics or newer ones arrive.
    versions: BTreeMap<i64, Instant>,
    /// The send time of each request for hints.
    questions: BTreeMap<i64, Instant>,
    diagnostics_after: Vec<Duration>,
    hints_after: Vec<Duration>,
    folder: PathBuf,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Client {
    fn start(server: &Path) -> Result<Client, String> {
        let folder = std::env::temp_dir().join(format!("hx-typing-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make a folder: {error}"))?;
        let mut process = Command::new(server)
            .arg("lsp")
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("the server does not start: {error}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("the server has no streams".to_owned());
        };
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read_message(&mut output) {
                if sender.send((Instant::now(), message)).is_err() {
                    return;
                }
            }
        });
        let mut client = Client {
            process,
            input,
            messages,
            next: 0,
            version: 0,
            versions: BTreeMap::new(),
            questions: BTreeMap::new(),
            diagnostics_after: Vec::new(),
            hints_after: Vec::new(),
            folder,
        };
        let encodings = json!({ "general": { "positionEncodings": ["utf-8"] } });
        let root = format!("file://{}", client.folder.display());
        let folders = json!([{ "uri": root, "name": "typing" }]);
        let params = json!({ "processId": null, "rootUri": null, "workspaceFolders": folders, "capabilities": encodings });
        let id = client.request("initialize", params);
        // Before its answer to `initialize` a server refuses all other messages.
        let (begin, mut answered) = (Instant::now(), false);
        while !answered {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            let (_, message) =
                client.messages.recv_timeout(left).map_err(|_| "the server does not start".to_owned())?;
            answered = message["id"] == id;
        }
        client.notify("initialized", json!({}));
        Ok(client)
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        let _ = write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len());
        let _ = self.input.flush();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn open(&mut self, text: &str) -> String {
        let uri = format!("file://{}/typed.hx", self.folder.display());
        self.version += 1;
        let document = json!({ "uri": uri, "languageId": "hx", "version": self.version, "text": text });
        self.versions.insert(self.version, Instant::now());
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        uri
    }

    fn change(&mut self, uri: &str, start: (usize, usize), end: (usize, usize), text: &str) {
        self.version += 1;
        self.versions.insert(self.version, Instant::now());
        let place = |(line, character): (usize, usize)| json!({ "line": line, "character": character });
        let range = json!({ "start": place(start), "end": place(end) });
        let params = json!({
            "textDocument": { "uri": uri, "version": self.version },
            "contentChanges": [{ "range": range, "text": text }],
        });
        self.notify("textDocument/didChange", params);
    }

    fn ask_hints(&mut self, uri: &str) {
        let range =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 } });
        let params = json!({ "textDocument": { "uri": uri }, "range": range });
        let sent = Instant::now();
        let id = self.request("textDocument/inlayHint", params);
        self.questions.insert(id, sent);
    }

    /// Handles one message, if it arrives before `until`.
    fn listen(&mut self, until: Instant) -> Result<(), String> {
        let left = until.saturating_duration_since(Instant::now());
        let Ok((when, message)) = self.messages.recv_timeout(left) else { return Ok(()) };
        self.hear(when, &message)
    }

    fn hear(&mut self, when: Instant, message: &Value) -> Result<(), String> {
        if let Some(sent) = message["id"].as_i64().and_then(|id| self.questions.remove(&id)) {
            if let Some(error) = message.get("error") {
                return Err(format!("hints were refused: {error}"));
            }
            self.hints_after.push(when.saturating_duration_since(sent));
        }
        if message["method"] == "textDocument/publishDiagnostics"
            && let Some(version) = message["params"]["version"].as_i64()
        {
            // These diagnostics also answer for every earlier version, whose own diagnostics will not come.
            let later = self.versions.split_off(&(version + 1));
            for sent in std::mem::replace(&mut self.versions, later).into_values() {
                self.diagnostics_after.push(when.saturating_duration_since(sent));
            }
        }
        if message["method"] == "window/logMessage" {
            say(&format!("the server said: {}", message["params"]["message"]));
        }
        Ok(())
    }

    /// Waits until everything is answered.
    fn settle(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while !self.versions.is_empty() || !self.questions.is_empty() {
            if Instant::now() > deadline {
                return Err("the server does not answer".to_owned());
            }
            self.listen(deadline)?;
        }
        Ok(())
    }

    /// Returns the resident memory of the server in bytes; 0 if the system does not report it.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or_default() * 1024
    }
}

fn read_message(output: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => {
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    length = value.parse().ok()?;
                }
            }
        }
    }
    let mut bytes = vec![0; length];
    std::io::Read::read_exact(output, &mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
