//! Messages as frames, with their signatures.
//!
//! The frames are: identities, the delimiter, the signature in hexadecimal digits, header, header of the parent, metadata,
//! content, and buffers, which no message for this kernel uses.

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::message::Message;

const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Signs messages with the key of the connection.
#[derive(Clone)]
pub(crate) struct Signer {
    /// `None` if messages are not signed.
    key: Option<Hmac<Sha256>>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("signs", &self.key.is_some()).finish_non_exhaustive()
    }
}

/// The reason why the frames of a message are dropped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("a message was dropped: its frames are not those of a Jupyter message")]
    Frames,
    #[error("a message was dropped: its signature does not fit the key of the connection file")]
    Signature,
    #[error("a message was dropped: its {part} cannot be read: {reason}")]
    Json { part: &'static str, reason: String },
}

impl Signer {
    pub(crate) fn new(key: &str) -> Signer {
        // HMAC accepts keys of any length, so this never fails.
        let key = (!key.is_empty()).then(|| Hmac::new_from_slice(key.as_bytes()).ok()).flatten();
        Signer { key }
    }

    fn sign(&self, parts: &[Bytes]) -> String {
        let Some(key) = &self.key else { return String::new() };
        let mut mac = key.clone();
        parts.iter().for_each(|part| mac.update(part));
        hex::encode(mac.finalize().into_bytes())
    }

    /// Reports whether a signature is right, in a time that does not depend on where it is wrong. Without a key every signature
    /// is.
    fn accepts(&self, signature: &[u8], parts: &[Bytes]) -> bool {
        let Some(key) = &self.key else { return true };
        let Ok(signature) = hex::decode(signature) else { return false };
        let mut mac = key.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.verify_slice(&signature).is_ok()
    }

    /// Returns the frames of a message.
    pub(crate) fn encode(&self, message: &Message) -> Vec<Bytes> {
        let header = message.raw_header();
        let parts = [&header, &message.parent, &message.metadata, &message.content];
        let parts = parts.map(|part: &Value| Bytes::from(part.to_string()));
        let mut frames = message.identities.clone();
        frames.push(Bytes::from_static(DELIMITER));
        frames.push(Bytes::from(self.sign(&parts)));
        frames.extend(parts);
        frames
    }

    /// Decodes the frames of a message, and checks its signature.
    ///
    /// # Errors
    /// If a frame is missing or not JSON, or the signature is wrong.
    pub(crate) fn decode(&self, frames: Vec<Bytes>) -> Result<Message, WireError> {
        let at = frames.iter().position(|frame| &frame[..] == DELIMITER).ok_or(WireError::Frames)?;
        let (identities, rest) = frames.split_at(at);
        let [_, signature, header, parent, metadata, content, ..] = rest else {
            return Err(WireError::Frames);
        };
        if !self.accepts(signature, &rest[2..6]) {
            return Err(WireError::Signature);
        }
        Ok(Message {
            identities: identities.to_vec(),
            header: read("header", header)?,
            parent: read("parent header", parent)?,
            metadata: read("metadata", metadata)?,
            content: read("content", content)?,
        })
    }
}

fn read<T: for<'de> serde::Deserialize<'de>>(part: &'static str, bytes: &Bytes) -> Result<T, WireError> {
    serde_json::from_slice(bytes).map_err(|error| WireError::Json { part, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::Sender;

    fn message() -> Message {
        let mut message =
            Sender::new().publication(&json!({}), "execute_request", json!({ "code": "1 + 1" }));
        message.identities = vec![Bytes::from_static(b"\x00client")];
        message
    }

    #[test]
    fn frames_lead_back_to_the_message() {
        for key in ["", "secret"] {
            let (signer, message) = (Signer::new(key), message());
            assert_eq!(signer.decode(signer.encode(&message)), Ok(message));
        }
    }

    #[test]
    fn the_signature_is_that_of_the_protocol() {
        // Computed with Python: hmac.new(b"secret", b"{}{}{}{}", "sha256").hexdigest().
        let parts = [const { Bytes::from_static(b"{}") }; 4].to_vec();
        let signature = Signer::new("secret").sign(&parts);
        assert_eq!(signature, "34982f0bfec60e7b933ffde06c1ecab0fba073717a95ab943d1dd06f82c2d5e4");
        assert_eq!(Signer::new("").sign(&parts), "");
    }

    #[test]
    fn a_wrong_signature_is_refused() {
        let signer = Signer::new("secret");
        let refused = |frames| signer.decode(frames).expect_err("it is refused");
        assert_eq!(refused(Signer::new("other").encode(&message())), WireError::Signature);
        assert_eq!(refused(Signer::new("").encode(&message())), WireError::Signature);
        let mut changed = signer.encode(&message());
        changed[6] = Bytes::from_static(b"{\"code\":\"2\"}");
        assert_eq!(refused(changed), WireError::Signature);
    }

    #[test]
    fn broken_frames_are_refused() {
        let signer = Signer::new("");
        assert_eq!(signer.decode(Vec::new()), Err(WireError::Frames));
        let mut short = signer.encode(&message());
        short.truncate(5);
        assert_eq!(signer.decode(short), Err(WireError::Frames));
        let mut broken = signer.encode(&message());
        broken[3] = Bytes::from_static(b"{");
        assert!(matches!(signer.decode(broken), Err(WireError::Json { part: "header", .. })));
    }
}
