//! A session of the debug adapter: requests on one stepper.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, absolute};

use hx_base::{SourceFile, line_index};
use hx_driver::{StepFrame, Stepper};
use hx_sim::AgentId;
use serde_json::{Value, json};

use super::message::{Channel, Request};
use super::variables::Variables;
use super::{Setup, tile};
use crate::console::Console;
use crate::show;

/// The width of answers in the debug console, in columns.
const WIDTH: usize = 100;

/// The distance between the thread ids of two blocks: agent `n` of the block with rank `r` has the id `1000 r + n + 1`.
const AGENTS: usize = 1000;

pub(super) struct Session<'s, 'r> {
    stepper: &'s mut Stepper<'r>,
    setup: Setup,
    console: Console,
    variables: Variables,
    /// Files that are not on disk. The source reference of a file is its position here, from 1.
    sources: Vec<SourceFile>,
}

/// Returns the thread id of an agent in the protocol.
fn number(id: AgentId) -> usize {
    id.rank * AGENTS + id.number + 1
}

impl<'s, 'r> Session<'s, 'r> {
    pub(super) fn new(stepper: &'s mut Stepper<'r>, setup: Setup) -> Session<'s, 'r> {
        let (console, variables, sources) = (Console::new(false, WIDTH), Variables::default(), Vec::new());
        Session { stepper, setup, console, variables, sources }
    }

    /// Answers requests until the client disconnects. `launch` is the request that began the session.
    ///
    /// # Errors
    /// If the streams fail, or the input violates the protocol.
    pub(super) fn run(mut self, channel: &mut Channel<'_>, launch: &Request) -> io::Result<()> {
        channel.respond(launch, Value::Null)?;
        for breakpoint in self.verified(None) {
            channel.event("breakpoint", json!({ "reason": "changed", "breakpoint": breakpoint }))?;
        }
        let greeting = self.console.greeting(self.stepper);
        let first = greeting.lines().take(1 + usize::from(self.stepper.reason().is_some()));
        let first = first
            .map(|line| {
                format!(
                    "{line}
"
                )
            })
            .collect::<String>();
        channel.event("output", json!({ "category": "console", "output": first }))?;
        self.stopped(channel, "entry")?;
        while let Some(request) = channel.read()? {
            if request.command == "disconnect" || request.command == "terminate" {
                channel.respond(&request, Value::Null)?;
                if request.command == "terminate" {
                    channel.event("terminated", Value::Null)?;
                    continue;
                }
                return Ok(());
            }
            self.answer(channel, &request)?;
        }
        Ok(())
    }

    fn answer(&mut self, channel: &mut Channel<'_>, request: &Request) -> io::Result<()> {
        let arguments = &request.arguments;
        // A request about a frame means the agent of that frame: focus on it.
        if let Some(frame) = arguments["frameId"].as_u64() {
            self.choose(frame as usize / AGENTS);
        }
        let body = match request.command.as_str() {
            "next" | "stepIn" | "stepOut" | "stepBack" | "continue" | "reverseContinue" => {
                return self.moved(channel, request);
            }
            "pause" => Ok(Value::Null),
            "threads" => Ok(self.threads()),
            "stackTrace" => Ok(self.stack(arguments)),
            "scopes" => Ok(self.variables.scopes(self.stepper)),
            "variables" => {
                let reference = arguments["variablesReference"].as_u64().unwrap_or_default();
                Ok(json!({ "variables": self.variables.of(self.stepper, reference) }))
            }
            "evaluate" => return self.evaluate(channel, request),
            "exceptionInfo" => Ok(self.exception()),
            "setBreakpoints" => {
                self.setup.set_breaks(arguments);
                let path = arguments["source"]["path"].as_str().unwrap_or_default();
                Ok(json!({ "breakpoints": self.verified(Some(path)) }))
            }
            "setExceptionBreakpoints" | "setFunctionBreakpoints" => Ok(json!({ "breakpoints": [] })),
            "source" => self.source(arguments),
            "hxTile" => tile::answer(self.stepper, arguments),
            "hxTensors" => Ok(tile::tensors(self.stepper)),
            other => Err(format!("`{other}` is not supported")),
        };
        match body {
            Ok(body) => channel.respond(request, body),
            Err(message) => channel.fail(request, &message),
        }
    }

    /// Moves by the command of a request, and tells the client the new moment.
    ///
    /// # Errors
    /// If the output fails.
    fn moved(&mut self, channel: &mut Channel<'_>, request: &Request) -> io::Result<()> {
        if let Some(thread) = request.arguments["threadId"].as_u64() {
            self.choose(thread as usize);
        }
        channel.respond(request, json!({ "allThreadsContinued": true }))?;
        let breaks = self.lines();
        let (went, reason) = match request.command.as_str() {
            "next" => (self.stepper.step_line(true), "step"),
            "stepIn" => (self.stepper.step_operation(true), "step"),
            "stepOut" => (self.stepper.step_out(true), "step"),
            "stepBack" => (self.stepper.step_line(false), "step"),
            "continue" => (self.stepper.run_to(true, &breaks), "breakpoint"),
            _ => (self.stepper.run_to(false, &breaks), "breakpoint"),
        };
        if !went && self.stepper.progress()[0] > 0 {
            self.stepper.to_end();
        }
        self.stopped(channel, if went { reason } else { "pause" })
    }

    /// Focuses on the agent with this thread id; keeps the focus if there is none.
    fn choose(&mut self, wanted: usize) {
        let agents = self.stepper.agents();
        if let Some(agent) = agents.iter().find(|agent| number(agent.id) == wanted)
            && agent.id != self.stepper.focus().id
        {
            self.stepper.set_focus(agent.id);
        }
    }

    /// Tells the client that all threads have stopped, and why.
    ///
    /// # Errors
    /// If the output fails.
    fn stopped(&mut self, channel: &mut Channel<'_>, reason: &str) -> io::Result<()> {
        self.variables.clear();
        let [step, length] = self.stepper.progress();
        let fault = self.stepper.fault().first().filter(|_| self.stepper.is_at_fault());
        let (reason, text) = match fault {
            Some(found) => ("exception", found.message.clone()),
            None if step == length => (reason, "the end of the record".to_owned()),
            None if step == 0 => (reason, "the beginning of the record".to_owned()),
            None => (reason, format!("step {step} of {length}")),
        };
        channel.event(
            "stopped",
            json!({
                "reason": reason, "description": text, "text": text,
                "threadId": number(self.stepper.focus().id), "allThreadsStopped": true,
            }),
        )
    }

    fn threads(&self) -> Value {
        let thread = |agent: hx_sim::AgentState| {
            let [x, y, z] = agent.block;
            let state = match (&agent.waits, agent.ended) {
                (_, true) => ", ended".to_owned(),
                (Some(waits), _) => format!(", waits for {waits}"),
                (None, _) => String::new(),
            };
            let name = format!("block [{x}, {y}, {z}], {}{state}", show::threads(agent.threads));
            json!({ "id": number(agent.id), "name": name })
        };
        json!({ "threads": self.stepper.agents().into_iter().map(thread).collect::<Vec<_>>() })
    }

    fn stack(&mut self, arguments: &Value) -> Value {
        let wanted = arguments["threadId"].as_u64().unwrap_or_default() as usize;
        let agents = self.stepper.agents();
        let spot = agents.iter().find(|agent| number(agent.id) == wanted);
        let spot = spot.and_then(|agent| self.stepper.spot_of(agent)).cloned();
        let frames: Vec<Value> = match spot {
            None => {
                vec![json!({ "id": wanted * AGENTS, "name": "between operations", "line": 0, "column": 0 })]
            }
            Some(spot) => {
                let frames = spot.frames.iter().enumerate();
                frames.map(|(depth, frame)| self.frame(wanted * AGENTS + depth, frame)).collect()
            }
        };
        json!({ "totalFrames": frames.len(), "stackFrames": frames })
    }

    fn frame(&mut self, id: usize, frame: &StepFrame) -> Value {
        let lines = line_index(self.stepper.db(), frame.file);
        let [start, end] = [frame.range.start(), frame.range.end()].map(|at| lines.line_col(at));
        json!({
            "id": id, "name": frame.name().to_string(), "source": self.source_of(frame.file),
            "line": start.line + 1, "column": start.col + 1, "endLine": end.line + 1, "endColumn": end.col + 1,
        })
    }

    /// Returns the source of a file in the protocol: its path, or a source reference if the file is not on disk.
    #[expect(clippy::disallowed_methods, reason = "an editor opens files of the disk by their paths")]
    fn source_of(&mut self, file: SourceFile) -> Value {
        let path = file.path(self.stepper.db()).to_string();
        let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
        match absolute(&path).ok().filter(|path| path.is_file()) {
            Some(path) => json!({ "name": name, "path": path }),
            None => {
                let at = self.sources.iter().position(|other| *other == file).unwrap_or_else(|| {
                    self.sources.push(file);
                    self.sources.len() - 1
                });
                json!({ "name": name, "path": path, "sourceReference": at + 1 })
            }
        }
    }

    fn source(&self, arguments: &Value) -> Result<Value, String> {
        let reference =
            arguments["sourceReference"].as_u64().or(arguments["source"]["sourceReference"].as_u64());
        let at = reference.and_then(|reference| (reference as usize).checked_sub(1));
        let file = at.and_then(|at| self.sources.get(at)).ok_or("there is no such source")?;
        Ok(json!({ "content": file.text(self.stepper.db()).to_string() }))
    }

    /// Returns the lines with breakpoints, from 0.
    fn lines(&self) -> BTreeSet<(SourceFile, u32)> {
        self.setup
            .breaks
            .keys()
            .flat_map(|path| self.found(path).into_iter().filter_map(|(_, at)| at))
            .collect()
    }

    /// Returns the id of each breakpoint of a file, and the line at which it stops: the first line at or after the requested
    /// one that has an operation. `None` if no such line exists.
    fn found(&self, path: &str) -> Vec<(u64, Option<(SourceFile, u32)>)> {
        let lines = self.stepper.lines();
        let db = self.stepper.db();
        let same = |file: &SourceFile| {
            absolute(file.path(db)).is_ok_and(|here| absolute(path).is_ok_and(|there| here == there))
        };
        let wanted = self.setup.breaks.get(path).into_iter().flatten();
        let at = |wanted: &super::Wanted| {
            let fits = |(file, line): &&(SourceFile, u32)| u64::from(*line) + 1 >= wanted.line && same(file);
            (wanted.id, lines.iter().find(fits).copied())
        };
        wanted.map(at).collect()
    }

    /// Describes the breakpoints of a file, or of all files, with the lines at which they stop.
    fn verified(&self, path: Option<&str>) -> Vec<Value> {
        let paths = self.setup.breaks.keys().filter(|other| path.is_none_or(|path| path == **other));
        let describe = |(id, at): (u64, Option<(SourceFile, u32)>)| match at {
            Some((_, line)) => json!({ "id": id, "verified": true, "line": line + 1 }),
            None => json!({
                "id": id, "verified": false, "message": "the recorded kernel has no operation at or after this line",
            }),
        };
        paths.flat_map(|path| self.found(path)).map(describe).collect()
    }

    fn evaluate(&mut self, channel: &mut Channel<'_>, request: &Request) -> io::Result<()> {
        let expression = request.arguments["expression"].as_str().unwrap_or_default();
        if request.arguments["context"] == "repl" {
            self.console.set_breaks(self.lines());
            let answer = self.console.run(self.stepper, expression);
            let text = answer.text.trim_end().to_owned();
            channel.respond(request, json!({ "result": text, "variablesReference": 0 }))?;
            if answer.quits {
                return channel.event("terminated", Value::Null);
            }
            if !answer.moved {
                return Ok(());
            }
            // Without this event a client keeps showing the exception and the description of the last stop.
            let thread = number(self.stepper.focus().id);
            channel.event("continued", json!({ "threadId": thread, "allThreadsContinued": true }))?;
            return self.stopped(channel, "goto");
        }
        match self.variables.evaluate(self.stepper, expression) {
            Ok(body) => channel.respond(request, body),
            Err(message) => channel.fail_quietly(request, &message),
        }
    }

    fn exception(&self) -> Value {
        let Some(found) = self.stepper.fault().first() else {
            return json!({ "exceptionId": "none", "breakMode": "never" });
        };
        let more: Vec<&str> = found.notes.iter().map(String::as_str).collect();
        json!({
            "exceptionId": format!("{} {}", found.code.id, found.code.name),
            "description": std::iter::once(found.message.as_str()).chain(more).collect::<Vec<_>>().join("\n"),
            "breakMode": "always",
        })
    }
}
