//! Messages of the protocol, and the contents of requests.

use std::time::SystemTime;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The version of the protocol.
pub(crate) const VERSION: &str = "5.3";

/// The header of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub msg_id: String,
    #[serde(default)]
    pub session: String,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    pub date: String,
    pub msg_type: String,
    #[serde(default)]
    pub version: String,
}

/// A message, without its signature.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Message {
    /// The frames that name the receiver; of a publication, its topic.
    pub identities: Vec<Bytes>,
    pub header: Header,
    /// The header of the request that the message answers, as it was received; an empty object if the message answers none.
    pub parent: Value,
    pub metadata: Value,
    pub content: Value,
}

/// Makes messages with new ids and the id of this process's session.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    session: String,
}

impl Sender {
    pub(crate) fn new() -> Sender {
        Sender { session: uuid::Uuid::new_v4().to_string() }
    }

    /// Makes the answer to a request.
    pub(crate) fn reply(&self, to: &Message, kind: &str, content: Value) -> Message {
        Message { identities: to.identities.clone(), ..self.publication(&to.raw_header(), kind, content) }
    }

    /// Makes a message to all clients. `parent` is the header of the request that caused it.
    pub(crate) fn publication(&self, parent: &Value, kind: &str, content: Value) -> Message {
        Message {
            identities: vec![Bytes::copy_from_slice(kind.as_bytes())],
            header: Header {
                msg_id: uuid::Uuid::new_v4().to_string(),
                session: self.session.clone(),
                username: "hx".to_owned(),
                date: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
                msg_type: kind.to_owned(),
                version: VERSION.to_owned(),
            },
            parent: parent.clone(),
            metadata: json!({}),
            content,
        }
    }
}

impl Message {
    /// Returns the header as JSON, for the answers to this message.
    pub(crate) fn raw_header(&self) -> Value {
        serde_json::to_value(&self.header).unwrap_or_default()
    }

    /// Parses the content of a request.
    ///
    /// # Errors
    /// If a field is missing or has another type.
    pub(crate) fn parse<T: for<'de> Deserialize<'de>>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.content)
    }
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExecuteRequest {
    pub code: String,
    /// Whether to publish no outputs and not count the cell.
    #[serde(default)]
    pub silent: bool,
    #[serde(default = "yes")]
    pub store_history: bool,
    /// Expressions to evaluate after the code, by the names under which the reply has their values.
    #[serde(default)]
    pub user_expressions: Map<String, Value>,
    /// Whether an error aborts the executions that wait.
    #[serde(default = "yes")]
    pub stop_on_error: bool,
}

/// A completion or an inspection at a place.
#[derive(Debug, Deserialize)]
pub(crate) struct PlaceRequest {
    pub code: String,
    /// The offset of the cursor in characters.
    pub cursor_pos: usize,
}

#[derive(Debug, Deserialize)]
pub(crate) struct IsCompleteRequest {
    pub code: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HistoryRequest {
    pub hist_access_type: String,
    #[serde(default)]
    pub output: bool,
    #[serde(default)]
    pub session: i64,
    #[serde(default)]
    pub start: i64,
    #[serde(default)]
    pub stop: Option<i64>,
    #[serde(default)]
    pub n: Option<usize>,
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub unique: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ShutdownRequest {
    #[serde(default)]
    pub restart: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CommOpen {
    pub comm_id: String,
}
