//! The kernel: takes requests in order, and answers each with the session.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hx_repl::{Outcome, Screen, Session, Style, entries};
use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::history::History;
use crate::info::kernel_info;
use crate::message::{CommOpen, ExecuteRequest, Message};
use crate::outputs::{Failure, Outputs};
use crate::sockets::{Flags, Incoming, Port, Sockets};
use crate::{parent, requests};

/// The style of outputs. Diagnostics are coloured, and drawings as text are at most 120 columns wide and 46 lines high, which
/// fits a cell.
const STYLE: Style = Style {
    color: false,
    diagnostics: true,
    size: Some((120, 46)),
    pictures: true,
    format: hx_repl::Format::Human,
};
/// After a cell fails, requests that arrive within this time count as sent before the failure and are aborted. Clients send
/// several cells at once, and the first may fail before the others arrive.
const GATHER: Duration = Duration::from_millis(20);

/// Settings that the surrounding process chooses.
#[derive(Clone, Debug)]
pub struct Config {
    /// The flag of the session that stops an entry.
    pub interrupt: &'static AtomicBool,
    /// Takes lines for the log of the process.
    pub log: fn(&str),
    /// Findings of the start. The first cell shows them, because users do not read the log of a kernel.
    pub notice: Option<String>,
}

/// Serves clients until one of them shuts the kernel down.
///
/// # Errors
/// If a port of the connection cannot be used, or no thread can be started.
pub fn serve(session: Session, connection: Connection, config: Config) -> Result<(), String> {
    let flags = Flags { interrupt: config.interrupt, ended: Arc::default() };
    let sockets = Sockets::open(connection, flags.clone(), config.log)?;
    let wake = sockets.wake.clone();
    parent::watch(&flags, move || drop(wake.send(Incoming::Shutdown)));
    sockets.port.status(&json!({}), "starting");
    let mut kernel = Kernel {
        session,
        port: sockets.port.clone(),
        flags,
        log: config.log,
        count: 0,
        history: History::default(),
        waiting: VecDeque::new(),
        notice: config.notice,
    };
    kernel.run(&sockets);
    sockets.close();
    // The shutdown has set the flag to stop the running entry. Clear it, because it also means Ctrl-C, which has another exit code.
    config.interrupt.store(false, Ordering::SeqCst);
    Ok(())
}

struct Kernel {
    session: Session,
    port: Port,
    flags: Flags,
    log: fn(&str),
    /// The number of the last counted cell.
    count: u32,
    history: History,
    /// Requests that arrived while the kernel gathered the cells to abort; they are answered before new ones.
    waiting: VecDeque<Incoming>,
    notice: Option<String>,
}

impl Kernel {
    fn run(&mut self, sockets: &Sockets) {
        loop {
            let next = self.waiting.pop_front().or_else(|| sockets.incoming.recv().ok());
            let Some(Incoming::Request(request)) = next else { return };
            if self.flags.ended.load(Ordering::SeqCst) {
                return;
            }
            // An interrupt stops only the entry that runs when it arrives: forget an earlier one.
            self.flags.interrupt.store(false, Ordering::SeqCst);
            let parent = request.raw_header();
            self.port.status(&parent, "busy");
            let failed = self.answer(&request, &parent, sockets);
            self.port.status(&parent, "idle");
            if failed {
                self.abort_executions();
            }
        }
    }

    /// Answers a request of the shell channel; an unknown one is only logged. Returns whether the waiting executions must be
    /// aborted.
    fn answer(&mut self, request: &Message, parent: &Value, sockets: &Sockets) -> bool {
        let kind = request.header.msg_type.as_str();
        let content = match kind {
            "execute_request" => match request.parse::<ExecuteRequest>() {
                Ok(execute) => return self.execute(request, parent, &execute, sockets),
                Err(error) => malformed(&error),
            },
            "kernel_info_request" => kernel_info(),
            "complete_request" => self.ask(request, requests::complete),
            "inspect_request" => self.ask(request, requests::inspect),
            "is_complete_request" => {
                request.parse().map_or_else(|error| malformed(&error), |asked| requests::is_complete(&asked))
            }
            "history_request" => {
                request.parse().map_or_else(|error| malformed(&error), |asked| self.history.reply(&asked))
            }
            "comm_info_request" => json!({ "status": "ok", "comms": {} }),
            // The kernel has no widgets, so close the frontend's end.
            "comm_open" => {
                if let Ok(open) = request.parse::<CommOpen>() {
                    self.port.publish(parent, "comm_close", json!({ "comm_id": open.comm_id, "data": {} }));
                }
                return false;
            }
            "comm_msg" | "comm_close" => return false,
            other => {
                (self.log)(&format!("a message was ignored: the shell channel has no `{other}`"));
                return false;
            }
        };
        self.port.reply(request, &kind.replace("_request", "_reply"), content);
        false
    }

    /// Answers a completion or an inspection. A panic becomes an error reply, so that the kernel continues.
    fn ask<T: for<'de> serde::Deserialize<'de>>(
        &mut self,
        request: &Message,
        answer: fn(&mut Session, &T) -> Value,
    ) -> Value {
        let asked: T = match request.parse() {
            Ok(asked) => asked,
            Err(error) => return malformed(&error),
        };
        let session = &mut self.session;
        match catch_unwind(AssertUnwindSafe(|| answer(session, &asked))) {
            Ok(content) => content,
            Err(panic) => {
                let reason = panic_text(&*panic);
                (self.log)(&format!("the compiler panicked at `{}`: {reason}", request.header.msg_type));
                json!({ "status": "error", "ename": hx_base::codes::INTERNAL_ERROR.id, "evalue": reason, "traceback": [] })
            }
        }
    }

    /// Runs a cell. Returns whether the waiting executions must be aborted.
    fn execute(
        &mut self,
        request: &Message,
        parent: &Value,
        execute: &ExecuteRequest,
        sockets: &Sockets,
    ) -> bool {
        let is_blank = execute.code.trim().is_empty();
        if !execute.silent && !is_blank {
            if execute.store_history {
                self.count += 1;
                self.history.push(self.count, &execute.code);
            }
            let content = json!({ "code": execute.code, "execution_count": self.count });
            self.port.publish(parent, "execute_input", content);
            if let Some(notice) = self.notice.take() {
                self.port.stream(parent, "stderr", &notice);
            }
        }
        let port = self.port.clone();
        let mut outputs = Outputs::new((!execute.silent).then_some(&port), parent, self.count);
        let outcome = self.enter_all(&execute.code, &mut outputs);
        let failure = outputs.end(outcome);
        let mut content = Map::new();
        match &failure {
            None => {
                content.insert("status".to_owned(), json!("ok"));
                let expressions = self.expressions(&execute.user_expressions);
                content.insert("user_expressions".to_owned(), expressions);
            }
            Some(failure) => {
                content.insert("status".to_owned(), json!("error"));
                if let Value::Object(parts) = failure.content() {
                    content.extend(parts);
                }
            }
        }
        // `:quit` ends the client, which then shuts the kernel down if it started it.
        let leave = json!({ "source": "ask_exit", "keepkernel": false });
        let payload = if outcome == Outcome::Quit { vec![leave] } else { Vec::new() };
        content.insert("execution_count".to_owned(), json!(self.count));
        content.insert("payload".to_owned(), json!(payload));
        let aborts = failure.is_some() && execute.stop_on_error;
        if aborts {
            // Gather before the reply: a client may send a request in answer to the error, and that request must not be aborted.
            while let Ok(next) = sockets.incoming.recv_timeout(GATHER) {
                self.waiting.push_back(next);
            }
        }
        self.port.reply(request, "execute_reply", Value::Object(content));
        aborts
    }

    /// Runs the entries of a cell until one has an outcome other than `Good`, and returns that outcome.
    fn enter_all(&mut self, code: &str, outputs: &mut Outputs<'_>) -> Outcome {
        self.session.number(usize::try_from(self.count.max(1)).unwrap_or(1));
        let found = entries(code);
        for (at, entry) in found.iter().enumerate() {
            outputs.is_last = at + 1 == found.len();
            // Put empty lines in place of the entries before, so that errors have the line numbers of the cell.
            let lines = code[..entry.start].matches('\n').count();
            let text = format!("{}{}", "\n".repeat(lines), entry.text);
            let session = &mut self.session;
            let mut enter = || session.enter(&text, &mut Screen::of(outputs, STYLE));
            let outcome = match catch_unwind(AssertUnwindSafe(&mut enter)) {
                Ok(outcome) => outcome,
                Err(panic) => {
                    self.session.panicked(panic_text(&*panic), &mut Screen::of(outputs, STYLE));
                    Outcome::Failed
                }
            };
            if outcome != Outcome::Good {
                return outcome;
            }
        }
        Outcome::Good
    }

    /// Evaluates the `user_expressions` of a request. Returns an object with a result or an error for each name.
    fn expressions(&mut self, wanted: &Map<String, Value>) -> Value {
        let nowhere = json!({});
        let mut found = Map::new();
        for (name, expression) in wanted {
            let mut outputs = Outputs::new(None, &nowhere, self.count);
            let text = expression.as_str().unwrap_or_default();
            let value = self.session.expression(text, &mut Screen::of(&mut outputs, STYLE));
            let answer = match value {
                Ok(text) => json!({ "status": "ok", "data": { "text/plain": text }, "metadata": {} }),
                Err(outcome) => {
                    let mut content = outputs.end(outcome).as_ref().map_or(json!({}), Failure::content);
                    content["status"] = json!("error");
                    content
                }
            };
            found.insert(name.clone(), answer);
        }
        Value::Object(found)
    }

    /// Answers the waiting executions without running them. Other requests keep waiting.
    fn abort_executions(&mut self) {
        for next in std::mem::take(&mut self.waiting) {
            match next {
                Incoming::Request(request) if request.header.msg_type == "execute_request" => {
                    let parent = request.raw_header();
                    self.port.status(&parent, "busy");
                    let content = json!({ "status": "aborted", "execution_count": self.count });
                    self.port.reply(&request, "execute_reply", content);
                    self.port.status(&parent, "idle");
                }
                other => self.waiting.push_back(other),
            }
        }
    }
}

/// Returns the answer to a request whose content cannot be read.
fn malformed(error: &serde_json::Error) -> Value {
    json!({ "status": "error", "ename": "malformed", "evalue": error.to_string(), "traceback": [] })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "no reason given".to_owned())
}
