//! The debug adapter protocol, over a stream: one session, from `initialize` to `disconnect`.
//!
//! The types are our own: the session uses a small part of the protocol. Specification: Debug Adapter Protocol 1.71.

mod message;
mod session;
mod tile;
mod variables;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use hx_driver::Stepper;
use serde::Deserialize;
use serde_json::{Value, json};

use self::message::{Channel, Request};
use self::session::Session;

/// The arguments of the `launch` request.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchArguments {
    /// The file of the test or of the program.
    pub program: String,
    /// The name of the test, or a part of it; without one the file's `main` runs.
    pub test: Option<String>,
    /// The kernel to record; without one the launch that fails.
    pub kernel: Option<String>,
    /// The number of the launch among those of the evaluation, from 1.
    pub launch: Option<usize>,
    /// The index of the block along x, y and z; without one the block that fails.
    pub block: Option<[u32; 3]>,
    /// The number of the thread to follow in the block.
    pub thread: Option<u32>,
    #[serde(default)]
    pub order: u64,
    #[serde(default)]
    pub seed: u64,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
}

/// The reason why there is nothing to step through, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenError(pub String);

/// Finds a launch, records it, and calls the function with its stepper.
pub(crate) type Open<'o> =
    dyn FnMut(&LaunchArguments, &mut dyn FnMut(&mut Stepper<'_>)) -> Result<(), OpenError> + 'o;

/// A breakpoint that the client has requested.
#[derive(Clone, Debug)]
struct Wanted {
    id: u64,
    /// The line, from 1.
    line: u64,
}

/// The breakpoints that the client has requested, and its `launch` request until the session begins.
#[derive(Debug, Default)]
struct Setup {
    /// The breakpoints by the path of their file.
    breaks: BTreeMap<String, Vec<Wanted>>,
    last_id: u64,
    launch: Option<(Request, LaunchArguments)>,
    is_configured: bool,
}

/// Serves one client until it disconnects or the input ends.
///
/// # Errors
/// If the streams fail, or the input violates the protocol.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, open: &mut Open<'_>) -> io::Result<()> {
    let mut channel = Channel::new(input, output);
    let mut setup = Setup::default();
    while let Some(request) = channel.read()? {
        match request.command.as_str() {
            "initialize" => {
                channel.respond(&request, capabilities())?;
                channel.event("initialized", Value::Null)?;
            }
            "launch" => match LaunchArguments::deserialize(&request.arguments) {
                Ok(arguments) => setup.launch = Some((request, arguments)),
                Err(error) => {
                    channel.fail(&request, &format!("the launch configuration is wrong: {error}"))?
                }
            },
            "setBreakpoints" => {
                let body = setup.set_breaks(&request.arguments);
                channel.respond(&request, body)?;
            }
            "configurationDone" => {
                setup.is_configured = true;
                channel.respond(&request, Value::Null)?;
            }
            "disconnect" | "terminate" => {
                channel.respond(&request, Value::Null)?;
                return Ok(());
            }
            "threads" => channel.respond(&request, json!({ "threads": [] }))?,
            "setExceptionBreakpoints" | "setFunctionBreakpoints" => {
                channel.respond(&request, json!({ "breakpoints": [] }))?;
            }
            "attach" => {
                channel.fail(&request, "a record cannot be attached to: use a configuration with `launch`")?
            }
            other => channel.fail(&request, &format!("`{other}` comes before the session has begun"))?,
        }
        if setup.is_configured
            && let Some((request, arguments)) = setup.launch.take()
        {
            return run(&mut channel, setup, &request, &arguments, open);
        }
    }
    Ok(())
}

/// Opens the launch, and runs the session on it. If it cannot be opened, the client gets the reason as the answer to `request`.
///
/// # Errors
/// If the streams fail, or the input violates the protocol.
fn run(
    channel: &mut Channel<'_>,
    setup: Setup,
    request: &Request,
    arguments: &LaunchArguments,
    open: &mut Open<'_>,
) -> io::Result<()> {
    let mut setup = Some(setup);
    let mut ended = Ok(());
    let opened = open(arguments, &mut |stepper| {
        let Some(setup) = setup.take() else { return };
        if let Some(thread) = arguments.thread {
            stepper.set_thread(thread);
        }
        ended = Session::new(stepper, setup).run(channel, request);
    });
    ended?;
    if let Err(OpenError(message)) = opened {
        channel.fail(request, &message)?;
        channel.event("terminated", Value::Null)?;
        // The session could not begin, so answer every request until the client disconnects.
        while let Some(request) = channel.read()? {
            channel.respond(&request, Value::Null)?;
            if request.command == "disconnect" {
                break;
            }
        }
    }
    Ok(())
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsExceptionInfoRequest": true,
        "supportsDelayedStackTraceLoading": false,
    })
}

impl Setup {
    /// Replaces the breakpoints of a file. The session verifies them once it has a record.
    fn set_breaks(&mut self, arguments: &Value) -> Value {
        let path = arguments["source"]["path"].as_str().unwrap_or_default().to_owned();
        let lines =
            arguments["breakpoints"].as_array().into_iter().flatten().filter_map(|b| b["line"].as_u64());
        let mut wanted = Vec::new();
        for line in lines {
            self.last_id += 1;
            wanted.push(Wanted { id: self.last_id, line });
        }
        let pending = |wanted: &Wanted| json!({ "id": wanted.id, "verified": false, "line": wanted.line });
        let body = wanted.iter().map(pending).collect::<Vec<_>>();
        self.breaks.insert(path, wanted);
        json!({ "breakpoints": body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(messages: &[Value]) -> Vec<u8> {
        let frame =
            |message: &Value| format!("Content-Length: {}\r\n\r\n{message}", message.to_string().len());
        messages.iter().map(frame).collect::<String>().into_bytes()
    }

    #[test]
    fn a_launch_that_finds_nothing_fails_with_the_reason() {
        let request = |seq: u64, command: &str, arguments: Value| json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        let input = framed(&[
            request(1, "initialize", json!({})),
            request(2, "launch", json!({ "program": "a.hx" })),
            request(3, "configurationDone", json!({})),
            request(4, "disconnect", json!({})),
        ]);
        let mut output = Vec::new();
        let mut open = |arguments: &LaunchArguments, _: &mut dyn FnMut(&mut Stepper<'_>)| {
            Err(OpenError(format!("`{}` has no tests", arguments.program)))
        };
        serve(&mut input.as_slice(), &mut output, &mut open).expect("it serves");
        let output = String::from_utf8(output).expect("text");
        assert!(output.contains("`a.hx` has no tests") && output.contains("\"success\":false"), "{output}");
        assert!(output.contains("terminated"), "{output}");
    }
}
