//! The answers to requests that evaluate nothing.

use hx_repl::{
    Completeness, DrawingStyle, Entry, Session, completeness_of, entries, indentation, plain_text,
};
use serde_json::{Value, json};

use crate::message::{IsCompleteRequest, PlaceRequest};
use crate::outputs::SVG;
use crate::text::{byte_offset, character_offset};

/// Returns the entry of a cell that contains a byte offset, without the whitespace before it, and the offset within the entry in
/// bytes.
fn entry_at(code: &str, at: usize) -> (Entry<'_>, usize) {
    let found = entries(code).into_iter().rfind(|entry| entry.start <= at);
    let entry = found.unwrap_or(Entry { start: 0, text: code });
    let space = entry.text.len() - entry.text.trim_start().len();
    let space = space.min(at - entry.start);
    let entry = Entry { start: entry.start + space, text: &entry.text[space..] };
    (entry, at - entry.start)
}

/// Returns the content of a `complete_reply`: the completions of the word before the cursor.
pub(crate) fn complete(session: &mut Session, request: &PlaceRequest) -> Value {
    let code = &request.code;
    let cursor = byte_offset(code, request.cursor_pos);
    let (entry, at) = entry_at(code, cursor);
    let found = session.completions(entry.text, at);
    let start = character_offset(code, entry.start + found.start);
    let end = character_offset(code, cursor);
    let matches: Vec<&str> = found.words.iter().map(|word| word.text.as_str()).collect();
    let types = found.words.iter().map(|word| {
        json!({ "start": start, "end": end, "text": word.text, "type": word.kind, "signature": word.what })
    });
    json!({
        "status": "ok",
        "matches": matches,
        "cursor_start": start,
        "cursor_end": end,
        "metadata": { "_jupyter_types_experimental": types.collect::<Vec<_>>() },
    })
}

/// Returns the content of an `inspect_reply`: a description of the name at the cursor, with drawings of its layout.
pub(crate) fn inspect(session: &mut Session, request: &PlaceRequest) -> Value {
    let (entry, at) = entry_at(&request.code, byte_offset(&request.code, request.cursor_pos));
    let found = session.inspect(entry.text, at, DrawingStyle::Svg(SVG));
    let data = match &found {
        Some(markdown) => {
            // A terminal shows no images, so the plain text has the drawing as characters.
            let drawn = session.inspect(entry.text, at, DrawingStyle::Unicode);
            let text = plain_text(drawn.as_deref().unwrap_or(markdown));
            json!({ "text/markdown": markdown, "text/plain": text })
        }
        None => json!({}),
    };
    json!({ "status": "ok", "found": found.is_some(), "data": data, "metadata": {} })
}

/// Returns the content of an `is_complete_reply`: whether the return key runs a text or starts a new line.
pub(crate) fn is_complete(request: &IsCompleteRequest) -> Value {
    match completeness_of(&request.code) {
        Completeness::Complete => json!({ "status": "complete" }),
        Completeness::Invalid => json!({ "status": "invalid" }),
        Completeness::Incomplete => json!({ "status": "incomplete", "indent": indentation(&request.code) }),
    }
}
