//! Splits a stream of bytes into messages: headers, a blank line, and `Content-Length` bytes of JSON.
//!
//! Damage costs only the damaged message: the client gets an error for it, and reading continues at the next header. This module
//! knows JSON-RPC but no methods. Start at [`Frames`], then read [`incoming`].

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

/// The maximal size in bytes of the headers of a message.
const MOST_HEADERS: usize = 8 << 10;

/// The maximal size in bytes of a message.
const MOST_CONTENT: usize = 1 << 30;

/// An upper bound of the bytes of a `Content-Length` line. That many skipped bytes are kept, because a header may begin in them.
const HEADER_LINE: usize = 128;

const CONTENT_LENGTH: &str = "content-length";

/// Splits a stream into the contents of its messages.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Received bytes that belong to no message yet.
    buffer: Vec<u8>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// The buffer begins with headers.
    #[default]
    Headers,
    /// The buffer begins with a content of `length` bytes, not all of which have arrived. Its first `scanned` bytes contain no
    /// header.
    Content { length: usize, scanned: usize },
    /// After damage: skip everything up to the next `Content-Length`.
    Lost,
}

/// The content of a message, or the reason why it is unreadable.
pub(crate) type Frame = Result<Value, String>;

impl Frames {
    /// Appends received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next message, or `None` until more bytes arrive.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            match self.state {
                State::Headers => {
                    let blank = self.buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    self.buffer.drain(..blank);
                    if let Err(damage) = self.headers()? {
                        return Some(Err(damage));
                    }
                }
                State::Content { length, scanned } => return self.content(length, scanned),
                State::Lost => {
                    let found = header_in(&self.buffer);
                    let skipped = found.unwrap_or(self.buffer.len().saturating_sub(HEADER_LINE));
                    self.buffer.drain(..skipped);
                    found?;
                    self.state = State::Headers;
                }
            }
        }
    }

    /// Parses the headers at the start of the buffer; `None` if they are incomplete. The content comes next, or after an error
    /// the search for another header.
    fn headers(&mut self) -> Option<Result<(), String>> {
        let Some(end) = end_of_headers(&self.buffer[..self.buffer.len().min(MOST_HEADERS)]) else {
            if self.buffer.len() < MOST_HEADERS {
                return None;
            }
            self.state = State::Lost;
            return Some(Err(format!("found no blank line in {MOST_HEADERS} bytes, expected headers")));
        };
        let parsed = content_length(&self.buffer[..end]);
        match &parsed {
            Ok(length) => {
                self.buffer.drain(..end);
                self.state = State::Content { length: *length, scanned: 0 };
            }
            // A header may follow garbage on the same line, so keep the bytes: the search for the next header includes them.
            Err(BadHeaders::NoLength) => self.state = State::Lost,
            Err(BadHeaders::Wrong(_)) => {
                self.buffer.drain(..end);
                self.state = State::Lost;
            }
        }
        Some(parsed.map(|_| ()).map_err(|bad| match bad {
            BadHeaders::NoLength => "found headers without `Content-Length`".to_owned(),
            BadHeaders::Wrong(reason) => reason,
        }))
    }

    fn content(&mut self, length: usize, scanned: usize) -> Option<Frame> {
        let came = self.buffer.len().min(length);
        // JSON cannot contain a header, so the stated length is too large. Waiting for the rest of the content would swallow
        // later messages.
        if header_in(&self.buffer[scanned.min(came)..came]).is_some() {
            self.state = State::Lost;
            return Some(Err(format!("found another header within the {length} bytes of a message")));
        }
        if came < length {
            self.state = State::Content { length, scanned: came.saturating_sub(HEADER_LINE) };
            return None;
        }
        let parsed = serde_json::from_slice::<Value>(&self.buffer[..length]);
        if parsed.is_ok() {
            self.buffer.drain(..length);
            self.state = State::Headers;
        } else {
            // The length may be wrong: search for the next header from the beginning of the content.
            self.state = State::Lost;
        }
        Some(parsed.map_err(|error| format!("the message is not JSON: {error}")))
    }
}

/// Returns the size in bytes of the headers with the blank line after them; `None` if the blank line has not arrived.
fn end_of_headers(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        if bytes[start..at].trim_ascii().is_empty() {
            return Some(at + 1);
        }
        start = at + 1;
    }
    None
}

enum BadHeaders {
    NoLength,
    Wrong(String),
}

/// Returns the length in bytes that the headers state. Names are case-insensitive. Of the other headers, only the charset of a
/// `Content-Type` matters.
///
/// # Errors
/// If no header states the length, it is no number or too large, two headers differ, or the charset is not UTF-8.
fn content_length(headers: &[u8]) -> Result<usize, BadHeaders> {
    let wrong = |reason: String| Err(BadHeaders::Wrong(reason));
    let headers = String::from_utf8_lossy(headers);
    let mut length = None;
    for line in headers.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if name == CONTENT_LENGTH {
            let Ok(said) = value.parse::<usize>() else {
                return wrong(format!("found `Content-Length: {value}`, expected a number of bytes"));
            };
            if said > MOST_CONTENT {
                return wrong(format!("found `Content-Length: {value}`, expected at most {MOST_CONTENT}"));
            }
            if length.is_some_and(|known| known != said) {
                return wrong("found two `Content-Length` headers that differ".to_owned());
            }
            length = Some(said);
        } else if name == "content-type" {
            let charset = value.split(';').filter_map(|part| part.trim().split_once('='));
            let charset = charset.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
            for (_, charset) in charset {
                let charset = charset.trim().trim_matches('"').to_ascii_lowercase();
                if !matches!(charset.as_str(), "utf-8" | "utf8") {
                    return wrong(format!("found the charset `{charset}`, expected `utf-8`"));
                }
            }
        }
    }
    length.ok_or(BadHeaders::NoLength)
}

/// Returns the start of the first `Content-Length` header whose number ends a line. JSON cannot contain such a line, because
/// its strings have no raw line ends. `None` if there is none.
fn header_in(bytes: &[u8]) -> Option<usize> {
    for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let line = bytes[..end].trim_ascii_end();
        let line = &line[line.len().saturating_sub(HEADER_LINE)..];
        let before = bytes[..end].trim_ascii_end().len() - line.len();
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let name =
            line[..line.len() - digits].trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        let Some(name) = name.filter(|_| digits > 0) else { continue };
        let start = name.len().saturating_sub(CONTENT_LENGTH.len());
        if name[start..].eq_ignore_ascii_case(CONTENT_LENGTH.as_bytes()) {
            return Some(before + start);
        }
    }
    None
}

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request, or a notification, which has no id.
    Request(Request),
    Response(Response),
    /// An invalid message: this response is sent to the client instead.
    Refused(Response),
}

/// Returns the messages of a frame: one message, or for a batch a refusal of each of its requests, or one refusal without an id
/// if it has none.
pub(crate) fn incoming(frame: Frame) -> Vec<Incoming> {
    match frame {
        Err(damage) => vec![refused(Id::Null, ErrorCode::ParseError, damage)],
        Ok(Value::Array(batch)) => {
            let reason = "found a batch, expected one message: the protocol has no batches";
            let ids = batch.iter().filter(|part| part.get("method").is_some()).filter_map(id_of);
            let mut refusals: Vec<Incoming> =
                ids.map(|id| refused(id, ErrorCode::InvalidRequest, reason)).collect();
            if refusals.is_empty() {
                refusals.push(refused(Id::Null, ErrorCode::InvalidRequest, reason));
            }
            refusals
        }
        Ok(message) => vec![single(message)],
    }
}

/// Returns the id of a message, an integer or a string; `None` for a message with neither.
fn id_of(message: &Value) -> Option<Id> {
    match message.get("id")? {
        Value::String(id) => Some(Id::String(id.clone())),
        Value::Number(id) => id.as_i64().map(Id::Number),
        _ => None,
    }
}

fn refused(id: Id, code: ErrorCode, reason: impl Into<String>) -> Incoming {
    Incoming::Refused(Response::from_error(id, Error { code, message: reason.into().into(), data: None }))
}

fn single(mut message: Value) -> Incoming {
    let id = id_of(&message);
    let invalid = |reason: &str| refused(id.clone().unwrap_or_default(), ErrorCode::InvalidRequest, reason);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("found no `\"jsonrpc\": \"2.0\"` in the message");
    }
    if message.get("id").is_some() && id.is_none() {
        return invalid("found an `id` that is neither a whole number nor a string");
    }
    let mut take = |name: &str| message.get_mut(name).map(Value::take);
    let Some(method) = take("method") else {
        let (result, error) = (take("result"), take("error").filter(|error| !error.is_null()));
        return match (id.clone(), error.map(serde_json::from_value::<Error>), result) {
            (Some(id), Some(Ok(error)), _) => Incoming::Response(Response::from_error(id, error)),
            (Some(id), None, Some(result)) => Incoming::Response(Response::from_ok(id, result)),
            _ => invalid("found no `method` in the message, and it is not an answer"),
        };
    };
    let Value::String(method) = method else { return invalid("found a `method` that is not a string") };
    let mut request = Request::build(method);
    match take("params") {
        None | Some(Value::Null) => {}
        Some(params @ (Value::Object(_) | Value::Array(_))) => request = request.params(params),
        Some(_) => return invalid("found `params` that are neither an object nor an array"),
    }
    if let Some(id) = id {
        request = request.id(id);
    }
    Incoming::Request(request.finish())
}

#[cfg(test)]
mod tests;
