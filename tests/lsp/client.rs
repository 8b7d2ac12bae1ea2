//! A client of the language server: it writes messages, reads answers, and records the server's own messages.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A limit far above the time of any answer, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// The capabilities and settings that a client announces.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) utf8: bool,
    /// The client requests diagnostics.
    pub(crate) pulls: bool,
    /// The client resolves the tooltips of hints and the edits of actions on demand.
    pub(crate) resolves: bool,
    pub(crate) initialization: Value,
    pub(crate) folders: Vec<String>,
    /// Environment variables of the server.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Default for Options {
    fn default() -> Options {
        let folders = vec![String::new()];
        let (initialization, variables) = (Value::Null, Vec::new());
        Options { utf8: true, pulls: false, resolves: false, initialization, folders, variables }
    }
}

/// A running server over a folder, and the connection to it.
pub(crate) struct Client {
    pub(crate) sandbox: Rc<Sandbox>,
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    /// Answers that arrived before the test waited for them.
    answers: BTreeMap<i64, Value>,
    /// The newest diagnostics of each file; `published` counts all of them.
    pub(crate) diagnostics: BTreeMap<String, Value>,
    pub(crate) published: usize,
    /// The version and the codes of each message with diagnostics, in order.
    pub(crate) history: Vec<(i64, Vec<String>)>,
    /// Messages that the server logged or showed.
    pub(crate) said: Vec<String>,
    /// The methods of requests from the server.
    pub(crate) asked: Vec<String>,
    /// Answers without an id, which the server sends for unreadable messages.
    pub(crate) refusals: Vec<Value>,
    pub(crate) initialized: Value,
    version: i64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Client {
    /// Starts a server over a folder with these files.
    pub(crate) fn start(files: &[(&str, &str)]) -> Client {
        Client::start_with(files, &Options::default())
    }

    pub(crate) fn start_with(files: &[(&str, &str)], options: &Options) -> Client {
        let sandbox = Sandbox::new();
        for (name, text) in files {
            sandbox.write(name, text.as_bytes());
        }
        Client::over(sandbox, options)
    }

    /// Starts a server over an existing folder.
    pub(crate) fn over(sandbox: Sandbox, options: &Options) -> Client {
        Client::over_folder(Rc::new(sandbox), options)
    }

    /// Starts a server over a folder that others use as well.
    pub(crate) fn over_folder(sandbox: Rc<Sandbox>, options: &Options) -> Client {
        let mut client = Client::spawn(sandbox, options);
        client.say_hello(options);
        client
    }

    /// Starts a server without sending it any message.
    pub(crate) fn silent() -> Client {
        Client::spawn(Rc::new(Sandbox::new()), &Options::default())
    }

    fn spawn(sandbox: Rc<Sandbox>, options: &Options) -> Client {
        let variables: Vec<(&str, &str)> =
            options.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut process = sandbox
            .command(&["lsp"], &variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let output = process.stdout.take().expect("its output is a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Client {
            sandbox,
            process,
            input,
            messages,
            next_id: 0,
            answers: BTreeMap::new(),
            diagnostics: BTreeMap::new(),
            published: 0,
            history: Vec::new(),
            said: Vec::new(),
            asked: Vec::new(),
            refusals: Vec::new(),
            initialized: Value::Null,
            version: 0,
        }
    }

    pub(crate) fn say_hello(&mut self, options: &Options) {
        let encodings = if options.utf8 { json!(["utf-8", "utf-16"]) } else { json!(["utf-16"]) };
        let mut text = json!({
            "completion": { "completionItem": { "snippetSupport": true } },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix"] } } },
        });
        if options.pulls {
            text["diagnostic"] = json!({});
        }
        if options.resolves {
            text["inlayHint"] = json!({ "resolveSupport": { "properties": ["tooltip", "label.location"] } });
            text["codeAction"]["dataSupport"] = json!(true);
            text["codeAction"]["resolveSupport"] = json!({ "properties": ["edit"] });
        }
        let folder = |name: &String| json!({ "uri": self.uri(name), "name": name });
        let folders: Vec<Value> = options.folders.iter().map(folder).collect();
        let params = json!({
            "processId": null,
            "clientInfo": { "name": "script" },
            "rootUri": null,
            "workspaceFolders": folders,
            "initializationOptions": options.initialization,
            "capabilities": {
                "general": { "positionEncodings": encodings },
                "textDocument": text,
                "workspace": {
                    "inlayHint": { "refreshSupport": true },
                    "codeLens": { "refreshSupport": true },
                    "didChangeWatchedFiles": { "dynamicRegistration": true },
                },
            },
        });
        self.initialized = self.ask("initialize", params);
        self.tell("initialized", json!({}));
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        let path = self.sandbox.path(name).display().to_string();
        format!("file://{}", path.trim_end_matches('/'))
    }

    fn write(&mut self, message: &Value) {
        self.write_raw(framed(&message.to_string()).as_bytes());
    }

    /// Writes bytes that need not be a message.
    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the server has not been left");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server listens");
    }

    /// Sends a notification.
    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Returns the id for a request that the test writes itself.
    pub(crate) fn next(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next();
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.write(&message);
        id
    }

    pub(crate) fn cancel(&mut self, id: i64) {
        self.tell("$/cancelRequest", json!({ "id": id }));
    }

    /// Waits for the answer to a request and returns all of it.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            assert!(self.hear(deadline), "no answer to request {id}; the server said {:?}", self.said);
        }
    }

    /// Returns the result of a request, which must not be an error.
    pub(crate) fn result(&mut self, id: i64) -> Value {
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "request {id}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.result(id)
    }

    /// Returns the code and message of the error that a request must have.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        let error = &answer["error"];
        (error["code"].as_i64().unwrap_or_default(), error["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits for one message and handles it. Returns false if none arrived before the deadline.
    fn hear(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => panic!("the server went away; it said {:?}", self.said),
        };
        let id = message["id"].as_i64();
        match (message["method"].as_str(), id) {
            (None, Some(id)) => {
                assert!(id <= self.next_id, "an answer that nobody asked for: {message}");
                let twice = self.answers.insert(id, message);
                assert!(twice.is_none(), "two answers to request {id}");
            }
            (Some(method), Some(id)) => {
                self.asked.push(method.to_owned());
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": null }));
            }
            (None, None) if message["error"].is_object() => self.refusals.push(message["error"].clone()),
            (Some("textDocument/publishDiagnostics"), None) => {
                let params = &message["params"];
                let uri = params["uri"].as_str().expect("diagnostics have a file").to_owned();
                self.published += 1;
                let found = params["diagnostics"].as_array().into_iter().flatten();
                let codes = found.map(|found| found["code"].as_str().unwrap_or_default().to_owned());
                self.history.push((params["version"].as_i64().unwrap_or_default(), codes.collect()));
                self.diagnostics.insert(uri, params.clone());
            }
            (Some("window/logMessage" | "window/showMessage"), None) => {
                self.said.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        true
    }

    /// Waits until the diagnostics of a file are those of a version, and returns them.
    pub(crate) fn diagnostics_of(&mut self, name: &str, version: i64) -> Vec<Value> {
        let uri = self.uri(name);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.diagnostics.get(&uri)
                && found["version"].as_i64() == Some(version)
            {
                return found["diagnostics"].as_array().cloned().unwrap_or_default();
            }
            assert!(
                self.hear(deadline),
                "no diagnostics of {name} {version}; the server said {:?}",
                self.said
            );
        }
    }

    /// Handles messages until a condition holds.
    pub(crate) fn wait_for(&mut self, what: &str, holds: impl Fn(&Client) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(self.hear(deadline), "{what} did not come; the server said {:?}", self.said);
        }
    }

    /// Adds `by` to the newest version. The next change then has the version after that.
    pub(crate) fn turn_version(&mut self, by: i64) {
        self.version += by;
    }

    /// Opens a document and returns its version.
    pub(crate) fn open(&mut self, name: &str, text: &str) -> i64 {
        self.version += 1;
        let document = json!({
            "uri": self.uri(name), "languageId": "hx", "version": self.version, "text": text,
        });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.version
    }

    /// Changes a document. A change without a range replaces the whole text.
    pub(crate) fn change(&mut self, name: &str, changes: Value) -> i64 {
        self.version += 1;
        let document = json!({ "uri": self.uri(name), "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.tell("textDocument/didChange", params);
        self.version
    }

    pub(crate) fn replace(&mut self, name: &str, text: &str) -> i64 {
        self.change(name, json!([{ "text": text }]))
    }

    pub(crate) fn document(&self, name: &str) -> Value {
        json!({ "uri": self.uri(name) })
    }

    /// Returns the parameters of a question about a position.
    pub(crate) fn at(&self, name: &str, line: u32, character: u32) -> Value {
        json!({
            "textDocument": self.document(name),
            "position": { "line": line, "character": character },
        })
    }

    /// Returns the hints of a whole file as lines `LINE:COLUMN TEXT`, with lines and columns from 0.
    pub(crate) fn hints(&mut self, name: &str) -> String {
        let range = json!({
            "start": { "line": 0, "character": 0 }, "end": { "line": 1_000_000, "character": 0 },
        });
        let params = json!({ "textDocument": self.document(name), "range": range });
        let hints = self.ask("textDocument/inlayHint", params);
        let mut text = String::new();
        for hint in hints.as_array().into_iter().flatten() {
            let at = &hint["position"];
            let parts = hint["label"].as_array().into_iter().flatten();
            let label: String = parts.filter_map(|part| part["value"].as_str()).collect();
            text.push_str(&format!("{}:{} {label}\n", at["line"], at["character"]));
        }
        text
    }

    /// Ends the server as the protocol requires, and returns its exit code.
    pub(crate) fn leave(mut self) -> i32 {
        let id = self.send("shutdown", Value::Null);
        self.result(id);
        self.tell("exit", Value::Null);
        self.wait()
    }

    /// Waits until the process ends by itself, and returns its exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().expect("the process can be asked") {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    /// Closes the server's input.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// Returns the ids of running processes that the server has started.
    #[cfg(target_os = "linux")]
    pub(crate) fn children(&self) -> Vec<u32> {
        let listed = std::fs::read_dir("/proc").expect("processes are listed");
        let numbers = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(|number| parent_of(*number) == Some(self.process.id())).collect()
    }

    /// Kills the server's process without a farewell.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the process id of the parent of a running process; `None` if the process has ended or is a zombie.
#[cfg(target_os = "linux")]
fn parent_of(number: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name in parentheses may contain any characters, so parse after the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" { None } else { fields.next()?.parse().ok() }
}

/// Waits until a process has ended.
#[cfg(target_os = "linux")]
pub(crate) fn wait_for_the_end_of(number: u32) {
    let deadline = Instant::now() + PATIENCE;
    while parent_of(number).is_some() {
        assert!(Instant::now() < deadline, "process {number} goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Adds the header to a message.
pub(crate) fn framed(content: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{content}", content.len())
}

fn read_message(output: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut bytes = vec![0; length];
    std::io::Read::read_exact(output, &mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
