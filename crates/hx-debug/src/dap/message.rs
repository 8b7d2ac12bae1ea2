//! Messages of the protocol: a header with the length, and a JSON object.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

/// The largest message that is accepted, in bytes.
const LARGEST: usize = 64 << 20;

/// A request of the client.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Request {
    seq: u64,
    pub(super) command: String,
    #[serde(default)]
    pub(super) arguments: Value,
}

/// Both directions of a session.
pub(super) struct Channel<'c> {
    input: &'c mut dyn BufRead,
    output: &'c mut dyn Write,
    seq: u64,
}

impl<'c> Channel<'c> {
    pub(super) fn new(input: &'c mut dyn BufRead, output: &'c mut dyn Write) -> Channel<'c> {
        Channel { input, output, seq: 0 }
    }

    /// Reads the next request; `None` at the end of the input. Messages of other kinds are skipped.
    ///
    /// # Errors
    /// If the input fails or violates the protocol.
    pub(super) fn read(&mut self) -> io::Result<Option<Request>> {
        loop {
            let mut length = None;
            loop {
                let mut line = String::new();
                if self.input.read_line(&mut line)? == 0 {
                    return Ok(None);
                }
                match line.trim_end() {
                    "" => break,
                    line => {
                        let found = line.strip_prefix("Content-Length:").map(str::trim);
                        length = found.and_then(|length| length.parse::<usize>().ok()).or(length);
                    }
                }
            }
            let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
            let length = length.ok_or_else(|| wrong("a message without `Content-Length`"))?;
            if length > LARGEST {
                return Err(wrong("a message above 64 MiB"));
            }
            let mut body = vec![0; length];
            self.input.read_exact(&mut body)?;
            let message: Value = serde_json::from_slice(&body)?;
            if message["type"] == "request" {
                return Ok(Some(Request::deserialize(message)?));
            }
        }
    }

    fn write(&mut self, mut message: Value) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = json!(self.seq);
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }

    pub(super) fn respond(&mut self, request: &Request, body: Value) -> io::Result<()> {
        let Request { seq, command, .. } = request;
        self.write(json!({
            "type": "response", "request_seq": seq, "command": command, "success": true, "body": body,
        }))
    }

    /// Refuses a request; the client shows the reason to the user.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn fail(&mut self, request: &Request, message: &str) -> io::Result<()> {
        self.refuse(request, message, true)
    }

    /// Refuses a request without showing the reason, because a hover on a word without a value is not an error.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn fail_quietly(&mut self, request: &Request, message: &str) -> io::Result<()> {
        self.refuse(request, message, false)
    }

    fn refuse(&mut self, request: &Request, message: &str, show: bool) -> io::Result<()> {
        let Request { seq, command, .. } = request;
        let error = json!({ "error": { "id": 1, "format": "{text}", "variables": { "text": message }, "showUser": show } });
        self.write(json!({
            "type": "response", "request_seq": seq, "command": command, "success": false,
            "message": message, "body": error,
        }))
    }

    pub(super) fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.write(json!({ "type": "event", "event": event, "body": body }))
    }
}
