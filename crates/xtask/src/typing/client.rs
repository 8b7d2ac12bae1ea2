//! A client of the language server that measures response times.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::say;

/// The longest time without a message before the server counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client that measures response times.
pub(super) struct Client {
    process: Child,
    input: ChildStdin,
    messages: Receiver<(Instant, Value)>,
    next: i64,
    version: i64,
    /// The time at which each version of a document was sent, until diagnostics of it or of a later version arrive.
    versions: BTreeMap<i64, Instant>,
    /// The subject of each unanswered request, and the time at which it was sent.
    questions: BTreeMap<i64, (&'static str, Instant)>,
    /// The time from each change to the first diagnostics of that text or of a newer one.
    pub(super) diagnostics_after: Vec<Duration>,
    /// The messages with diagnostics since the last call of `forget`.
    pub(super) published: Vec<Published>,
    /// The time from each request to its answer, by subject.
    answered_after: BTreeMap<&'static str, Vec<Duration>>,
    folder: PathBuf,
}

/// A message with diagnostics.
pub(super) struct Published {
    pub(super) when: Instant,
    pub(super) uri: String,
    /// Number of diagnostics in the message.
    pub(super) count: usize,
}

/// A range of lines; the end is excluded.
pub(super) type Lines = std::ops::Range<usize>;

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Client {
    /// Starts a server in a new folder with these files, each with its path in the folder.
    pub(super) fn start(server: &Path, files: &[(String, String)]) -> Result<Client, String> {
        let folder = std::env::temp_dir().join(format!("hx-typing-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make a folder: {error}"))?;
        for (path, text) in files {
            fs::write(folder.join(path), text).map_err(|error| format!("cannot write `{path}`: {error}"))?;
        }
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
            published: Vec::new(),
            answered_after: BTreeMap::new(),
            folder,
        };
        let encodings = json!({ "general": { "positionEncodings": ["utf-8"] } });
        let root = format!("file://{}", client.folder.display());
        let folders = json!([{ "uri": root, "name": "typing" }]);
        let params = json!({ "processId": null, "rootUri": null, "workspaceFolders": folders, "capabilities": encodings });
        let id = client.request("initialize", params);
        // A server refuses all messages before its answer to `initialize`, so wait for the answer.
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

    /// Opens a document at a path in the folder, and returns its URI.
    pub(super) fn open(&mut self, path: &str, text: &str) -> String {
        let uri = format!("file://{}/{path}", self.folder.display());
        self.version += 1;
        let document = json!({ "uri": uri, "languageId": "hx", "version": self.version, "text": text });
        self.versions.insert(self.version, Instant::now());
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        uri
    }

    pub(super) fn change(&mut self, uri: &str, start: (usize, usize), end: (usize, usize), text: &str) {
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

    /// Requests the hints of some lines; `subject` names the request in the results.
    pub(super) fn ask_hints(&mut self, uri: &str, subject: &'static str, lines: Lines) {
        let place = |line: usize| json!({ "line": line, "character": 0 });
        let range = json!({ "start": place(lines.start), "end": place(lines.end) });
        let params = json!({ "textDocument": { "uri": uri }, "range": range });
        self.ask(subject, "textDocument/inlayHint", params);
    }

    /// Sends a request; `subject` names it in the results.
    pub(super) fn ask(&mut self, subject: &'static str, method: &str, params: Value) {
        let sent = Instant::now();
        let id = self.request(method, params);
        self.questions.insert(id, (subject, sent));
    }

    /// Returns the time to each answer about a subject.
    pub(super) fn answered(&self, subject: &str) -> Vec<Duration> {
        self.answered_after.get(subject).cloned().unwrap_or_default()
    }

    /// Drops all measured times.
    pub(super) fn forget(&mut self) {
        self.published.clear();
        self.diagnostics_after.clear();
        self.answered_after.clear();
    }

    /// Waits until `until` for a message, and handles it.
    pub(super) fn listen(&mut self, until: Instant) -> Result<(), String> {
        let left = until.saturating_duration_since(Instant::now());
        let Ok((when, message)) = self.messages.recv_timeout(left) else { return Ok(()) };
        self.hear(when, &message)
    }

    fn hear(&mut self, when: Instant, message: &Value) -> Result<(), String> {
        let question = message["id"].as_i64().and_then(|id| self.questions.remove(&id));
        if let Some((subject, sent)) = question {
            if let Some(error) = message.get("error") {
                return Err(format!("{subject} were refused: {error}"));
            }
            let times = self.answered_after.entry(subject).or_default();
            times.push(when.saturating_duration_since(sent));
        }
        let params = &message["params"];
        if message["method"] == "textDocument/publishDiagnostics" {
            let uri = params["uri"].as_str().unwrap_or_default().to_owned();
            let count = params["diagnostics"].as_array().map_or(0, Vec::len);
            self.published.push(Published { when, uri, count });
        }
        if message["method"] == "textDocument/publishDiagnostics"
            && let Some(version) = params["version"].as_i64()
        {
            // The server sends no diagnostics for earlier versions any more, so these count for them too.
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

    /// Waits until every change has its diagnostics and every request its answer.
    pub(super) fn wait_until_answered(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while !self.versions.is_empty() || !self.questions.is_empty() {
            if Instant::now() > deadline {
                return Err("the server does not answer".to_owned());
            }
            self.listen(deadline)?;
        }
        Ok(())
    }

    /// Waits until the server has used no processor time for a while. Returns the time at which it became idle.
    ///
    /// The server sends no message for a file without findings, so only its processor time shows the end of its work.
    pub(super) fn idle(&mut self) -> Result<Instant, String> {
        const QUIET: Duration = Duration::from_millis(600);
        let (mut used, mut since) = (self.processor_time(), Instant::now());
        while since.elapsed() < QUIET {
            self.listen(Instant::now() + Duration::from_millis(20))?;
            let now = self.processor_time();
            if now > used + Duration::from_millis(10) {
                (used, since) = (now, Instant::now());
            }
        }
        Ok(since)
    }

    /// Returns the processor time that the server has spent in user mode on all cores; 0 if the system does not report it.
    pub(super) fn processor_time(&self) -> Duration {
        // Linux reports the time in hundredths of a second.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        // The name of the process may contain spaces; the fields follow its closing bracket. The 12th is the time in user mode.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().nth(11).and_then(|field| field.parse::<u64>().ok());
        Duration::from_millis(ticks.unwrap_or_default() * 10)
    }

    /// Returns the resident memory of the server in bytes; 0 if the system does not report it.
    pub(super) fn memory(&self) -> u64 {
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
